"""Thresholds that a run must keep: reading, judging, and goodput."""
