"""The vendors' protocols: pure translation between turns, requests, bytes and events; no clock, no sockets."""
