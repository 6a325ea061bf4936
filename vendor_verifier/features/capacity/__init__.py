"""The highest load that a vendor sustains: an ordinary run for each level of a sweep."""
