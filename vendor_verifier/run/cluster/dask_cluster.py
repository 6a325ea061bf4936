"""A worker's task and the cluster as the coordinator sees it.

On a worker :func:`work` runs one session; here :class:`DaskCluster` reaches the scheduler, vets workers and starts
sessions. Neither keeps a record.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from typing import Any

import anyio
from distributed import Client, Future, LocalCluster, Worker, get_worker

from vendor_verifier.errors import ClusterError, UsageError, VerifierError, install_line
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.cluster.dask_lease_plugin import CommChannel, LeaseServerPlugin, about_scheduler, open_channel
from vendor_verifier.run.cluster.job import (
    Bench,
    ChannelClosed,
    ClusterSide,
    Hello,
    Job,
    OpenBench,
)
from vendor_verifier.run.cluster.protocol_probe import other_protocol
from vendor_verifier.run.cluster.worker_session import serve
from vendor_verifier.run.cluster.workers import (
    ClusterWorker,
    Fleet,
    mismatch,
    refuse_insecure,
    rejection_reason,
    scheduler_address,
    skew,
)


def work(job: Job, open_bench: OpenBench, session: str) -> None:
    """Run one session to its end; one that Dask started a second time ends at once.

    Raises:
        UsageError: this machine cannot do what the run asks for.
        OSError: the scheduler cannot be reached.
    """
    worker = get_worker()
    bench = open_bench(job)
    anyio.run(_work, worker, job, bench, session)


async def _work(worker: Worker, job: Job, bench: Bench, session: str) -> None:
    connection = worker.security.get_connection_args("worker")
    who = {"session": session, "worker": worker.address}
    channel = await open_channel(worker.scheduler.address, job.execution, connection, **who)
    try:
        first = await channel.read()
        if all(first.get("claim", (False,))):
            await serve(channel, bench, job.run, str(worker.name))
    except ChannelClosed:
        return
    finally:
        channel.abort()


def greet(hello: Callable[[Job, str, str], Hello], job: Job, is_ours: bool, dask_worker: Worker) -> Hello:
    """This worker's :class:`Hello`; Dask puts in ``dask_worker``.

    ``is_ours``: the coordinator started it, so Ctrl-C in their terminal reaches both, and is the coordinator's alone.
    """
    if is_ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return hello(job, str(dask_worker.id), str(dask_worker.name))


CONNECT_S = 15.0
_HELLO_S = 15.0
# The client of a program that runs a verification, whose cluster is to be used, with its certificates.
DASK_CLIENT: ContextVar[Client | None] = ContextVar("dask_client", default=None)
# The processes started here for several runs.
KEPT_CLUSTER: ContextVar[LocalCluster | None] = ContextVar("kept_cluster", default=None)
_HELLOS_AT_ONCE = 16
_LOOPBACK = "127.0.0.1"


def _local_cluster(workers: int, *, asynchronous: bool) -> Any:
    """A scheduler in this process and so many worker processes; one that is ``asynchronous`` is to be awaited."""
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host=_LOOPBACK,
        dashboard_address=f"{_LOOPBACK}:0",
        worker_dashboard_address=f"{_LOOPBACK}:0",
        asynchronous=asynchronous,
        silence_logs=logging.CRITICAL,
    )


@contextlib.contextmanager
def kept_local_cluster(workers: int) -> Iterator[None]:
    """Start processes here once for all runs until the block ends."""
    with _local_cluster(workers, asynchronous=False) as cluster:
        token = KEPT_CLUSTER.set(cluster)
        try:
            yield
        finally:
            KEPT_CLUSTER.reset(token)


# What no worker offers.
_NOWHERE = "agent-vendor-verifier wants a worker"


def _nothing(number: int) -> None:
    """Never run: no worker has what it asks for."""


class DaskCluster:
    """A cluster for one run. ``local_workers`` processes are started here when no scheduler is given."""

    def __init__(
        self, side: ClusterSide, *, scheduler: str | None, local_workers: int | None, insecure_cluster: bool
    ) -> None:
        self.fleet = Fleet()
        self.versions = about_scheduler()
        self._side = side
        self._scheduler = scheduler
        self._local_workers = local_workers
        self._insecure = insecure_cluster
        # Of processes started here: for this run, or before it.
        self._cluster: LocalCluster | None = None if local_workers is None else KEPT_CLUSTER.get()
        self._is_kept = self._cluster is not None
        self._client: Client | None = None
        self._sessions: dict[str, Future[None]] = {}
        self._wanted: list[Future[None]] = []
        self._hellos = asyncio.Semaphore(_HELLOS_AT_ONCE)

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    @property
    def address(self) -> str:
        assert self.client.scheduler is not None
        return str(self.client.scheduler.address)

    async def open(self) -> None:
        """Reach the scheduler, or start one.

        Raises:
            UsageError: it cannot be reached, or has other versions.
        """
        # Errors on the way are reported by us, in the run's own words.
        # Dask gives some of its loggers a level of their own.
        for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            if self._local_workers is not None:
                if self._cluster is None:
                    self._cluster = await _local_cluster(self._local_workers, asynchronous=True)
                address: Any = self._cluster.scheduler_address
            else:
                assert self._scheduler is not None
                address = scheduler_address(self._scheduler)
            given: Client | None = DASK_CLIENT.get()
            self._client = await Client(
                address,
                asynchronous=True,
                set_as_default=False,
                timeout=CONNECT_S,
                security=None if given is None else given.security,
            )
        except (OSError, TimeoutError, TypeError, ValueError, RuntimeError) as error:
            spoken = None if self._scheduler is None else await other_protocol(scheduler_address(self._scheduler))
            reason = spoken or str(error).strip().partition("\n")[0] or type(error).__name__
            raise UsageError(
                f"the Dask scheduler at {self._scheduler or _LOOPBACK} cannot be used: {reason}"
            ) from error
        await self._check_scheduler()

    @property
    def dashboard(self) -> str | None:
        """The address of the scheduler's dashboard, if it has one."""
        services = self.client.scheduler_info(n_workers=0)["services"]
        return str(self.client.dashboard_link) if "dashboard" in services else None

    def want(self, workers: int) -> None:
        """Have the scheduler see work for so many workers, so that a cluster that adapts to its work starts them.

        It is work that nobody can do; each session that starts takes one piece of it away.
        """
        numbers = range(workers)
        # mypy knows only of a list of what is no future.
        self._wanted = self.client.map(_nothing, numbers, resources={_NOWHERE: 1}, pure=False)

    async def _check_scheduler(self) -> None:
        try:
            theirs = await self.client.run_on_scheduler(about_scheduler)
        except Exception as error:
            # Whatever the other process raised comes back as it is.
            raise UsageError(
                f"the scheduler cannot load our lease server ({type(error).__name__}: {error}); "
                f"install the same version there: {install_line('dask')}"
            ) from error
        differing = mismatch(self.versions, theirs)
        if differing is not None:
            raise UsageError(f"the scheduler runs {differing}; install the same on every machine")

    async def workers(self) -> list[str]:
        """Addresses of the workers there are now."""
        found: list[str] = await self.client.run_on_scheduler(_worker_addresses)
        return found

    async def open_lease_server(
        self, job: Job, spending: Spending, hang_after_s: float, attempt_s: float
    ) -> CommChannel:
        """Put the lease server into the scheduler, with a copy of the books, and connect to it."""
        plugin = LeaseServerPlugin(job, spending, hang_after_s, attempt_s)
        await self.client.register_plugin(plugin, name=plugin.name)
        connection = self.client.security.get_connection_args("client")
        return await open_channel(self.address, job.execution, connection)

    async def meet(self, address: str, job: Job) -> ClusterWorker | None:
        """Ask a worker who it is; None when it does not answer or may not take part (then ``fleet.refused`` says why).

        Raises:
            UsageError: its connections are neither encrypted nor on this machine.
        """
        refuse_insecure([address], insecure_cluster=self._insecure)
        is_ours = self._local_workers is not None
        async with self._hellos:
            asked_ns = time.time_ns()
            try:
                answers = await asyncio.wait_for(
                    self.client.run(greet, self._side.hello, job, is_ours, workers=[address], on_error="return"),
                    _HELLO_S,
                )
            except (TimeoutError, OSError, ValueError):
                return None
            answered_ns = time.time_ns()
        hello = answers.get(address)
        if not isinstance(hello, Hello):
            self.fleet.refused[address] = f"the worker at {address} cannot load our code: {hello!r}"[:500]
            return None
        reason = rejection_reason(hello, self.versions)
        if reason is not None:
            self.fleet.refused[address] = reason
            return None
        return ClusterWorker(address, hello, *skew(hello, asked_ns, answered_ns))

    def start_session(self, worker: ClusterWorker, job: Job) -> Future[None] | None:
        """Start a session on a worker, once for each of its processes."""
        identity = worker.hello.identity
        if identity in self._sessions:
            return None
        if self._wanted:
            self._wanted.pop().release()
        self.fleet.workers[identity] = worker
        self._sessions[identity] = self.client.submit(
            work,
            job,
            self._side.open_bench,
            identity,
            key=f"vendor-verifier-{job.execution}-{identity}",
            workers=[worker.address],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )
        return self._sessions[identity]

    def kill_ours(self, identity: str) -> None:
        """Kill the process of a session that was given up, if it was started here; another is started in its place."""
        worker = self.fleet.workers.get(identity)
        if self._cluster is None or worker is None:
            return
        for nanny in self._cluster.workers.values():
            if nanny.worker_address == worker.address and nanny.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGKILL)

    async def end_sessions(self, names: Collection[str], patience_s: float) -> None:
        """Wait ``patience_s`` at most for these sessions to end."""
        if names:
            done = [asyncio.ensure_future(failure_of(self._sessions[name])) for name in names]
            _, late = await asyncio.wait(done, timeout=patience_s)
            for task in late:
                task.cancel()

    async def close(self) -> None:
        """Leave the cluster; end it when it is our own."""
        # Dask's own tasks may be trying to reach a scheduler that is gone; their errors concern no one.
        for name in ("asyncio", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        for future in (*self._sessions.values(), *self._wanted):
            future.release()
        if self._client is not None:
            await self._client.close()
        if self._cluster is not None and not self._is_kept:
            closing: Any = self._cluster.close()
            await closing


async def failure_of(future: Future[None]) -> VerifierError | None:
    """A session's failure, once it has ended; None when it did its work or merely lost its connection."""
    try:
        await future
    except asyncio.CancelledError:
        return None
    except UsageError as error:
        return error
    except Exception as error:  # noqa: BLE001 whatever the other process raised comes back as it is
        return ClusterError(f"a worker failed: {type(error).__name__}: {error}"[:500])
    return None


def _worker_addresses(dask_scheduler: Any) -> list[str]:
    return list(dask_scheduler.workers)
