"""Simulated vendors: a chat-completions server on loopback whose vendors show known faults."""

SERVED_RUN = "vendor_verifier.features.simulate.server"
"""The program that serves a run its simulated vendors."""
