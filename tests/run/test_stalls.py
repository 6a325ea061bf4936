"""How late we were is told of exactly the stretch that a request was under way in."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import time

import pytest

from vendor_verifier.run import event_loop_lag
from vendor_verifier.run.event_loop_lag import Stall, Stalls, slept_since

S = 10**9


def test_only_what_lies_between_two_moments_counts() -> None:
    """A stall before, after, around or half inside a request makes its stamps late by what they share."""
    stall = Stall(10 * S, 14 * S)
    assert stall.within(0, 9 * S) == 0
    assert stall.within(15 * S, 20 * S) == 0
    assert stall.within(0, 20 * S) == 4 * S
    assert stall.within(11 * S, 12 * S) == 1 * S
    assert stall.within(13 * S, 20 * S) == 1 * S


def test_no_object_is_walked_for_the_pieces_of_a_thousand_streams() -> None:
    """As many as are under way at a time make no walk, and the settings of before come back."""
    before, walked = gc.get_threshold(), []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            walked.append(len(gc.get_objects(info["generation"])))

    kept: list[list[object]] = []
    with event_loop_lag.quiet_collector():
        gc.callbacks.append(note)
        try:
            for _ in range(100_000):
                kept.append([kept])
        finally:
            gc.callbacks.remove(note)
    assert not walked
    assert gc.get_threshold() == before


def test_sleep_that_the_clock_does_not_count_is_lateness() -> None:
    """A machine that slept for an hour was deaf for an hour to whom it was asking, and to no other."""
    stall = Stall(10 * S, 10 * S + 1, asleep_ns=3600 * S)
    assert stall.within(9 * S, 11 * S) == 3600 * S + 1
    assert stall.within(11 * S, 12 * S) == 0
    assert stall.length_ns == 3600 * S + 1


def test_sleep_is_read_from_the_clock_that_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty seconds of sleep are told; what two readings of clocks differ by is not."""
    told = [5 * S]
    monkeypatch.setattr(event_loop_lag, "slept_ns", lambda: told[0])
    assert slept_since(5 * S) == 0
    told[0] = 5 * S + 90_000_000
    assert slept_since(5 * S) == 0
    told[0] = 45 * S
    assert slept_since(5 * S) == 40 * S


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no clock that counts sleep")
def test_a_machine_that_does_not_sleep_has_slept_for_nothing() -> None:
    """Two readings in a row differ by no sleep."""
    assert slept_since(event_loop_lag.slept_ns()) == 0


def test_the_longest_stall_of_a_long_request_is_found_among_thousands() -> None:
    """A request that ends now is told the same as by looking through every stall there ever was, from little memory."""
    rng = random.Random(7)
    kept, every, now = Stalls(), [], 0
    for _ in range(20_000):
        begin = now + 20_000_000
        now = begin + int(rng.expovariate(1 / 3e6))
        every.append(Stall(begin, now))
        kept.add(every[-1])
    for back in (10**8, S, 3 * S, 30 * S, 300 * S):
        begin = now - back
        assert kept.longest_ns(begin, now) == max(each.within(begin, now) for each in every)
    assert len(kept._recent) + len(kept._peaks) < 200


def test_a_stall_after_the_end_hides_none_within() -> None:
    """A request that ended just before a long stall, and asks after it, is told of its own short one."""
    kept = Stalls()
    kept.add(Stall(1 * S, 1 * S + 7_000_000))
    kept.add(Stall(2 * S, 32 * S))
    assert kept.longest_ns(0, 1 * S + 500_000_000) == 7_000_000
    assert kept.longest_ns(0, 33 * S) == 30 * S


def test_what_a_first_retry_needs_is_loaded_before_the_run() -> None:
    """Loading it amid a run held the event loop up, and every answer under way was late by that."""
    code = (
        "import sys; from vendor_verifier.transport.client import open_client;"
        "from vendor_verifier.records.plan import Limits;"
        "open_client('http', Limits(), ()); sys.exit(not {'tenacity', 'encodings.idna'} <= sys.modules.keys())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
