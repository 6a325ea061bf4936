"""Tests against servers that nobody here wrote: only for `make test-world`."""

from __future__ import annotations

import os

# They need what the tests' own extra does not install, and take minutes.
collect_ignore_glob = [] if os.environ.get("WORLD") else ["test_*.py"]
