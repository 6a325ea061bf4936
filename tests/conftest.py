"""Keeps every test away from the user's own history of runs."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_user_data(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default history lies in a folder of the test session; commands started by a test inherit it."""
    base: Path = tmp_path_factory.getbasetemp() / "user-data"
    monkeypatch.setenv("XDG_DATA_HOME", str(base))
