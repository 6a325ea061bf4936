"""Sends the work of a session: from this process, or by workers, which open a job with their own plugins and keys.

The simulated vendors of a run serve in a process of their own, so that serving does not disturb what is being timed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from msgspec import structs

from vendor_verifier.config.document import read_environment, read_variables
from vendor_verifier.config.secret_text import expand, references
from vendor_verifier.errors import ClusterError, UsageError
from vendor_verifier.pipeline.plan import Prepared, run_wires, wire_of
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.manifest import Executor
from vendor_verifier.records.plan import SIMULATED, Entry, Plan
from vendor_verifier.records.request import ToolRunner
from vendor_verifier.records.sample import Samples
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.run.conversation import Emit
from vendor_verifier.run.event_loop import run_to_end
from vendor_verifier.run.local import RunEnd, run_local
from vendor_verifier.run.queue import Job, Opened, Part, Target, WorkQueue
from vendor_verifier.transport.client import require_network
from vendor_verifier.wire.base import Wire

if TYPE_CHECKING:
    from distributed import Security

# The variable in which a worker names its region.
REGION = "VENDOR_VERIFIER_REGION"


def send(
    run: str,
    plan: Plan,
    queue: WorkQueue,
    prepared: Prepared,
    *,
    emit: Emit,
    tools: ToolRunner | None = None,
    security: Security | None = None,
) -> tuple[RunEnd, Executor]:
    """Send the open items of ``queue``; how it ended and who sent.

    ``tools`` runs the real tools that models call. ``security`` are certificates for the workers.

    Raises:
        UsageError: the workers, or the proxies or certificates of this process, cannot be used.
        StorageError: a record could not be kept.
        ClusterError: the workers went away; its ``executor`` describes the session until then.
    """
    if plan.workers == 1:
        require_network([entry.endpoint.base_url for entry in plan.entries])
        here = partial(run_local, plan, queue, run, emit, prepared.scrubber, tools)
        return run_to_end(here), Executor("local")
    from vendor_verifier.run.dask import DaskRun, cluster_of

    job = job_of(run, plan, prepared)
    dask_run = DaskRun(job, queue, open_job, emit)
    with cluster_of(plan.workers) as address:
        try:
            return run_to_end(partial(dask_run.run, address, security)), dask_run.describe()
        except ClusterError as error:
            error.executor = structs.replace(dask_run.describe(), error=str(error))
            raise


def queue_of(plan: Plan, registry: Registry, wires: Mapping[str, Wire]) -> WorkQueue:
    """Everything that the plan asks."""
    vendors = [registry.vendor(entry.vendor) for entry in plan.entries]
    return WorkQueue(
        [
            Target(entry, vendor, wire_of(entry, vendor, wires))
            for entry, vendor in zip(plan.entries, vendors, strict=True)
        ],
        [
            Part(ready_suite(task.suite, task.options, task.samples), Samples(task.samples), task.timeout_s)
            for task in plan.tasks
        ],
        [plan.repeat_of(entry) for entry in plan.entries],
    )


def job_of(run: str, plan: Plan, prepared: Prepared) -> Job:
    """The whole run as workers get it: samples, and the places of the files that the coordinator read."""
    options = prepared.options
    tasks = tuple(structs.replace(task, samples=tuple(task.samples)) for task in plan.tasks)
    return Job(
        run=run,
        plan=structs.replace(plan, tasks=tasks),
        config_file=options.config_file_path.absolute(),
        env_file=options.env_file.absolute() if options.env_file is not None else None,
        vendor_paths=tuple(path.absolute() for path in options.vendor_path),
        tokenizer_model=options.tokenizer_model,
    )


def open_job(job: Job) -> Opened:
    """The job with this machine's plugins and keys.

    Raises:
        UsageError: a variable, a plugin folder or a tokenizer is missing; a proxy or certificate file cannot be used.
    """
    environment = read_environment()
    # The env file is read where this machine has the one that the coordinator read.
    env_file = job.env_file if job.env_file is not None and job.env_file.is_file() else None
    variables = read_variables(job.config_file, env_file, environment)
    names = dict.fromkeys(name for entry in job.plan.entries for name in variables_of(entry))
    if missing := [name for name in names if variables.values.get(name) is None]:
        raise UsageError(f"it has no value for {', '.join(missing)}; set it in that worker's environment")
    for folder in job.vendor_paths:
        if not Path(folder).is_dir():
            raise UsageError(f"the plugin folder {folder} is not there; copy it to the same place")
    require_network([entry.endpoint.base_url for entry in job.plan.entries])
    values = {name: variables.values.get(name) or "" for name in names}
    plan = structs.replace(job.plan, entries=tuple(_with_secrets(entry, values) for entry in job.plan.entries))
    filled = {entry.endpoint.headers[name] for entry in plan.entries for name in entry.header_templates}
    queue = queue_of(plan, find_vendors(job.vendor_paths), run_wires(plan.entries, job.tokenizer_model))
    for key in job.done:
        queue.cross_off(key)
    return Opened(plan, queue, Scrubber({*values.values(), *filled}, plan.names), environment.get(REGION) or None)


def variables_of(entry: Entry) -> list[str]:
    """The names of the variables that hold the entry's key and the secrets in its headers."""
    own = [entry.key_name] if entry.key_name is not None else []
    return own + [name for text in entry.header_templates.values() for name in references(text)]


def _with_secrets(entry: Entry, values: Mapping[str, str]) -> Entry:
    headers = {name: expand(text, dict(values)) for name, text in entry.header_templates.items()}
    key = values.get(entry.key_name) if entry.key_name is not None else None
    endpoint = replace(entry.endpoint, key=key, headers={**entry.endpoint.headers, **headers})
    return structs.replace(entry, endpoint=endpoint)


@contextmanager
def with_simulated_vendors(plan: Plan) -> Iterator[Plan]:
    """The plan with every ``sim://persona`` address replaced by a real loopback one; none started if none is needed."""
    if not any(entry.is_simulated for entry in plan.entries):
        yield plan
        return
    # A feature, which the pipeline must not import.
    with resolve_name("vendor_verifier.features.simulate.server:served")(plan) as base:
        yield structs.replace(plan, entries=tuple(_resolved(entry, base) for entry in plan.entries))


def _resolved(entry: Entry, base: str) -> Entry:
    if not entry.is_simulated:
        return entry
    persona = entry.endpoint.base_url.removeprefix(SIMULATED).strip("/")
    return structs.replace(entry, endpoint=replace(entry.endpoint, base_url=f"{base}/{persona}/v1"))
