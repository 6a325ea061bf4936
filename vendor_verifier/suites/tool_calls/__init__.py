"""What the evaluations of tool calls share: a call's normal form, asking, pairing, and the originals' arithmetic."""
