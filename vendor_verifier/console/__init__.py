"""What every command shares on the terminal: options, progress, output, streams."""
