"""Lazy imports: finds an object by its reference at first use, so that a run loads only the modules it uses."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_SEAMS: dict[str, str] = {}


def late(reference: str) -> Any:
    """The object that ``package.module:name`` refers to.

    Raises:
        ImportError: there is no such module.
        AttributeError: it has no such name.
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def register(seam: str, reference: str) -> None:
    """Register ``reference`` under the name of the seam through which the core calls it."""
    _SEAMS[seam] = reference


def registered(seam: str) -> Any:
    """The object registered under the name of a seam.

    Raises:
        LookupError: nothing is registered there.
    """
    if seam not in _SEAMS:
        raise LookupError(f"nothing is registered as {seam}")
    return late(_SEAMS[seam])
