"""Runs over time: the history, comparisons of two runs, trends and the scheduled check."""
