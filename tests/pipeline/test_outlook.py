"""What a sitting is about to do, vendor by vendor."""

from __future__ import annotations

from asking import queue_of

from vendor_verifier.pipeline.run import outlook_of
from vendor_verifier.records.event import Usage
from vendor_verifier.records.plan import Entry, LoadShape, Plan, Task
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.sample import Sample

_SAMPLE = Sample("s-1", Turn(({"role": "user", "content": "hi"},)))


def _entry(label: str, price: dict[str, float] | None = None) -> Entry:
    return Entry("m", label, "own", Endpoint("http://127.0.0.1:1", "own-model", None), "openai", label, price=price)


def test_it_counts_what_is_left_and_what_was_done_and_prices_what_has_a_price() -> None:
    """By vendor: two left of the first, none of the second, and only the first has a price."""
    dear, free = _entry("dear", {"input": 1.0, "output": 2.0}), _entry("free")
    plan = Plan((dear, free), (Task("trigger", (_SAMPLE,)),), repeat=3)
    queue = queue_of([dear, free], [_SAMPLE], 3)
    for label, repetition in (("free", 0), ("free", 1), ("free", 2), ("dear", 0)):
        queue.cross_off(("run", "m", label, "trigger", "s-1", repetition))
    outlook = outlook_of(plan, queue, None)
    assert outlook.due == {("m", "dear"): 2, ("m", "free"): 0}
    assert outlook.done == {("m", "dear"): 1, ("m", "free"): 3}
    assert {name: cost(Usage(input=10**6, output=10**6)) for name, cost in outlook.costs.items()} == {
        ("m", "dear"): 3.0
    }


def test_where_the_vendors_speed_decides_nothing_is_foreseen() -> None:
    """Asked again and again for a minute: nobody knows how often that is."""
    one = _entry("a")
    plan = Plan((one,), (Task("trigger", (_SAMPLE,)),), load=LoadShape(duration_s=60.0))
    assert outlook_of(plan, queue_of([one], [_SAMPLE]), None).due == {("m", "a"): None}
