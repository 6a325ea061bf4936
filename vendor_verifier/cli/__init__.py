"""The commands of the line: what is typed, and the exit code."""
