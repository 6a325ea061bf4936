"""A baseline that is asked everything twice ends together with its equals, and is neither better nor worse for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime

import equal_vendors
import pytest
from asking import entry, run
from fault_server import DONE, Seen, stream, text, whole
from jumping_loop import SleepingServer, run_jumping

from vendor_verifier.records.plan import Limits, RetryRules
from vendor_verifier.records.record import Record

VENDORS, SAMPLES, RUNS = 7, 60, 100
GOOD = stream(text("hello"), DONE)
LIMITS = Limits(connect_s=10, first_token_s=60, idle_s=60, total_s=300)
Answer = Callable[[Seen], "tuple[float, bytes] | None"]


def sent_s(record: Record) -> float:
    timing = record.turns[0].attempts[0].timing
    assert timing is not None
    return datetime.fromisoformat(timing.sent_at).timestamp()


def over(records: list[Record], label: str) -> float:
    """When the last of a vendor's requests was sent."""
    return max(sent_s(record) for record in records if record.label == label)


def test_all_end_together() -> None:
    """Of the baseline's requests, twice as many as anybody's, next to none is sent after the others are through."""
    records = equal_vendors.run(0, VENDORS, SAMPLES)
    others = min(over(records, f"v{n}") for n in range(1, VENDORS))
    alone = sum(record.label == "v0" and sent_s(record) > others for record in records)
    assert Counter(record.label for record in records) == {"v0": 2 * SAMPLES} | {
        f"v{n}": SAMPLES for n in range(1, VENDORS)
    }
    assert alone <= 0.1 * 2 * SAMPLES


def test_a_slower_vendor_is_not_held_back() -> None:
    """One that takes three times as long ends no later than it would beside a baseline that is asked once."""
    held, free = (equal_vendors.run(0, 2, SAMPLES, repeats, {"v1": 3.0}) for repeats in (2, 1))
    begin = min(map(sent_s, held))
    assert over(held, "v1") - begin <= 1.1 * (over(free, "v1") - begin)


@pytest.mark.parametrize(
    ("baseline", "most"),
    [
        pytest.param(lambda _seen: None, 4, id="never answers"),
        pytest.param(lambda seen: None if seen.nth % 2 else (0.05, GOOD), 4, id="answers its first tries only"),
        pytest.param(lambda _seen: (0.5, GOOD), 4, id="ten times as slow"),
        pytest.param(lambda _seen: (0.01, whole({"error": {"message": "no"}}, 500)), 2.5, id="always fails"),
        pytest.param(lambda _seen: (0.05, GOOD), 2.5, id="as fast"),
    ],
)
def test_a_sick_baseline_holds_nobody_back(baseline: Answer, most: float) -> None:
    """An equal baseline that is asked twice makes the others last twice as long; a sick one little longer than that."""

    async def took_ns(repeats: int) -> float:
        async with SleepingServer(lambda seen: baseline(seen) if seen.vendor == "base" else (0.05, GOOD)) as server:
            both = [entry(server, "base", is_baseline=True), entry(server, "good")]
            await run(both, 200, limits=LIMITS, retry=RetryRules(1, 1.0), baseline_repeats=repeats)
            return server.took_ns("good")

    assert run_jumping(took_ns(2)) <= most * run_jumping(took_ns(1))
