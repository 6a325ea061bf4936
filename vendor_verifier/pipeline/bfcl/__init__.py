"""The I/O side of the BFCL leaderboard: its data, jobs, live services and result pages."""
