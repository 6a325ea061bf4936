"""Sends the shards of a run by the workers of a Dask cluster; ``--workers N`` is a cluster of processes started here.

Each worker runs :func:`run_local` for one shard. Finished records come back as events of the scheduler and are kept
here, each once. A shard is submitted for one worker alone, so that Dask never runs it twice; when that worker is lost,
it is submitted again without the records that came back. A job names variables, and a worker reads their values on its
own machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from multiprocessing import resource_tracker
from typing import Any
from urllib.parse import urlsplit

import anyio
import dask
import msgspec
from distributed import Client, Future, LocalCluster, Security, get_worker
from msgspec import structs

from vendor_verifier import __version__
from vendor_verifier.errors import ClusterError, NobodyToSend, UsageError
from vendor_verifier.records.manifest import Executor, Loss
from vendor_verifier.records.record import Record
from vendor_verifier.run.budgets import Spending
from vendor_verifier.run.conversation import Emit
from vendor_verifier.run.event_loop import STOP_REQUEST, StopRequest, interruptible, run_to_end
from vendor_verifier.run.local import RunEnd, run_local
from vendor_verifier.run.queue import Job, OpenJob, Shard, WorkQueue, shards_of, without_secrets
from vendor_verifier.store import decode_record, encode_record
from vendor_verifier.transport.proxies import is_loopback

# A shard that is lost this often in a row, without one new record, is not submitted again.
_MOST_LOSSES = 3
# Seconds for a scheduler to answer, for a worker to come, and for one to end.
_CONNECT_S, _WORKER_S, _END_S = 15.0, 60.0, 8.0
_LOOK_S = 0.2
_LOCAL_SETTINGS = {
    # A stopped process is killed after this time, and others do its shard.
    "distributed.scheduler.worker-ttl": "10 seconds",
    # It would take the interpreter from the thread that sends, 100 times a second.
    "distributed.worker.profile.enabled": False,
}


class _LostError(Exception):
    """The worker of a shard is gone, or failed."""


class DaskRun:
    """One execution of a run by the workers of a scheduler. ``job`` is the whole run."""

    def __init__(self, job: Job, queue: WorkQueue, open_job: OpenJob, emit: Emit) -> None:
        self._job, self._plan, self._queue, self._open_job, self._emit = job, job.plan, queue, open_job, emit
        # How many are started here, if they are.
        self._processes = job.plan.workers if isinstance(job.plan.workers, int) else None
        self._topic = f"records of {job.run} by {os.getpid()} at {time.time_ns()}"
        self._news = asyncio.Queue[tuple[int, str, int, float, Any]]()
        self._shards: list[Shard] = []
        # By number: the shard, its worker's address, its future.
        self._submitted: list[tuple[Shard, str, Future[None]]] = []
        self._ends: list[RunEnd] = []
        # By address: the names of those that are there, those that were used, and why others may not be.
        self._present: dict[str, str] = {}
        self._workers: dict[str, dict[str, Any]] = {}
        self._unfit: dict[str, str] = {}
        self._lost: list[Loss] = []
        self._is_stopped = False

    async def run(self, address: str, security: Security | None) -> RunEnd:
        """Send everything; the signals of :func:`run_local` end it.

        Raises:
            UsageError, NobodyToSend: there is no worker that could send.
            ClusterError: the scheduler is gone, or a shard was lost too often.
        """
        async with connected(address, security) as self._client:
            self._client.subscribe_topic(self._topic, lambda event: self._news.put_nowait(event[1]))
            async with interruptible(self._stop, grace_s=_END_S) as interruption, asyncio.TaskGroup() as helpers:
                helping = [helpers.create_task(self._watch()), helpers.create_task(self._listen())]
                self._shards = shards_of(self._plan, self._processes or await self._first_workers())
                async with asyncio.TaskGroup() as sending:
                    for shard in self._shards:
                        sending.create_task(self._send(shard))
                for task in helping:
                    task.cancel()
        loops = [end.loop for end in self._ends if end.loop is not None]
        loads = [end.load for end in self._ends if end.load is not None]
        stated = {"--max-requests": self._plan.max_requests, "--max-cost": self._plan.max_cost_usd}
        reached = [end.limit.partition(" ")[0] for end in self._ends if end.limit is not None]
        return RunEnd(
            interruption.signal_number,
            {account: reason for end in self._ends for account, reason in end.stopped.items()},
            f"{reached[0]} {stated[reached[0]]:g} was reached" if reached else None,
            {account: places for end in self._ends for account, places in end.eased.items()},
            max(loops, key=lambda loop: loop.p99_ms or 0.0, default=None),
            {name: report for load in loads for name, report in load.items()} if loads else None,
            {name: reason for end in self._ends for name, reason in end.refused.items()},
        )

    def describe(self) -> Executor:
        """The workers, and what was lost, for the manifest."""
        return Executor(
            "workers" if self._processes else "dask",
            os.cpu_count() if self._processes else None,
            [worker for address, worker in self._workers.items() if address not in self._unfit],
            list(self._unfit.values()),
            self._lost,
        )

    async def _first_workers(self) -> int:
        """The number of workers of a cluster, once there are any."""
        with anyio.move_on_after(_WORKER_S):
            while not self._present and not self._is_stopped:
                await anyio.sleep(_LOOK_S)
            return max(1, len(self._present))
        raise NobodyToSend(f"no worker joined the scheduler within {_WORKER_S:.0f} s; start one, and try again")

    async def _send(self, shard: Shard) -> None:
        """Have a shard sent to its end, again where its worker was lost."""
        losses, is_over = 0, False
        while not is_over and (address := await self._free_worker()) is not None:
            kept, shard.address = shard.kept, address
            try:
                self._ends.append(msgspec.msgpack.decode(await self._submit(shard, address), type=RunEnd))
                is_over = True
            except UsageError as error:
                self._unfit[address] = f"worker {self._workers[address]['name']} at {address}: {error}"
            except _LostError as error:
                losses = 1 if shard.kept > kept else losses + 1
                self._lose(shard, address, str(error), losses)
                # Part of a timed load is not the load that was asked for.
                is_over = self._plan.load.is_timed
            shard.address = None

    async def _free_worker(self) -> str | None:
        """The address of a worker without a shard; None when the run was stopped."""
        gone_at = time.monotonic() + _WORKER_S
        while not self._is_stopped:
            fit = [address for address in self._present if address not in self._unfit]
            words = "; ".join(self._unfit.values())
            if words and not fit and not any(worker["records"] for worker in self._workers.values()):
                raise UsageError(words)
            if fit:
                gone_at = time.monotonic() + _WORKER_S
            if time.monotonic() > gone_at:
                raise ClusterError(f"no worker for {_WORKER_S:.0f} s; --incremental resumes{words and f' ({words})'}")
            busy = {shard.address for shard in self._shards}
            if free := [address for address in fit if address not in busy]:
                return free[0]
            await anyio.sleep(_LOOK_S)
        return None

    def _submit(self, shard: Shard, address: str) -> asyncio.Future[bytes]:
        """Submit a shard to that worker; the future is its end, an UsageError or a _LostError."""
        turns, accounts = self._plan.vendor_concurrency, {entry.account for entry in shard.entries}
        share, shard.before = shard.share, (shard.share.requests, shard.share.cost_usd)
        plan = structs.replace(
            self._plan,
            entries=tuple(map(without_secrets, shard.entries)),
            max_requests=None if share.max_requests is None else max(0, share.max_requests - share.requests),
            max_cost_usd=None if share.max_cost_usd is None else max(0.0, share.max_cost_usd - share.cost_usd),
            vendor_concurrency=None if turns is None else max(1, turns // len(self._shards)),
        )
        done = tuple(
            key
            for target, each in enumerate(self._queue.targets)
            if each.entry.account in accounts
            for key in self._queue.done_of(target, self._job.run)
        )
        job = replace(self._job, plan=plan, done=done)
        shard.number, shard.begun, shard.ended = len(self._submitted), False, asyncio.get_running_loop().create_future()
        self._workers.setdefault(address, {"name": self._present[address], "address": address, "records": 0})
        words = (job, versions_here(), self._open_job, self._topic, shard.number)
        future = self._client.submit(run_job, *words, workers=[address], pure=False, retries=0)
        self._submitted.append((shard, address, future))
        return shard.ended

    async def _watch(self) -> None:
        """Look which workers are there, and which shards failed or were lost with theirs."""
        scheduler: Any = self._client.scheduler
        while True:
            try:
                found = await scheduler.identity(n_workers=-1)
            except OSError:
                found = None
            if found is None or self._client.status != "running":
                raise ClusterError(
                    "the Dask scheduler went away; every record that came back is kept; --incremental resumes"
                )
            self._present = {address: str(each["name"]) for address, each in found["workers"].items()}
            for address in self._present:
                if urlsplit(address).scheme != "tls" and not is_loopback(urlsplit(address).hostname or ""):
                    self._unfit.setdefault(address, f"worker at {address}: it is not encrypted and not on this machine")
            for shard in self._shards:
                if shard.address is None or shard.ended is None or shard.ended.done():
                    continue
                future = self._submitted[shard.number][-1]
                if shard.address not in self._present:
                    shard.ended.set_exception(_LostError("its connection ended"))
                elif future.status == "error":
                    words = str(await future.exception())
                    shard.ended.set_exception(_LostError(words) if shard.begun else UsageError(words))
            await anyio.sleep(_LOOK_S)

    async def _listen(self) -> None:
        """Take the messages of the workers, in their order."""
        while True:
            number, kind, requests, cost_usd, content = await self._news.get()
            shard, address, _ = self._submitted[number]
            if kind == "records":
                records = [record for record in map(decode_record, content) if self._is_new(record)]
                self._workers[address]["records"] += len(records)
                shard.kept += len(records)
                self._emit(records)
            if number != shard.number or shard.address is None:
                continue
            shard.share.requests, shard.share.cost_usd = shard.before[0] + requests, shard.before[1] + cost_usd
            if kind == "begin":
                shard.begun = True
                self._workers[shard.address] |= content
            elif kind == "end" and shard.ended is not None and not shard.ended.done():
                shard.ended.set_result(content)

    def _is_new(self, record: Record) -> bool:
        # Under a timed load the queue does not know how often a sample is asked, and no shard is sent twice.
        return self._plan.load.is_timed or self._queue.cross_off(record.key)

    def _lose(self, shard: Shard, address: str, reason: str, losses: int) -> None:
        """Note a lost shard, and see to it that its worker sends nothing more."""
        worker, share = self._workers[address], shard.share
        self._lost.append(Loss(worker["name"], reason))
        self._submitted[shard.number][-1].release()
        if self._processes and "pid" in worker:
            with suppress(ProcessLookupError):
                os.kill(worker["pid"], signal.SIGKILL)
        # What it did not report is at most what it had in flight.
        mean_usd = share.cost_usd / max(1, share.requests)
        share.requests += shard.places
        share.cost_usd += shard.places * mean_usd
        if losses == _MOST_LOSSES:
            raise ClusterError(
                f"a shard was lost {_MOST_LOSSES} times in a row, last by worker {worker['name']} ({reason}); every "
                "record that came back is kept; --incremental resumes"
            )

    def _stop(self) -> None:
        """Take the shards away from the workers: these send nothing more, and finish what is in flight."""
        self._is_stopped = True
        for shard, _, future in self._submitted:
            future.release()
            if not shard.begun and shard.ended is not None:
                shard.ended.cancel()


def versions_here() -> dict[str, str]:
    """The versions that must be the same on every machine."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"agent-vendor-verifier": __version__, "python": python, "distributed": version("distributed")}


