"""What an engine keeps of a record that is being written when the run is broken off."""

from __future__ import annotations

import asyncio

import pytest

from vendor_verifier.records.steps import Steps
from vendor_verifier.run.engine import keep
from vendor_verifier.transport import policy

pytestmark = pytest.mark.anyio


async def test_a_record_is_kept_in_whole_though_the_task_is_cancelled_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was answered has been paid for: the steps that are left are taken at once, and the cancelling goes on."""
    monkeypatch.setattr(policy, "_SLICE_NS", 0)
    taken: list[int] = []

    def steps() -> Steps[None]:
        for step in range(5):
            taken.append(step)
            if not step:
                task.cancel()
            yield

    task = asyncio.ensure_future(keep(steps()))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert taken == [0, 1, 2, 3, 4]
