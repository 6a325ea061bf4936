"""A run as pandas DataFrames."""
