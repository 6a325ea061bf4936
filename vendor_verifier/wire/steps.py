"""Long reading told in steps, so that who reads on an event loop can let others have a turn between two of them.

A generator yields after each bounded piece of work and returns what was read. It waits for nothing itself.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]


def at_once(steps: Steps[Result]) -> Result:
    """What ``steps`` return, for who keeps nobody waiting."""
    while True:
        try:
            next(steps)
        except StopIteration as over:
            result: Result = over.value
            return result
