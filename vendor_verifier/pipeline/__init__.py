"""A run from the user's request to its files: plan, send, score, judge, manifest."""
