"""Warnings about a load that was not the one asked for."""

from __future__ import annotations

from typing import Any

import pytest
from manifests import some_manifest

from vendor_verifier.pipeline.run_warnings import run_warnings

OFFERED = {
    "begun": 100, "repetitions": 1, "most_under_way": 9, "cap": 8, "held_back": 0, "warmup": 4, "warmup_failed": 0,
    "lag_p50_ms": 1.0, "lag_p99_ms": 50.0, "lag_max_ms": 60.0,
}  # fmt: skip


def warnings(**changes: Any) -> list[str]:
    return list(run_warnings(some_manifest(load={"m: a": OFFERED | changes})))


def test_a_load_that_was_kept_is_no_warning() -> None:
    """Up to 50 ms late at p99 and nothing held back says nothing; neither does a closed loop, which has no lag."""
    assert warnings() == []
    assert warnings(lag_p50_ms=None, lag_p99_ms=None) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"held_back": 7, "lag_p99_ms": 900.0}, "m: a: 7 requests started late because 8 were already in flight"),
        ({"lag_p99_ms": 50.6}, "m: a: requests started up to 51 ms late"),
        ({"warmup_failed": 4}, "m: a: the whole warm-up failed (4 requests)"),
    ],
)
def test_another_load_than_the_one_asked_for_is_told(changes: dict[str, Any], words: str) -> None:
    """A full cap, a late process and a warm-up that warmed nothing are each one sentence."""
    (found,) = warnings(**changes)
    assert found.startswith(words)


def test_a_cap_of_the_users_is_told_with_the_times_that_rank() -> None:
    """Once for the run, whichever vendors were held back; the sentence of each no longer names IRF."""
    found = warnings(held_back=7, by_schedule=True)
    assert len(found) == 2
    assert found[0].startswith("The concurrency limit delayed requests: avg_ttft_ms counts from the due time")
    assert found[1].startswith("m: a: 7 requests started late because 8 were already in flight")


@pytest.mark.parametrize(
    ("load", "advice"),
    [
        (None, "lower --request-concurrency"),
        ({"request_rate": 5.0}, "lower --request-rate"),
        ({"request_rate": None, "schedule": {"count": 3, "last_s": 1.0}}, "fewer requests per second"),
        ({"request_rate": None, "warmup": 3}, "lower --request-concurrency"),
    ],
)
@pytest.mark.parametrize(
    ("executor", "more"),
    [
        ({"name": "local", "cores": 8}, "2"),
        ({"name": "workers", "cores": 8, "workers": [{}, {}, {}]}, "6"),
        ({"name": "workers", "cores": 8, "workers": [{}] * 6}, "8"),
        ({"name": "workers", "cores": 2, "workers": [{}, {}]}, None),
        ({"name": "dask", "workers": [{}]}, None),
        (None, None),
    ],
)
def test_advice_is_something_that_can_be_done(
    load: dict[str, Any] | None, advice: str, executor: dict[str, Any] | None, more: str | None
) -> None:
    """A smaller load, or twice the processes as far as there are cores; a cluster's workers are not ours to count."""
    executors = [] if executor is None else [{"name": "local", "cores": 1}, executor]
    late = {"p99_ms": 80.0, "core_share": 0.2}
    (found,) = run_warnings(some_manifest(settings={"load": load}, event_loop=late, executors=executors))
    assert advice in found
    assert found.partition("--workers ")[2] == (f"{more}." if more else "")
