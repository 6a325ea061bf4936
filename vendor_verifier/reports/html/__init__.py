"""report.html and what other pages share with it."""
