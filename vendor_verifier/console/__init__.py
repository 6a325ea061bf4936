"""The parts that commands share on the terminal: options, progress, output, streams."""
