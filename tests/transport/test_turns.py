"""Answers that end together are read a few at a time, and none of them is forgotten."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from costs import PATIENCE_S

from vendor_verifier.transport.policy import MOST_PER_ROUND, ONE_PER_ROUND, RoundLimit

pytestmark = pytest.mark.anyio


async def rounds_of(tasks: int, turns: RoundLimit) -> list[int]:
    """In which round of the event loop each of so many tasks got its turn, in their order."""
    loop, count, got = asyncio.get_running_loop(), 0, []

    def next_round() -> None:
        nonlocal count
        count += 1
        if len(got) < tasks:
            loop.call_soon(next_round)

    async def one() -> None:
        await turns.take()
        got.append(count)

    next_round()
    await asyncio.wait_for(asyncio.gather(*(one() for _ in range(tasks))), PATIENCE_S)
    return got


async def test_no_more_than_a_few_are_read_before_the_loop_looks_again() -> None:
    """Of a hundred that end together at most ``MOST_PER_ROUND`` go on in one round; all do, first come first served."""
    got = await rounds_of(100, RoundLimit())
    assert len(got) == 100
    assert max(Counter(got).values()) <= MOST_PER_ROUND
    assert got == sorted(got)
    assert max(got) - min(got) < 3 * 100 / MOST_PER_ROUND


async def test_one_at_a_time_while_few_of_the_streams_wait() -> None:
    """Of a thousand streams a hundred that end together are read one a round; of eighty that is many."""
    alone, several = [Counter(await rounds_of(100, RoundLimit(streams))) for streams in (1000, 80)]
    assert max(alone.values()) == ONE_PER_ROUND
    assert max(several.values()) == MOST_PER_ROUND
    assert len(several) < len(alone) / 2


async def test_whoever_ends_alone_does_not_wait() -> None:
    """With nobody else about, a turn is had without giving up control, again and again."""
    turns = RoundLimit()
    for _ in range(3):
        with pytest.raises(StopIteration):
            turns.take().send(None)
        await asyncio.sleep(0.001)


async def test_a_task_that_was_cancelled_while_waiting_takes_no_turn() -> None:
    """Who left the queue holds up nobody behind it."""
    turns = RoundLimit()
    tasks = [asyncio.create_task(turns.take()) for _ in range(5 * MOST_PER_ROUND)]
    await asyncio.sleep(0)
    for task in tasks[MOST_PER_ROUND : 4 * MOST_PER_ROUND]:
        task.cancel()
    ended = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), PATIENCE_S)
    assert sum(isinstance(end, asyncio.CancelledError) for end in ended) == 3 * MOST_PER_ROUND
    assert sum(end is None for end in ended) == 2 * MOST_PER_ROUND
