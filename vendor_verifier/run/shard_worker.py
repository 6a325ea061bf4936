"""Sends one shard of a run from a Dask worker; finished records and the end go back as events of the scheduler."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import msgspec
from distributed import get_worker
from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Record
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.dask_cluster import versions_here
from vendor_verifier.run.event_loop import run_to_end
from vendor_verifier.run.interruption import STOP_REQUEST, StopRequest
from vendor_verifier.run.local import run_local
from vendor_verifier.run.shards import Job, OpenJob
from vendor_verifier.store import encode_record

_LOOK_S = 0.2


def run_job(job: Job, versions: Mapping[str, str], open_job: OpenJob, topic: str, number: int) -> None:
    """Send a shard from this worker. Every message carries the ``number`` under which the shard was submitted."""
    worker = get_worker()
    own = versions_here()
    if own != versions:
        raise UsageError(f"it runs {own} instead of {versions}; install the same on every machine")
    opened = open_job(job)
    spending = Spending(job.plan.max_requests, job.plan.max_cost_usd, opened.costs)
    task, stop = worker.get_current_task(), StopRequest()

    def tell(kind: str, content: Any) -> None:
        worker.log_event(topic, (number, kind, spending.requests, spending.cost_usd, content))

    def emit(records: Sequence[Record]) -> None:
        marked = [structs.replace(record, worker=str(worker.name), region=opened.region) for record in records]
        tell("records", list(map(encode_record, marked)))

    async def until_released() -> None:
        """End in order when the task was taken away: the run stops, or the coordinator or the scheduler is gone."""
        while worker.status.name in ("running", "paused"):
            state = worker.state.tasks.get(task)
            if state is None or state.state == "cancelled":
                break
            await anyio.sleep(_LOOK_S)
        stop.ask()

    async def send() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(until_released)
            end = await run_local(opened.plan, opened.queue, job.run, emit, opened.scrubber, spending=spending)
            tell("end", msgspec.msgpack.encode(end))
            group.cancel_scope.cancel()

    tell("begin", {"host": socket.gethostname(), "pid": os.getpid(), "region": opened.region, **own})
    STOP_REQUEST.set(stop)
    try:
        run_to_end(send)
    except Exception as error:  # noqa: BLE001 its objects may not travel, and its words end in the manifest
        raise RuntimeError(opened.scrubber.text(f"{type(error).__name__}: {error}")) from None
