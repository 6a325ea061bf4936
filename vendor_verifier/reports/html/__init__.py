"""The report as one HTML file that can be opened, mailed and kept; it loads nothing."""
