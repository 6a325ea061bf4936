"""Tests against servers that nobody here wrote: only for `make test-world`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from world_runs import Place

# They need what the tests' own extra does not install, and take minutes.
collect_ignore_glob = [] if os.environ.get("WORLD") else ["test_*.py"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty folder to run in."""
    return Place(tmp_path)
