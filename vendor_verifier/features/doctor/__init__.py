"""The examination of vendors with at most three tiny requests each."""
