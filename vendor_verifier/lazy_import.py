"""Finds what is named by its module when it is asked for, so that a run loads what it uses and nothing else."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_SEAMS: dict[str, str] = {}


def late(reference: str) -> Any:
    """What ``package.module:name`` names.

    Raises:
        ImportError: there is no such module.
        AttributeError: it has no such name.
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def register(seam: str, reference: str) -> None:
    """Put what ``reference`` names where the line asks for it by the name of the seam."""
    _SEAMS[seam] = reference


def registered(seam: str) -> Any:
    """What was registered there.

    Raises:
        LookupError: nothing was.
    """
    if seam not in _SEAMS:
        raise LookupError(f"nothing is registered as {seam}")
    return late(_SEAMS[seam])
