"""The I/O side of the BFCL leaderboard: finding its data, calling REST services and functions, pages and command."""
