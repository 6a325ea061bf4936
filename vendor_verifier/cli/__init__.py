"""The command line's commands: their options and exit codes."""
