"""The rows of ``bfcl``: finds what its options or a job file name, and says what was not run and why; it sends nothing.

A task is what the published job calls one: categories, data, and a page of results of its own. Without a job file there
is one task, named after the suite. A row that several tasks ask for is asked once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vendor_verifier import bfcl_source
from vendor_verifier.bfcl_functions import find_functions
from vendor_verifier.bfcl_source import Loaded
from vendor_verifier.config.suite_options import TaskOptions, known_suite, read_options
from vendor_verifier.errors import ConfigError, DataError, Problem, UsageError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.loaders.bfcl_custom import read_custom
from vendor_verifier.loaders.strata import classes_of
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.sample_files import open_lines
from vendor_verifier.suites import BFCL as SUITE
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, expand
from vendor_verifier.suites.bfcl.job import Job, read_job
from vendor_verifier.suites.bfcl.options import BfclOptions
from vendor_verifier.values.sample import Sample

TASKS_TAG = "bfcl_tasks"


@dataclass(frozen=True, slots=True)
class _Part:
    """One task: where its rows are, and how many of them are asked for."""

    task: str
    categories: tuple[str, ...]
    where: str
    limit: int | None = None


def bfcl_dataset(own: Mapping[str, Any], chosen: TaskOptions, request: RunRequest, keys: Iterable[str] = ()) -> Dataset:
    """All rows that can run. ``keys`` are the names of those there are for rest rows.

    Raises:
        UsageError: nothing can run; the message says what each category needs.
        ConfigError: the job file.
        DataError: unusable rows.
    """
    options: BfclOptions = read_options(known_suite(SUITE), own)
    loaded: list[tuple[_Part, Loaded]] = [
        (part, _load(part, options, frozenset(keys), request.skip_bad_samples))
        for part in _parts(options, chosen, request)
    ]
    samples = _merged((part.task, found.samples.samples) for part, found in loaded)
    not_run = {part.task: found.not_run for part, found in loaded if found.not_run}
    if not samples:
        raise UsageError("; ".join(["bfcl: nothing can run", *not_run_lines(not_run)]))
    return Dataset(
        name=", ".join(dict.fromkeys(str(sample.tags["bfcl_data"]) for sample in samples)),
        sha256=hashlib.sha256("\n".join(sample.id for sample in samples).encode()).hexdigest(),
        samples=samples,
        skipped=tuple(str(problem) for _, found in loaded for problem in found.samples.skipped),
        defects=tuple(dict.fromkeys(defect for _, found in loaded for defect in found.samples.defects)),
        not_run=not_run,
        classes=classes_of(samples),
    )


def read_job_file(path: Path) -> Job:
    """The job of a file.

    Raises:
        ConfigError: it cannot be read, or what it asks for cannot be meant.
    """
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([Problem(f"cannot be read: {reason}", path)]) from None
    if not isinstance(fields, dict):
        raise ConfigError([Problem("expected a JSON object", path)])
    try:
        return read_job(fields)
    except ConfigError as error:
        raise ConfigError([replace(problem, file=path) for problem in error.problems]) from None


def not_run_lines(not_run: Mapping[str, Mapping[str, str]]) -> list[str]:
    """``bfcl: a, b: not run: needs …``, one line a reason, whatever task asked."""
    by_reason: dict[str, dict[str, None]] = {}
    for reasons in not_run.values():
        for category, reason in reasons.items():
            by_reason.setdefault(reason, {})[category] = None
    return [f"{SUITE}: {', '.join(categories)}: {reason}" for reason, categories in by_reason.items()]


def _parts(options: BfclOptions, chosen: TaskOptions, request: RunRequest) -> list[_Part]:
    categories = expand([options.category])
    if options.job is not None:
        job = read_job_file(Path(options.job))
        return [_Part(task.name, task.categories, task.files or options.data, job.limit_samples) for task in job.tasks]
    where = options.data
    if chosen.test_file_path is not None:
        where = chosen.test_file_path
    elif request.test_file is not None and set(request.suites) == {SUITE}:
        where = str(request.test_file)
    return [_Part(SUITE, categories, where)]


def _load(part: _Part, options: BfclOptions, keys: frozenset[str], skip_bad: bool) -> Loaded:
    where = bfcl_source.local_folder(part.where)
    files = bfcl_source.custom_files(where)
    if files:
        category = part.categories[0] if len(part.categories) == 1 and options.job is not None else None
        return Loaded(_custom(files, part, options, category, skip_bad), {})
    return bfcl_source.load_categories(
        bfcl_source.find_data(where),
        part.categories,
        services=any(name in MULTI_TURN for name in part.categories) and bfcl_source.has_services(where),
        functions=find_functions(where) if any(name in EXECUTABLE for name in part.categories) else None,
        keys=keys,
        limit=part.limit,
        limit_per_category=options.limit_per_category,
        skip_bad=skip_bad,
    )


def _custom(
    files: list[Path], part: _Part, options: BfclOptions, category: str | None, skip_bad: bool
) -> LoadedSamples:
    tools = None if options.tools is None else _tools(Path(options.tools))
    parts = [
        read_custom(
            open_lines(file),
            dataset=file.name,
            file=file,
            category=category,
            tools=tools,
            infer_tools=options.infer_tools,
            limit=options.limit_per_category,
            skip_bad=skip_bad,
        )
        for file in files
    ]
    return LoadedSamples(
        tuple(sample for found in parts for sample in found.samples)[: part.limit],
        tuple(problem for found in parts for problem in found.skipped),
        tuple(defect for found in parts for defect in found.defects),
    )


def _tools(file: Path) -> list[Mapping[str, Any]]:
    try:
        tools = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise DataError([Problem(f"cannot be read as tools: {reason}", file)]) from None
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise DataError([Problem("expected a JSON array of chat-completions tools", file)])
    return tools


def _merged(parts: Iterable[tuple[str, tuple[Sample, ...]]]) -> tuple[Sample, ...]:
    """Every row once, with the tasks that want it."""
    found: dict[str, Sample] = {}
    wanted: dict[str, list[str]] = {}
    for task, samples in parts:
        for sample in samples:
            found.setdefault(sample.id, sample)
            wanted.setdefault(sample.id, []).append(task)
    return tuple(
        replace(sample, tags={**sample.tags, TASKS_TAG: list(dict.fromkeys(wanted[sample.id]))})
        for sample in found.values()
    )
