"""The shared parts of the evaluations of tool calls: reading calls, the three rules, and asking a model."""
