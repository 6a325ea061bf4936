"""What does I/O for the leaderboard: finding its data, calling REST services and functions, its pages and command."""
