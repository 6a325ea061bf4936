"""The shared parts of tool-call evaluations: a call's normal form, asking, pairing, and the originals' arithmetic."""
