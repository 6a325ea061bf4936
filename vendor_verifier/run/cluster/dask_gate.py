"""Puts the gate of a run into the Dask scheduler, as a plugin that hears of every worker's death at once.

The scheduler must have this same package installed; it keeps nothing once the coordinator is gone.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from distributed import Scheduler, SchedulerPlugin
from distributed.comm.core import Comm

from vendor_verifier import __version__
from vendor_verifier.run.cluster.dask_channel import CommChannel, operation
from vendor_verifier.run.cluster.gate import Gate
from vendor_verifier.run.cluster.job import Job
from vendor_verifier.run.cluster.outbox import Channel, ChannelClosed, Outbox
from vendor_verifier.run.spending import CostOf

_UNANSWERED = "dont-reply"
# How long sessions have to hand in their last rows after the coordinator said it has what it wants.
_PARTING_S = 5.0


def about_scheduler() -> dict[str, str]:
    """Versions where this is called."""
    return {"version": __version__, "python": platform.python_version(), "distributed": version("distributed")}


class GatePlugin(SchedulerPlugin):
    """The gate of one sitting in the scheduler's process. The job's plan has no keys."""

    def __init__(self, job: Job, costs: Mapping[tuple[str, str], CostOf] | None, hang_after_s: float) -> None:
        self.name = operation(job.sitting)
        self._plan = job.plan
        self._costs = costs
        self._hang_after_s = hang_after_s
        self.run = job.run
        self.accounts = frozenset(entry.account for entry in job.plan.entries)
        self.beside: dict[str, list[str]] = {}

    async def start(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._gate = Gate(self._plan, self._costs, hang_after_s=self._hang_after_s)
        self._coordinator: Outbox | None = None
        self._watch = asyncio.ensure_future(self._gate.watch())
        scheduler.handlers[self.name] = self.converse
        for other in [plugin for plugin in scheduler.plugins.values() if isinstance(plugin, GatePlugin)]:
            if other is not self and self.accounts & other.accounts:
                self.notice(other)
                other.notice(self)

    def notice(self, other: GatePlugin) -> None:
        """Another run asks the same accounts meanwhile. Each keeps its own limits, so the vendor sees both."""
        labels = [f"{entry.model}: {entry.label}" for entry in self._plan.entries if entry.account in other.accounts]
        self.beside[other.run] = labels
        if self._coordinator is not None:
            self._coordinator.send("beside", [other.run, labels])

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:  # noqa: ARG002 as below
        if self._coordinator is not None:
            self._coordinator.send("workers", worker)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:  # noqa: ARG002 Dask's signature
        self._gate.worker_gone(worker)
        if self._coordinator is not None:
            self._coordinator.send("gone", worker)

    async def converse(self, comm: Comm, who: Mapping[str, str]) -> str:
        """One connection, from its first word to its end."""
        channel = CommChannel(comm)
        outbox = Outbox(channel)
        writing = asyncio.ensure_future(outbox.run())
        try:
            if "session" in who:
                await self._with_session(channel, outbox, who["session"], who["worker"])
            else:
                await self._with_coordinator(channel, outbox)
        finally:
            writing.cancel()
            channel.abort()
        return _UNANSWERED

    async def _with_session(self, channel: Channel, outbox: Outbox, session: str, worker: str) -> None:
        is_first = self._gate.join(session, worker, outbox.send)
        outbox.send("claim", is_first)
        if not is_first:
            await outbox.drain()
            return
        try:
            while True:
                self._gate.hear(session, await channel.read())
        except ChannelClosed:
            self._gate.leave(session, "its connection to the scheduler ended")

    async def _with_coordinator(self, channel: Channel, outbox: Outbox) -> None:
        self._coordinator = outbox
        self._gate.attend(outbox.send)
        outbox.send("workers", *self._scheduler.workers)
        outbox.send("beside", *([run, labels] for run, labels in self.beside.items()))
        try:
            while True:
                self._gate.order(await channel.read())
        except ChannelClosed:
            self._coordinator = None
            self._gate.abandon()
            self._watch.cancel()
            self._scheduler.plugins.pop(self.name, None)
            await asyncio.sleep(_PARTING_S)
            self._scheduler.handlers.pop(self.name, None)
