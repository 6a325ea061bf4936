"""Long work lets others have their turn, and short work does not pay for that."""

from __future__ import annotations

import asyncio
import time

import pytest

from vendor_verifier.transport import policy
from vendor_verifier.transport.policy import Slices

pytestmark = pytest.mark.anyio


async def turns_of_others(steps: int, step_s: float) -> int:
    """How often another task had its turn while so many steps of work were done."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    before, sliced = turns, Slices()
    for _ in range(steps):
        time.sleep(step_s)
        await sliced.rest_if_over()
    found = turns - before
    task.cancel()
    return found


async def test_work_longer_than_a_slice_rests_between_its_steps() -> None:
    """Each step that uses up the slice is followed by everybody else's turn."""
    assert await turns_of_others(5, 0.001) == 5


async def test_work_within_a_slice_is_not_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that together stay below the slice run through."""
    monkeypatch.setattr(policy, "_SLICE_NS", 10**10)
    assert await turns_of_others(50, 0) == 0
