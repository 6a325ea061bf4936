"""Features around the evaluation pipeline, one folder each with its command, logic, text and page."""
