"""The main job, scoring and comparing as functions for Python callers; they print nothing and do not exit."""

from __future__ import annotations

import asyncio
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vendor_verifier.config.document import read_environment
from vendor_verifier.config.run_config import run_options
from vendor_verifier.errors import UsageError
from vendor_verifier.features.history.compare import RunComparison, compare_scored
from vendor_verifier.features.history.database import read_history, remember
from vendor_verifier.pipeline.plan import prepare
from vendor_verifier.pipeline.run import OnRecord, RunOutcome, run
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.records.results import Report
from vendor_verifier.run.event_loop import STOP_REQUEST, StopRequest
from vendor_verifier.store import RunFolder
from vendor_verifier.suites.tool_correctness import CaseResult, EvalTestCase, ToolCorrectnessMetric
from vendor_verifier.suites.tool_correctness import evaluate as evaluate_cases

if TYPE_CHECKING:
    from distributed import Client
    from pandas import DataFrame

Folder = str | PathLike[str]
Outcome = TypeVar("Outcome")


def verify(
    config: Folder = "config.yaml",
    *,
    samples: Folder | None = None,
    models: Sequence[str] = (),
    vendors: Sequence[str] = (),
    suites: Sequence[str] = (),
    output_dir: Folder | None = None,
    history: Folder | None = None,
    environ: Mapping[str, str] | None = None,
    on_record: OnRecord = lambda _record: None,
    dask_client: Client | None = None,
    **settings: Any,
) -> RunOutcome:
    """Send every sample to every vendor of ``config``, score the answers, write the run folder.

    Arguments are named like the flags of ``run``; ``settings`` are further fields of
    :class:`vendor_verifier.config.run_config.RunOptions`, such as ``limit``. What is None is left to the file, and
    then to the default.
    Without ``history``, here or in the file, it is added to none; one that cannot take it is a UserWarning. ``environ``
    replaces the process environment as the source of keys. With ``dask_client`` that Dask cluster sends. A vendor that
    fails is in the report, not raised.

    Raises:
        ConfigError, DataError: the configuration or the samples, all problems at once.
        StorageError: the disk refused a write; every record written before stays.
    """
    options = run_options(
        config_file_path=Path(config),
        test_file_path=None if samples is None else os.fspath(samples),
        model=tuple(models),
        vendor=tuple(vendors),
        suite=tuple(suites),
        output_dir=None if output_dir is None else Path(output_dir),
        **settings,
    )
    if dask_client is not None:
        if dask_client.scheduler is None:
            raise UsageError("dask_client is closed, or does not know its scheduler yet; give one that is connected")
        options = options.model_copy(update={"workers": str(dask_client.scheduler.address)})

    prepared = prepare(options, read_environment() if environ is None else environ)

    def finish() -> RunOutcome:
        return run(prepared, on_record=on_record, security=None if dask_client is None else dask_client.security)

    outcome = _elsewhere(finish) if STOP_REQUEST.get() is None and _is_taken() else finish()
    kept_in = prepared.options.history if history is None else Path(history)
    unkept = None if kept_in is None else remember(outcome.folder, outcome.scored, kept_in)
    if unkept is not None:
        warnings.warn(unkept, stacklevel=2)
    return outcome


async def averify(config: Folder = "config.yaml", **settings: Any) -> RunOutcome:
    """:func:`verify` for a program with its own event loop: it runs in a thread and does not block the loop.

    Cancelling it asks for no new requests, waits for those in flight, writes the run folder, and raises then.
    """
    stop = StopRequest()
    with ThreadPoolExecutor(1) as pool:
        running = asyncio.wrap_future(_submitted(pool, partial(verify, config, **settings), stop))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stop.ask()
            await asyncio.wait([running])
            raise


def score_run(run: Folder) -> Report:
    """Score a stored run by its manifest; nothing is sent or written.

    Raises:
        RunFolderError: not a readable run folder.
    """
    return score_folder(RunFolder(Path(run))).report


def compare_runs(before: Folder, after: Folder) -> RunComparison:
    """``after`` against ``before`` over the samples and vendors they share; nothing is sent or written.

    Raises:
        RunFolderError: one of them is not a readable run folder.
    """
    return compare_scored(*(score_folder(RunFolder(Path(run))) for run in (before, after)))


def load_history(history: Folder | None = None) -> DataFrame:
    """The history of runs as a DataFrame: a row per vendor, model and run, oldest first (docs/data.md).

    ``history`` None is the one in the user's data folder, which is empty before the first run.

    Raises:
        UsageError: the stated file is not there, or cannot be read as a history.
    """
    return read_history(None if history is None else Path(history)).rename(columns=lambda name: name.replace(".", "_"))


async def evaluate(
    cases: Iterable[EvalTestCase | Mapping[str, Any]],
    metrics: Sequence[ToolCorrectnessMetric] = (ToolCorrectnessMetric(),),
    *,
    index: Sequence[Any] | None = None,
) -> list[CaseResult]:
    """Score cases by Tool Correctness: see :func:`vendor_verifier.suites.tool_correctness.evaluate`. Sends nothing."""
    return evaluate_cases(cases, metrics, index=index)


def _is_taken() -> bool:
    """Whether this thread cannot run a loop of its own and handle signals: in a notebook, or off the main thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return threading.current_thread() is not threading.main_thread()
    return True


def _elsewhere(finish: Callable[[], Outcome]) -> Outcome:
    """The outcome of ``finish`` in a thread of its own; Ctrl-C here ends it in order, a second one at once."""
    stop = StopRequest()
    with ThreadPoolExecutor(1) as pool:
        future = _submitted(pool, finish, stop)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                stop.ask()


def _submitted(pool: ThreadPoolExecutor, finish: Callable[[], Outcome], stop: StopRequest) -> Future[Outcome]:
    context = copy_context()
    context.run(STOP_REQUEST.set, stop)
    return pool.submit(context.run, finish)
