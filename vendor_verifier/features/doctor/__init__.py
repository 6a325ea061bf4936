"""Examines vendors with at most three tiny requests each; what it finds is judged by pure functions."""
