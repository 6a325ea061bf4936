"""Costs and waits that a busy machine does not change: no test decides by the clock on the wall."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

# Seconds after which a test gives up on what never comes; what is to be told from it takes far longer (``LONG_S``).
PATIENCE_S = 120.0
LONG_S = 600.0

_DOUBLINGS = 2
_TRIES = 7
# Some instructions: a square of any size worth testing costs far more a unit.
_NEXT_TO_NOTHING_S = 10e-9


def assert_linear(work_of: Callable[[int], Callable[[], object]], size: int) -> None:
    """Doubled twice, the work costs about four times the processor time (least of several tries); eight is allowed."""
    larger = size * 2**_DOUBLINGS
    work_of(size)()  # What is computed once for all, and caches.
    least = {size: math.inf, larger: math.inf}
    for _ in range(_TRIES):
        for each in least:
            least[each] = min(least[each], _processor_s(work_of(each)))
        if least[larger] < max(least[size] * 2 ** (1.5 * _DOUBLINGS), larger * _NEXT_TO_NOTHING_S):
            return
    pytest.fail(f"{size} cost {least[size]:.4f} s of processor time, {larger} cost {least[larger]:.4f} s")


def _processor_s(work: Callable[[], object]) -> float:
    # No collection falls into the time, and none is made: it would walk all that a session of tests holds.
    gc.disable()
    try:
        began_s = time.thread_time()
        work()
        return time.thread_time() - began_s
    finally:
        gc.enable()


async def least_of(measure: Callable[[], Awaitable[float]], enough: float, tries: int = 20) -> float:
    """The least that several measurements found, ``enough`` ending them: a busy machine makes any one of them late."""
    least = math.inf
    for _ in range(tries):
        least = min(least, await measure())
        if least < enough:
            break
    return least


def await_that(holds: Callable[[], object]) -> None:
    """Look again and again until it holds; the test fails when it never does."""
    gives_up_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < gives_up_s, "it never came"
        time.sleep(0.005)


def held_until(ready: Callable[[], bool], answer: bytes) -> Iterator[tuple[float, bytes]]:
    """The steps of an answer of the fault server that is sent when ``ready``, however long that takes."""
    while not ready():
        yield 0.005, b""
    yield 0.0, answer