@contextmanager
def cluster_of(workers: int | str) -> Iterator[str]:
    """The address of a scheduler: of worker processes that are started here until the block ends, or the given one."""
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if isinstance(workers, str):
        yield workers
        return
    with dask.config.set(_LOCAL_SETTINGS):
        # Ctrl-C in a terminal reaches the workers, too, but is the coordinator's alone. They inherit what is blocked,
        # unless their tracker, which unblocks it, is started meanwhile.
        resource_tracker.ensure_running()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            # Without a dashboard the scheduler still opens its port, and would warn where another run has it.
            cluster = LocalCluster(
                n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False}, worker_dashboard_address=None, memory_limit=0,
                silence_logs=logging.CRITICAL,
            )  # fmt: skip
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        with cluster:
            # Not in the constructor, which fails when one of them is killed as it starts.
            cluster.scale(workers)
            yield cluster.scheduler_address


@asynccontextmanager
async def connected(address: str, security: Security | None) -> AsyncIterator[Client]:
    """A client of the scheduler at that address.

    Raises:
        UsageError: it cannot be used, or runs another version.
    """
    try:
        client = await Client(
            address, security=security, timeout=_CONNECT_S, set_as_default=False, asynchronous=True
        )  # fmt: skip
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UsageError(
            f"the Dask scheduler at {address} cannot be used ({reason}); check the address, tls:// or tcp://, and the "
            "certificates"
        ) from None
    try:
        found = (await client.get_versions())["scheduler"]
        own, python, theirs = versions_here(), str(found["host"]["python"]), found["packages"]["distributed"]
        if not python.startswith(f"{own['python']}.") or theirs != own["distributed"]:
            raise UsageError(
                f"the scheduler runs Python {python} and distributed {theirs}, this machine {own['python']} and "
                f"{own['distributed']}; install the same on every machine"
            )
        yield client
    finally:
        with anyio.CancelScope(shield=True):
            await client.close()


def run_job(job: Job, versions: Mapping[str, str], open_job: OpenJob, topic: str, number: int) -> None:
    """Send a shard from this worker. Every message carries the ``number`` under which the shard was submitted."""
    worker = get_worker()
    own = versions_here()
    if own != versions:
        raise UsageError(f"it runs {own} instead of {versions}; install the same on every machine")
    opened = open_job(job)
    spending = Spending(job.plan.max_requests, job.plan.max_cost_usd)
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
