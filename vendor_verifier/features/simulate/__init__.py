"""Simulated vendors: a chat-completions server on loopback whose vendors show known faults."""

SERVED_RUN = "vendor_verifier.features.simulate.server"  # the program that serves a run
