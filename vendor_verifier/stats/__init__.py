"""Intervals, bootstrap, noise floor, uncertainty of ranks and sample sizes: arithmetic over figures, without I/O."""
