"""What hangs off the line, each whole: command, logic, text, page; none imports another."""
