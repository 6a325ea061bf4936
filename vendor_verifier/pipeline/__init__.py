"""A run from what was asked for to its files: plan, send, score, judge, manifest."""
