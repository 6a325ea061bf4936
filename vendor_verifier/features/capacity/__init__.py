"""The search for a vendor's capacity: the load levels, their measurements and the report."""
