"""How much load a vendor bears: the search, its measurements and its report."""
