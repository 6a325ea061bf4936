"""Verify that the vendors of an LLM really serve the model they sell."""

__version__ = "0.2.0"
