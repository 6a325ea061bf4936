"""Runs a plan over worker processes of this machine: the engine in the children, all else here.

Limits are exact, because every lease is given here. Workers are not started again: what a dead one had not handed in is
asked again by the others, and when none is left the run ends with what came back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import anyio

from vendor_verifier.errors import ClusterError
from vendor_verifier.run.cluster.coordinator import Coordinator, block_size
from vendor_verifier.run.cluster.job import ChannelClosed, ClusterSide, Outbox
from vendor_verifier.run.cluster.lease_server import LeaseServer
from vendor_verifier.run.cluster.process_worker import Child, Start, failure_in
from vendor_verifier.run.local_run import RunEnd, Work, interruptible
from vendor_verifier.values.plan import ExecutorChoice, WorkersWish

# Up to here one process stamps times within a millisecond or two (benchmarks/README.md); beyond, its loop gets late.
IN_FLIGHT_PER_WORKER = 300

# More of them take turns on a core; each has an interpreter of its own in memory.
MOST_PER_CORE = 16


def cores_here() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def workers_for(wish: WorkersWish, in_flight: int, cores: int) -> int:
    """Processes for at most ``in_flight`` requests at a time, all accounts together.

    ``auto``: one for each ``IN_FLIGHT_PER_WORKER``, leaving a core to the parent and all else, at least one.
    """
    if wish != "auto":
        return wish
    return max(1, min(-(-in_flight // IN_FLIGHT_PER_WORKER), cores - 1))


_GRACE_S = 3.0


class WorkersExecutor:
    """One run over ``count`` processes."""

    def __init__(self, choice: ExecutorChoice, side: ClusterSide, count: int) -> None:
        self._choice = choice
        self._side = side
        self._children = [Child(f"w{number}") for number in range(count)]
        self._coordinator: Coordinator | None = None

    async def open(self, work: Work) -> None:
        """Start the processes and wait for all of them.

        Raises:
            UsageError: they cannot do what the run asks for.
            ClusterError: one did not start.
        """
        # Unlike a job for other machines this one has the keys: it goes through a socket to our own child.
        job = replace(work.job, plan=replace(work.plan, tasks=()))
        for child in self._children:
            await child.start(Start(child.name, job, self._side.open_here, work.scrubber, work.use_uvloop))
        async with anyio.create_task_group() as group:
            for child in self._children:
                group.start_soon(child.until_ready)

    async def run(self, work: Work) -> RunEnd:
        lease_server = LeaseServer(work.plan, work.costs, work.in_flight, hang_after_s=self._choice.hang_after_s)
        block = block_size(work.queue, len(self._children))
        coordinator = self._coordinator = Coordinator(
            work, block, lambda kind, *items: lease_server.order({kind: list(items)})
        )
        outboxes = [Outbox(child.channel) for child in self._children]
        for child, outbox in zip(self._children, outboxes, strict=True):
            lease_server.join(child.name, child.name, outbox.send)
        lease_server.attend(lambda kind, *items: coordinator.receive({kind: list(items)}))
        # Together, so that the first of them does not get it all.
        coordinator.receive({"joined": [child.name for child in self._children]})
        async with anyio.create_task_group() as group:
            group.start_soon(lease_server.watch)
            for child, outbox in zip(self._children, outboxes, strict=True):
                group.start_soon(self._converse, child, outbox, lease_server, coordinator)
            async with interruptible(coordinator.close) as interruption:
                await coordinator.until_finished()
            coordinator.wind_down()
            lease_server.order({"finish": [True]})
            with anyio.move_on_after(_GRACE_S):
                for child in self._children:
                    await child.ended.wait()
            group.cancel_scope.cancel()
        lease_server.order({"facts": [True]})
        return coordinator.run_end(interruption.signal_number)

    def describe(self) -> Mapping[str, Any]:
        coordinator = self._coordinator
        reports = {} if coordinator is None else coordinator.reports
        workers = [
            {"name": child.name, **(asdict(reports[child.name]) if child.name in reports else {})}
            for child in self._children
        ]
        found = {"name": "workers", "asked_for": self._choice.workers, "cores": cores_here(), "workers": workers}
        return found if coordinator is None else found | coordinator.describe()

    async def close(self) -> None:
        for child in self._children:
            child.end()

    async def _converse(
        self, child: Child, outbox: Outbox, lease_server: LeaseServer, coordinator: Coordinator
    ) -> None:
        """One worker's side of the run, until it has ended."""
        async with anyio.create_task_group() as group:
            group.start_soon(outbox.run)
            try:
                while True:
                    message = await child.channel.read()
                    failure = failure_in(child.name, message)
                    if failure is not None:
                        coordinator.fail(failure)
                    lease_server.receive(child.name, message)
            except ChannelClosed:
                child.ended.set()
                reason = await child.how_it_ended()
                lease_server.leave(child.name, reason)
            group.cancel_scope.cancel()
        if not coordinator.sessions:
            coordinator.fail(
                ClusterError(
                    f"no worker process is left, the last one: {reason}; what came back is kept, "
                    "go on with --incremental"
                )
            )
