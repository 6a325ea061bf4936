"""Work in steps, so that an event loop may serve others between any two of them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]


def at_once(steps: Steps[Result]) -> Result:
    """The result of ``steps``, run without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as over:
            result: Result = over.value
            return result
