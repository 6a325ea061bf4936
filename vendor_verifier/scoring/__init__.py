"""Turns the records of vendors into figures; pure, and no vendor is judged by anything but its records."""
