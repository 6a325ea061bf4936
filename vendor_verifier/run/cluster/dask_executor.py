"""Runs a plan over a Dask cluster: lease server in the scheduler, sessions on the workers, the rest here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from vendor_verifier.errors import ClusterError, NobodyToSend, UsageError
from vendor_verifier.records.plan import ExecutorChoice, Plan
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.cluster.coordinator import Coordinator
from vendor_verifier.run.cluster.dask_cluster import DaskCluster, failure_of
from vendor_verifier.run.cluster.dask_lease_plugin import CommChannel
from vendor_verifier.run.cluster.job import ChannelClosed, ClusterSide, Outbox, linger_of, longest_attempt_s
from vendor_verifier.run.cluster.load_coordinator import coordinator_of
from vendor_verifier.run.interruption import interruptible
from vendor_verifier.run.local_run import RunEnd, Work
from vendor_verifier.run.rate_limiter import places_of
from vendor_verifier.run.work_queue import BLOCK

# A cluster may still be starting, or starting a worker anew.
WORKERS_WITHIN_S = 60.0
_LOOK_AGAIN_S = 1.0
_GRACE_S = 3.0


# Records that make it worth starting one more worker, and the most that are asked for.
_RECORDS_PER_WORKER = 4 * BLOCK
_MOST_WORKERS = 64
# Requests in flight that one process usually times truthfully.
_STREAMS_PER_WORKER = 300


def useful_workers(plan: Plan, due: int) -> int:
    """Workers that a cluster which adapts to its work should start, by ``due`` records and requests in flight."""
    in_flight = places_of(plan) if plan.load.plans_by_doing else min(places_of(plan), due)
    wanted = max(due // _RECORDS_PER_WORKER, -(-in_flight // _STREAMS_PER_WORKER))
    return max(1, min(_MOST_WORKERS, wanted))


class DaskExecutor:
    """One run over one cluster."""

    def __init__(self, choice: ExecutorChoice, side: ClusterSide) -> None:
        self._choice = choice
        self._cluster = DaskCluster(
            side,
            scheduler=choice.scheduler,
            local_workers=choice.local_workers,
            insecure_cluster=choice.insecure_cluster,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._channel: CommChannel | None = None
        self._coordinator: Coordinator | None = None
        self._beside: dict[str, list[str]] = {}
        self._dashboard: str | None = None

    async def open(self, work: Work) -> None:
        """Reach the cluster and wait for a first worker that may take part.

        Raises:
            UsageError: the cluster may not or cannot be used, or a worker of it lacks keys or has other versions.
            NobodyToSend: there are no workers.
        """
        await self._cluster.open()
        self._dashboard = self._cluster.dashboard
        if self._dashboard is not None:
            work.on_notice(f"Dask's dashboard: {self._dashboard}")
        self._cluster.want(useful_workers(work.plan, len(work.queue)))
        deadline = time.monotonic() + WORKERS_WITHIN_S
        while True:
            addresses = await self._cluster.workers()
            met = await asyncio.gather(*(self._cluster.meet(address, work.job) for address in addresses))
            if self._cluster.fleet.refused:
                raise UsageError("\n".join(self._cluster.fleet.refused.values()))
            if any(met):
                break
            if time.monotonic() > deadline:
                raise NobodyToSend(f"no worker has joined {self._cluster.address} within {WORKERS_WITHIN_S:.0f} s")
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def run(self, work: Work) -> RunEnd:
        # Workers that join later are not counted; most of a cluster is there before its run.
        workers = max(1, len(await self._cluster.workers()))
        plan = work.plan
        spending = Spending(plan.max_requests, plan.max_cost_usd, work.costs)
        self._channel = await self._cluster.open_lease_server(
            work.job, spending, self._choice.hang_after_s, longest_attempt_s(plan)
        )
        outbox = Outbox(self._channel, linger_of(plan))
        coordinator = self._coordinator = coordinator_of(work, workers, outbox.send, is_far=True)
        self._spawn(outbox.run())
        self._spawn(self._listen(self._channel, coordinator, work))
        self._spawn(self._mind(coordinator))
        async with interruptible(coordinator.close) as interruption:
            await coordinator.until_finished()
        at_work = coordinator.wind_down()
        outbox.send("facts", True)
        await _within(coordinator.has_facts.wait(), _GRACE_S)
        if coordinator.has_facts.is_set():
            spending.take_over(coordinator.facts["books"])
        outbox.send("finish", True)
        await _within(outbox.drain(), _GRACE_S)
        await self._cluster.end_sessions(at_work, _GRACE_S)
        await _within(_reported(coordinator, at_work), _LOOK_AGAIN_S)
        return coordinator.run_end(interruption.signal_number)

    def describe(self) -> Mapping[str, Any]:
        coordinator = self._coordinator
        reports = {} if coordinator is None else {name: asdict(each) for name, each in coordinator.reports.items()}
        found = {"name": "dask", "versions": self._cluster.versions, **self._cluster.fleet.describe(reports)}
        if coordinator is not None:
            found |= coordinator.describe()
            if "coordinator_cpu_s" in found:
                found["scheduler_cpu_s"] = round(coordinator.facts.get("cpu_s", 0.0), 3) or None
        if self._beside:
            found["beside"] = self._beside
        if self._dashboard is not None:
            found["dashboard"] = self._dashboard
        return found

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._channel is not None:
            self._channel.abort()
        await self._cluster.close()

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Fail the run with a part of the coordinator that broke; alone it would only fall silent."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and self._coordinator is not None:
            self._coordinator.fail(error)

    async def _listen(self, channel: CommChannel, coordinator: Coordinator, work: Work) -> None:
        """Take the lease server's messages until it is gone."""
        while True:
            try:
                message = await channel.read()
            except ChannelClosed:
                coordinator.lose_all("the scheduler went away")
                coordinator.fail(ClusterError(f"the scheduler went away; {coordinator.way_on} when it is back"))
                return
            for address in message.get("workers", ()):
                self._spawn(self._enlist(address, coordinator, work))
            self._beside |= dict(message.get("beside", ()))
            coordinator.receive(message)
            for name, *_ in message.get("left", ()):
                self._cluster.kill_ours(name)

    async def _enlist(self, address: str, coordinator: Coordinator, work: Work) -> None:
        """Put a worker to work; its failure fails the run."""
        try:
            worker = await self._cluster.meet(address, work.job)
        except UsageError as error:
            self._cluster.fleet.refused[address] = str(error)
            return
        session = None if worker is None else self._cluster.start_session(worker, work.job)
        if session is None:
            return
        failure = await failure_of(session)
        if failure is not None:
            coordinator.fail(failure)

    async def _mind(self, coordinator: Coordinator) -> None:
        """Give up when no session has worked for long."""
        alone_since = time.monotonic()
        while True:
            await asyncio.sleep(_LOOK_AGAIN_S)
            if coordinator.sessions:
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > WORKERS_WITHIN_S:
                coordinator.fail(
                    ClusterError(f"no worker for {WORKERS_WITHIN_S:.0f} s; {coordinator.way_on} when there are some")
                )
                return


async def _within(waiting: Any, seconds: float) -> None:
    try:
        await asyncio.wait_for(waiting, seconds)
    except TimeoutError:
        return


async def _reported(coordinator: Coordinator, names: Collection[str]) -> None:
    """Wait until the reports of these sessions have come."""
    while not coordinator.reports.keys() >= set(names):
        await asyncio.sleep(0.01)
