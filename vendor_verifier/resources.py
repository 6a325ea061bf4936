"""Finds the files that ship with the package, inside a wheel or in a checkout."""

from __future__ import annotations

from pathlib import Path

# The name under which files of this user are kept.
PRODUCT = "agent-vendor-verifier"
_PACKAGE = Path(__file__).parent
_IN_WHEEL = _PACKAGE / "_shipped"


def shipped(name: str) -> Path:
    """The path of ``vendors``, ``datasets``, ``config_example.yaml`` or another shipped file, wherever installed."""
    root = _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGE.parent
    return root / name
