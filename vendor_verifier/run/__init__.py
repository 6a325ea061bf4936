"""Sending: work queue, conversation, limits, retries, load and journal."""
