"""The lease server inside a Dask scheduler: the connections to it, and the plugin that runs it there.

Whoever asks to converse is served over one connection, from its first message to its end. It keeps no record.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, cast

from distributed import Scheduler, SchedulerPlugin
from distributed.comm.core import Comm, CommClosedError, connect
from distributed.scheduler import WorkerState

from vendor_verifier import __version__
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.cluster.job import (
    LINGER_S,
    NEWS_LINGER_S,
    Channel,
    ChannelClosed,
    Job,
    Message,
    Outbox,
    linger_of,
)
from vendor_verifier.run.cluster.lease_server import LeaseServer

_CONNECT_S = 20.0


def operation(execution: str) -> str:
    """The name under which the lease server of an execution listens in the scheduler."""
    return f"vendor-verifier-leases-{execution}"


class CommChannel:
    """A Dask connection as a channel."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm

    async def read(self) -> Message:
        try:
            return cast(Message, await self._comm.read())
        except (CommClosedError, OSError, EOFError):
            raise ChannelClosed from None

    async def write(self, message: Message) -> None:
        try:
            await self._comm.write(message)
        except (CommClosedError, OSError, EOFError):
            raise ChannelClosed from None

    def abort(self) -> None:
        self._comm.abort()


async def open_channel(address: str, execution: str, connection: dict[str, Any], **who: str) -> CommChannel:
    """Connect to the lease server of an execution; ``who`` introduces the caller.

    Raises:
        OSError: there is no scheduler, or it does not accept us.
    """
    comm = await connect(address, timeout=_CONNECT_S, **connection)
    await comm.write({"op": operation(execution), "reply": False, "who": who})
    return CommChannel(comm)


_UNANSWERED = "dont-reply"
# Sessions have so long to hand in their last rows after the coordinator left.
_GRACE_S = 5.0


def about_scheduler() -> dict[str, str]:
    """The versions installed where this is called."""
    return {"version": __version__, "python": platform.python_version(), "distributed": version("distributed")}


class LeaseServerPlugin(SchedulerPlugin):
    """The lease server of one execution in the scheduler's process. The job's plan has no keys."""

    def __init__(self, job: Job, spending: Spending, hang_after_s: float, attempt_s: float) -> None:
        self.name = operation(job.execution)
        self._plan = job.plan
        self._spending = spending
        self._hang_after_s = hang_after_s
        self._attempt_s = attempt_s
        self.run = job.run
        self.accounts = frozenset(entry.account for entry in job.plan.entries)
        self.beside: dict[str, list[str]] = {}

    async def start(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lease_server = LeaseServer(
            self._plan, spending=self._spending, hang_after_s=self._hang_after_s, attempt_s=self._attempt_s
        )
        self._coordinator: Outbox | None = None
        self._watch = asyncio.ensure_future(self._lease_server.watch())
        scheduler.handlers[self.name] = self.converse
        for other in [plugin for plugin in scheduler.plugins.values() if isinstance(plugin, LeaseServerPlugin)]:
            if other is not self and self.accounts & other.accounts:
                self.notice(other)
                other.notice(self)

    def notice(self, other: LeaseServerPlugin) -> None:
        """Note another run on the same accounts. Each keeps its own limits, so the vendor sees both."""
        labels = [f"{entry.model}: {entry.label}" for entry in self._plan.entries if entry.account in other.accounts]
        self.beside[other.run] = labels
        if self._coordinator is not None:
            self._coordinator.send("beside", [other.run, labels])

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:  # noqa: ARG002 as below
        if self._coordinator is not None:
            self._coordinator.send("workers", worker)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:  # noqa: ARG002 Dask's signature
        self._lease_server.worker_gone(worker)
        if self._coordinator is not None:
            self._coordinator.send("gone", worker)

    def valid_workers_downscaling(self, scheduler: Scheduler, workers: list[WorkerState]) -> list[WorkerState]:  # noqa: ARG002 as above
        """The workers that a cluster that adapts may end: those that do nothing for this run."""
        return [each for each in workers if each.address not in self._lease_server.workers]

    async def converse(self, comm: Comm, who: Mapping[str, str]) -> str:
        """Serve one connection from its first message to its end."""
        channel = CommChannel(comm)
        linger_s = LINGER_S if "session" in who else NEWS_LINGER_S
        outbox = Outbox(channel, linger_of(self._plan, linger_s))
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
        is_first = self._lease_server.join(session, worker, outbox.send)
        outbox.send("claim", is_first)
        if not is_first:
            await outbox.drain()
            return
        try:
            while True:
                self._lease_server.receive(session, await channel.read())
        except ChannelClosed:
            self._lease_server.leave(session, "its connection to the scheduler ended")

    async def _with_coordinator(self, channel: Channel, outbox: Outbox) -> None:
        self._coordinator = outbox
        self._lease_server.attend(outbox.send)
        outbox.send("workers", *self._scheduler.workers)
        outbox.send("beside", *([run, labels] for run, labels in self.beside.items()))
        try:
            while True:
                self._lease_server.order(await channel.read())
        except ChannelClosed:
            self._coordinator = None
            self._lease_server.abandon()
            self._watch.cancel()
            self._scheduler.plugins.pop(self.name, None)
            await asyncio.sleep(_GRACE_S)
            self._scheduler.handlers.pop(self.name, None)
