"""The Dask side of the coordinator: reaches the scheduler, vets workers, starts sessions; it keeps no record."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from typing import Any

from distributed import Client, Future, LocalCluster

from vendor_verifier.errors import ClusterError, UsageError, VerifierError
from vendor_verifier.installing import install_line
from vendor_verifier.run.cluster.dask_channel import CommChannel, open_channel
from vendor_verifier.run.cluster.dask_gate import GatePlugin, about_scheduler
from vendor_verifier.run.cluster.dask_worker import greet, work
from vendor_verifier.run.cluster.fleet import Fleet, Recruit, mismatch, objection, skew
from vendor_verifier.run.cluster.job import ClusterSide, Hello, Job
from vendor_verifier.run.cluster.safety import refuse_insecure, scheduler_address
from vendor_verifier.run.spending import CostOf

CONNECT_S = 15.0
_HELLO_S = 15.0
_HELLOS_AT_ONCE = 16
_LOOPBACK = "127.0.0.1"


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
        self._cluster: LocalCluster | None = None
        self._client: Client | None = None
        self._sessions: dict[str, Future[str]] = {}
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
        # What goes wrong on the way is told by us, in the run's own words.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            if self._local_workers is not None:
                self._cluster = await LocalCluster(
                    n_workers=self._local_workers,
                    threads_per_worker=1,
                    processes=True,
                    host=_LOOPBACK,
                    dashboard_address=f"{_LOOPBACK}:0",
                    worker_dashboard_address=f"{_LOOPBACK}:0",
                    asynchronous=True,
                    silence_logs=logging.CRITICAL,
                )
                address: Any = self._cluster
            else:
                assert self._scheduler is not None
                address = scheduler_address(self._scheduler)
            self._client = await Client(address, asynchronous=True, set_as_default=False, timeout=CONNECT_S)
        except (OSError, TimeoutError, TypeError, ValueError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise UsageError(
                f"the Dask scheduler at {self._scheduler or _LOOPBACK} cannot be used: {reason}"
            ) from error
        await self._check_scheduler()

    async def _check_scheduler(self) -> None:
        try:
            theirs = await self.client.run_on_scheduler(about_scheduler)
        except Exception as error:
            # Whatever the other process raised comes back as it is.
            raise UsageError(
                f"the scheduler cannot load our gate ({type(error).__name__}: {error}); "
                f"install the same version there: {install_line('dask')}"
            ) from error
        differing = mismatch(self.versions, theirs)
        if differing is not None:
            raise UsageError(f"the scheduler runs {differing}; install the same on every machine")

    async def workers(self) -> list[str]:
        """Addresses of the workers there are now."""
        found: list[str] = await self.client.run_on_scheduler(_worker_addresses)
        return found

    async def open_gate(self, job: Job, costs: Mapping[tuple[str, str], CostOf], hang_after_s: float) -> CommChannel:
        """Put the gate into the scheduler and connect to it."""
        plugin = GatePlugin(job, costs, hang_after_s)
        await self.client.register_plugin(plugin, name=plugin.name)
        connection = self.client.security.get_connection_args("client")
        return await open_channel(self.address, job.sitting, connection)

    async def meet(self, address: str, job: Job) -> Recruit | None:
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
        reason = objection(hello, self.versions)
        if reason is not None:
            self.fleet.refused[address] = reason
            return None
        return Recruit(address, hello, *skew(hello, asked_ns, answered_ns))

    def start_session(self, recruit: Recruit, job: Job) -> Future[str] | None:
        """Begin on a worker, once for each of its processes."""
        identity = recruit.hello.identity
        if identity in self._sessions:
            return None
        self.fleet.recruits[identity] = recruit
        self._sessions[identity] = self.client.submit(
            work,
            job,
            self._side.open_bench,
            identity,
            key=f"vendor-verifier-{job.sitting}-{identity}",
            workers=[recruit.address],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )
        return self._sessions[identity]

    async def end_sessions(self, names: Collection[str], patience_s: float) -> None:
        """Wait a little for these sessions to end; of a lost one nobody would hear."""
        if names:
            done = [asyncio.ensure_future(_settled(self._sessions[name])) for name in names]
            _, late = await asyncio.wait(done, timeout=patience_s)
            for task in late:
                task.cancel()

    async def close(self) -> None:
        """Leave the cluster; end it when it is our own."""
        # Dask's own tasks may be trying to reach a scheduler that is gone; nobody waits for what becomes of them.
        for name in ("asyncio", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        for future in self._sessions.values():
            future.release()
        if self._client is not None:
            await self._client.close()
        if self._cluster is not None:
            closing: Any = self._cluster.close()
            await closing


async def failure_of(future: Future[str]) -> VerifierError | None:
    """Why a session failed, once it has ended; None when it did its work or merely lost its connection."""
    try:
        await future
    except asyncio.CancelledError:
        return None
    except UsageError as error:
        return error
    except Exception as error:  # noqa: BLE001 whatever the other process raised comes back as it is
        return ClusterError(f"a worker failed: {type(error).__name__}: {error}"[:500])
    return None


async def _settled(future: Future[str]) -> None:
    await failure_of(future)


def _worker_addresses(dask_scheduler: Any) -> list[str]:
    return list(dask_scheduler.workers)
