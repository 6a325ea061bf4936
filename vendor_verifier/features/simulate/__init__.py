"""Simulated vendors: a loopback server with scripted virtues and faults; it never listens beyond this machine."""
