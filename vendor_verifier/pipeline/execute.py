"""Sends the work of a session through the chosen executor and stores the records."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import anyio

from vendor_verifier.errors import ClusterError, StorageError, UsageError, VerifierError
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.worker_setup import CLUSTER_SIDE
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.run.cluster.job import Job, travelling
from vendor_verifier.run.cluster.workers import is_loopback, scheduler_address
from vendor_verifier.run.executors import check_choice, choose_executor
from vendor_verifier.run.local_run import RunEnd, Work
from vendor_verifier.run.work_queue import WorkQueue
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder, encode_record
from vendor_verifier.values.plan import Plan
from vendor_verifier.values.record import Record


@dataclass(frozen=True, slots=True)
class Sent:
    """The end of sending and its executor, for the manifest."""

    end: RunEnd
    executor: Mapping[str, Any]


def check_executor(plan: Plan) -> None:
    """Refuse a plan that its executor cannot run, before a run folder is made.

    Raises:
        UsageError: contradictory flags, a cluster without encryption, or simulated vendors that workers cannot reach.
    """
    choice = plan.executor
    check_choice(choice)
    is_far = choice.scheduler is not None and not is_loopback(scheduler_address(choice.scheduler))
    if is_far and any(entry.is_simulated for entry in plan.entries):
        raise UsageError(
            "sim:// vendors are served on this machine and workers elsewhere cannot reach them; "
            "use --dask-local, or serve them there and give their url"
        )


def job_of(run: str, plan: Plan, prepared: Prepared) -> Job:
    """The job that is handed to workers."""
    options = prepared.options
    return Job(
        run=run,
        execution=f"{run}-{secrets.token_hex(4)}",
        plan=travelling(plan),
        suite_options={task.suite: task.options for task in prepared.plan.tasks},
        config_file=options.config_file_path.absolute(),
        env_file=options.env_file.absolute() if options.env_file is not None else None,
        vendor_paths=tuple(path.absolute() for path in options.vendor_path),
        tokenizer_model=options.tokenizer_model,
    )


def send(
    job: Job,
    plan: Plan,
    queue: WorkQueue,
    *,
    emit: Callable[[Sequence[Record]], None],
    emit_duplicate: Callable[[Record], None],
    scrubber: Scrubber,
    costs: Mapping[tuple[str, str], CostOf],
    in_flight: Counter[tuple[str, str]] | None = None,
) -> Sent:
    """Send the open items of ``queue``.

    ``in_flight`` is kept current by (model, label), where this process grants the permits.

    Raises:
        UsageError: the chosen executor cannot be used.
        StorageError: a record could not be kept.
        ClusterError: the cluster went away; its ``executor`` describes the session until then.
    """
    executor = choose_executor(plan.executor, CLUSTER_SIDE, plan)
    work = Work(plan, queue, job, emit, emit_duplicate, scrubber, costs, has_uvloop(), in_flight)

    async def whole() -> RunEnd:
        try:
            await executor.open(work)
            return await executor.run(work)
        finally:
            with anyio.CancelScope(shield=True):
                await executor.close()

    try:
        with _only_error():
            end = anyio.run(whole, backend_options={"use_uvloop": has_uvloop()})
    except ClusterError as error:
        error.executor = {**executor.describe(), "error": str(error)}
        raise
    return Sent(end, executor.describe())


@contextmanager
def _only_error() -> Iterator[None]:
    """Raise the first error of a task group instead of the group, for the user's message."""
    try:
        yield
    except BaseExceptionGroup as group:
        _raise_first(group)


def _raise_first(group: BaseExceptionGroup[BaseException]) -> NoReturn:
    known = group.subgroup(VerifierError)
    first: BaseException = known or group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    raise first


def duplicates_of(folder: RunFolder, scrubber: Scrubber) -> Callable[[Record], None]:
    """A function that stores records that came a second time: they were paid for, but are no results."""

    def keep(record: Record) -> None:
        _append(folder.duplicates_file, scrubber.bytes(encode_record(record)))

    return keep


def _append(path: Path, line: bytes) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK, FILE_MODE), "ab") as out:
            out.write(line)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error}") from error


def has_uvloop() -> bool:
    """Whether uvloop, the extra ``fast``, is installed."""
    return find_spec("uvloop") is not None
