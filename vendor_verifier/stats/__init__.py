"""Comparisons of a vendor with the baseline, the answers test, and 95 % intervals: arithmetic, without I/O."""
