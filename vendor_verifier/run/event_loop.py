"""Runs an event loop to its end: uvloop's where it is installed, with one error instead of a group of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TypeVar

import anyio

from vendor_verifier.errors import VerifierError

Result = TypeVar("Result")


def run_to_end(sending: Callable[[], Awaitable[Result]]) -> Result:
    """The result of ``sending``; of several errors at once the first one is raised, one of ours before others."""
    try:
        return anyio.run(sending, backend_options={"use_uvloop": has_uvloop()})
    except BaseExceptionGroup as group:
        first: BaseException = group.subgroup(VerifierError) or group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None


def has_uvloop() -> bool:
    """Whether uvloop, the extra ``fast``, is installed."""
    return find_spec("uvloop") is not None
