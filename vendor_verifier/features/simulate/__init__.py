"""Simulated vendors: a loopback server with scripted virtues and faults; it never listens beyond this machine."""

SERVED_RUN = "vendor_verifier.features.simulate.served_run"
"""The program that serves a run its simulated vendors."""
