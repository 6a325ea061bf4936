"""A run packed into one archive that a stranger can verify."""
