"""Sends the work of a session through its executor; and a worker's side of it, with its own plugins, suites and keys.

A worker elsewhere takes nothing secret from the coordinator.
"""

from __future__ import annotations

import os
import platform
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import anyio
import msgspec
from msgspec import structs

from vendor_verifier import __version__
from vendor_verifier.config import read_environment
from vendor_verifier.config.env_file import Variables, expand, read_variables, references
from vendor_verifier.errors import ClusterError, StorageError, UsageError, VerifierError
from vendor_verifier.pipeline.plan import Prepared, run_wires, wire_of
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import Record
from vendor_verifier.records.tool_use import ToolRunner
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.run.cluster.job import Bench, Block, ClusterSide, Hello, Job, travelling
from vendor_verifier.run.conversation import Target
from vendor_verifier.run.engine import Emit
from vendor_verifier.run.executors import choose_executor
from vendor_verifier.run.local_run import RunEnd, Work
from vendor_verifier.run.work_queue import WorkItem, WorkQueue
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder, encode_record


class Sent(msgspec.Struct, frozen=True):
    """The end of sending and its executor, for the manifest."""

    end: RunEnd
    executor: Mapping[str, Any]


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
    emit: Emit,
    emit_duplicate: Callable[[Record], None],
    scrubber: Scrubber,
    costs: Mapping[tuple[str, str], CostOf],
    in_flight: Counter[tuple[str, str]] | None = None,
    tools: ToolRunner | None = None,
    on_notice: Callable[[str], None] = lambda _words: None,
) -> Sent:
    """Send the open items of ``queue``.

    ``in_flight`` is kept current by (model, label), where this process grants the permits. ``tools`` runs the real
    tools that models call.

    Raises:
        UsageError: the chosen executor cannot be used.
        StorageError: a record could not be kept.
        ClusterError: the cluster went away; its ``executor`` describes the session until then.
    """
    executor = choose_executor(plan.executor, CLUSTER_SIDE)
    work = Work(plan, queue, job, emit, emit_duplicate, scrubber, costs, has_uvloop(), in_flight, tools, on_notice)

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


def duplicates_of(folder: RunFolder) -> Callable[[Record], None]:
    """A function that stores records that came a second time: they were paid for, but are no results."""

    def keep(record: Record) -> None:
        _append(folder.duplicates_file, encode_record(record))

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


REGION = "VENDOR_VERIFIER_REGION"


class RemoteBench(msgspec.Struct, frozen=True):
    """A job as a worker prepared it."""

    job: Job
    plan: Plan
    targets: tuple[Target, ...]
    scrubber: Scrubber
    region: str | None

    def items(self, block: Block) -> Sequence[WorkItem]:
        """The work items of a block, ready to be sent."""
        names = dict.fromkeys(item.suite for item in block.items)
        suites = {name: ready_suite(name, self.job.suite_options.get(name, {}), block.samples) for name in names}
        return [
            WorkItem(
                self.targets[item.entry], suites[item.suite], block.samples[item.sample], item.repetition, item.total_s
            )
            for item in block.items
        ]


def open_bench(job: Job) -> Bench:
    """The job with this machine's plugins and keys.

    Raises:
        UsageError: a tokenizer is needed and cannot be loaded here.
    """
    environment = read_environment()
    variables = _variables(job, environment)
    secrets: set[str] = set()
    entries = tuple(_with_secrets(entry, variables, secrets) for entry in job.plan.entries)
    registry = find_vendors(job.vendor_paths)
    targets = _targets(job, entries, registry)
    return RemoteBench(
        job,
        structs.replace(job.plan, entries=entries),
        targets,
        Scrubber(secrets, job.plan.names),
        environment.get(REGION) or None,
    )


def open_here(job: Job, scrubber: Scrubber) -> Bench:
    """The job of a worker process on the coordinator's machine, which was given the keys with it."""
    registry = find_vendors(job.vendor_paths)
    return RemoteBench(job, job.plan, _targets(job, job.plan.entries, registry), scrubber, None)


def hello(job: Job, identity: str, name: str) -> Hello:
    """This machine's identity and versions, and what it lacks for the job."""
    environment = read_environment()
    variables = _variables(job, environment)
    wanted: dict[str, None] = {}
    for entry in job.plan.entries:
        wanted |= dict.fromkeys(_needed(entry))
    return Hello(
        identity=identity,
        name=name,
        host=socket.gethostname(),
        version=__version__,
        python=platform.python_version(),
        distributed=version("distributed"),
        region=environment.get(REGION) or None,
        wall_ns=time.time_ns(),
        missing=tuple(variable for variable in wanted if variables.get(variable) is None),
        problem=_problem(job),
    )


CLUSTER_SIDE = ClusterSide(open_bench, open_here, hello)


def _targets(job: Job, entries: Sequence[Entry], registry: Registry) -> tuple[Target, ...]:
    wires = run_wires(entries, job.tokenizer_model)
    vendors = [registry.vendor(entry.vendor) for entry in entries]
    return tuple(
        Target(entry, vendor, wire_of(entry, vendor, wires)) for entry, vendor in zip(entries, vendors, strict=True)
    )


def _variables(job: Job, environment: Mapping[str, str]) -> Variables:
    """The environment over the env file, where this machine has the one that the coordinator read."""
    env_file = job.env_file if job.env_file is not None and job.env_file.is_file() else None
    return read_variables(job.config_file, env_file, environment)


def _needed(entry: Entry) -> list[str]:
    own = [entry.key_name] if entry.key_name is not None and not entry.key_command else []
    return own + [name for text in entry.header_templates.values() for name in references(text)]


def _with_secrets(entry: Entry, variables: Variables, secrets: set[str]) -> Entry:
    values = {name: value for name in _needed(entry) if (value := variables.get(name)) is not None}
    headers = {name: expand(text, values) for name, text in entry.header_templates.items()}
    secrets.update(values.values(), headers.values())
    key = values.get(entry.key_name) if entry.key_name is not None and not entry.key_command else None
    endpoint = replace(entry.endpoint, key=key, headers={**entry.endpoint.headers, **headers})
    return structs.replace(entry, endpoint=endpoint)


def _problem(job: Job) -> str | None:
    """The reason why this machine cannot do the job although its versions match; None where it can."""
    absent = [str(folder) for folder in job.vendor_paths if not Path(folder).is_dir()]
    if absent:
        return f"the plugin folder {absent[0]} is not on this machine; copy it to the same place"
    try:
        run_wires(job.plan.entries, job.tokenizer_model)
    except (UsageError, VerifierError) as error:
        return str(error)
    return None
