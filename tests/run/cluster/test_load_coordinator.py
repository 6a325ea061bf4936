"""The coordinator of a shaped load by itself: who gets the next play, and how many workers a load is worth."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from changing import replace

from vendor_verifier.records.plan import Entry, LoadShape, Plan
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.cluster.dask_executor import useful_workers
from vendor_verifier.run.cluster.job import Job
from vendor_verifier.run.cluster.load_coordinator import LoadCoordinator
from vendor_verifier.run.conversation import Target
from vendor_verifier.run.local_run import Work
from vendor_verifier.run.work_queue import Part, WorkItem, WorkQueue
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.openai_chat import OpenAIChat

pytestmark = pytest.mark.anyio
ENTRY = Entry("model", "a", "plain", Endpoint("http://127.0.0.1", "m"), "openai", account="a")
PLAN = Plan((ENTRY,), (), load=LoadShape(warmup=1))
SAMPLE = Sample("1", Turn(({"role": "user", "content": "?"},)))


async def test_requests_one_after_the_other_are_sent_by_all_workers_in_turn() -> None:
    """Whoever joins later takes part from then on, and makes up for nothing."""
    target = Target(ENTRY, OpenAICompatible(), OpenAIChat())
    queue = WorkQueue([target], [Part(TriggerSuite(), listed([SAMPLE]))], [1])
    orders: list[Any] = []
    work = Work(PLAN, queue, Job("run", "run", PLAN, {}, Path("c")), print, print, Scrubber(()))
    coordinator = LoadCoordinator(work, 2, lambda kind, *items: orders.extend((kind, *items)), is_far=False)
    coordinator.receive({"joined": ["one", "two"]})
    senders = []
    for number in itertools.count(1):
        answer = coordinator.hand(WorkItem(target, TriggerSuite(), SAMPLE, 0), 0, None)
        _, (session, dispatch, _) = orders[-2:]
        senders.append(session)
        coordinator.receive({"ended": [[session, dispatch]]})
        assert await answer is None
        if number == 6:
            coordinator.receive({"joined": ["three"]})
        elif number == 12:
            break
    assert [senders[:6].count(name) for name in ("one", "two")] == [3, 3]
    assert [senders[6:].count(name) for name in ("one", "two", "three")] == [2, 2, 2]


@pytest.mark.parametrize(
    ("changes", "due", "workers"),
    [
        ({}, 20, 1),
        ({}, 399, 3),
        ({"request_concurrency": 901}, 100_000, 64),
        ({"request_concurrency": 901}, 20, 1),
        ({"load": LoadShape(request_rate=100, duration_s=60), "request_concurrency": 3_000}, 20, 10),
        ({"load": LoadShape(warmup=1), "request_concurrency": 640}, 700, 7),
    ],
)
def test_a_cluster_that_adapts_is_asked_for_as_many_as_the_load_is_worth(
    changes: dict[str, Any], due: int, workers: int
) -> None:
    """One per hundred records or per so many in flight as one times; a load of a stated time by what it keeps up."""
    assert useful_workers(replace(PLAN, **changes), due) == workers
