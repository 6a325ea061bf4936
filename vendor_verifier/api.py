"""The main job, scoring and comparing as three functions for Python callers; they print nothing and do not exit."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from vendor_verifier.config import read_environment
from vendor_verifier.errors import UsageError
from vendor_verifier.features.history.database import remember
from vendor_verifier.features.history.run_diff import compare_folders
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.pipeline.plan import prepare
from vendor_verifier.pipeline.run import OnRecord, RunOutcome, run
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.store import RunFolder
from vendor_verifier.values.history import RunComparison
from vendor_verifier.values.score import Report

Folder = str | PathLike[str]


def verify(
    config: Folder = "config.yaml",
    *,
    samples: Folder | None = None,
    models: Sequence[str] = (),
    vendors: Sequence[str] = (),
    suites: Sequence[str] = (),
    limit: int | None = None,
    head: bool = False,
    repeat: int = 1,
    seed: int | None = None,
    output_dir: Folder | None = None,
    history: Folder | None = None,
    environ: Mapping[str, str] | None = None,
    on_record: OnRecord = lambda _record: None,
    **settings: Any,
) -> RunOutcome:
    """Ask every vendor of ``config`` every sample, score the answers, write the run folder.

    ``samples`` None takes the shipped ones; of these ``limit`` takes a choice that keeps classes and categories, with
    ``head`` the first so many. ``output_dir`` None makes ``runs/<timestamp>``; ``history`` None adds the
    run to no history, and one that cannot take it is a UserWarning. ``environ`` replaces the process environment as the
    source of keys. ``settings`` are further fields of :class:`vendor_verifier.pipeline.options.RunOptions`, named
    like the flags of ``run``; unlike these, our own error is not measured and a baseline is asked once unless they say
    so. A vendor that fails is in the report, not raised.

    Raises:
        ConfigError, DataError: the configuration or the samples, all problems at once.
        UsageError: called inside a running event loop (a notebook) or beside the main thread, where signals cannot be
            handled.
        StorageError: the disk refused a write; every record written before stays.
    """
    if _inside_a_loop():
        raise UsageError("verify() needs a thread without an event loop; in a notebook run `!agent-vendor-verifier`")
    options = RunOptions(
        config_file_path=Path(config),
        test_file_path=None if samples is None else Path(samples),
        model=tuple(models),
        vendor=tuple(vendors),
        suite=tuple(suites),
        limit=limit,
        head=head,
        repeat=repeat,
        seed=seed,
        output_dir=None if output_dir is None else Path(output_dir),
        **{"no_calibration": True, "baseline_repeats": 1, **settings},
    )
    outcome = run(prepare(options, read_environment() if environ is None else environ), on_record=on_record)
    unkept = remember(outcome.folder, outcome.report, None if history is None else Path(history))
    if unkept is not None:
        warnings.warn(unkept, stacklevel=2)
    return outcome


def score_run(run: Folder) -> Report:
    """Score a stored run as its manifest says; nothing is sent or written.

    Raises:
        RunFolderError: not a readable run folder.
    """
    return score_folder(RunFolder(Path(run)))


def compare_runs(before: Folder, after: Folder) -> RunComparison:
    """``after`` against ``before`` over the samples and vendors they share; nothing is sent or written.

    Raises:
        RunFolderError: one of them is no readable run folder.
    """
    return compare_folders(RunFolder(Path(before)), RunFolder(Path(after)))


def _inside_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
