"""Finds what is named by its module when it is asked for, so that a run loads what it uses and nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def late(reference: str) -> Any:
    """What ``package.module:name`` names.

    Raises:
        ImportError: there is no such module.
        AttributeError: it has no such name.
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
