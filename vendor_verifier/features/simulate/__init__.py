"""Simulated vendors: a chat-completions server on loopback whose vendors show known faults."""
