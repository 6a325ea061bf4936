"""Hands the hand-made reports to the renderer tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def reports() -> ModuleType:
    """The module of hand-made reports (tests are no package, so it is loaded by path)."""
    spec = importlib.util.spec_from_file_location("sample_reports", Path(__file__).with_name("sample_reports.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
