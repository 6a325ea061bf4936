"""Whether each vendor can be used: seven checks from a run of two built-in samples."""
