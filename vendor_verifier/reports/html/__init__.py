"""The report as one HTML file that anybody can open, mail and keep; it loads nothing from anywhere."""
