"""The job file of ``bfcl``, and the rows that it or the options name, with the reasons for those that are not run.

A task of a job has categories, data and a page of results of its own. Without a job file there is one task, named after
the suite. A row that several tasks ask for is asked once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from vendor_verifier.config.suite_options import TaskOptions, known_suite, read_options
from vendor_verifier.config.yaml_tree import SourceError, line_of, parse
from vendor_verifier.errors import BFCL_DATA, ConfigError, Problem, ProblemsError, UsageError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.loaders.selection import classes_of
from vendor_verifier.pipeline.bfcl.data import SHIPPED, Loaded, custom_files, find_data, find_services, load_categories
from vendor_verifier.pipeline.data_places import folder_at
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.sample_store import open_lines
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, expand
from vendor_verifier.suites.bfcl.custom_rows import read_custom
from vendor_verifier.suites.bfcl.job import Job, JobTask, read_job
from vendor_verifier.suites.bfcl.results import Version, ceiling
from vendor_verifier.suites.bfcl.suite import BfclOptions
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.payload import parse_json

SUITE = "bfcl"
TASKS_TAG = "bfcl_tasks"


def read_job_file(path: Path) -> Job:
    """The job of a file.

    Raises:
        ConfigError: it cannot be read, or what it asks for cannot be meant; with the lines.
    """
    try:
        text = path.read_text(encoding="utf-8")
        fields = parse_json(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([Problem(f"cannot be read: {reason}", path)]) from None
    if not isinstance(fields, dict):
        raise ConfigError([Problem("expected a JSON object", path)])
    try:
        return read_job(fields)
    except ConfigError as error:
        try:
            root = parse(text)[0]
        except SourceError:  # JSON that is no YAML
            root = None
        lines = [line_of(root, tuple((problem.key or "").split("."))) if root else None for problem in error.problems]
        placed = [replace(each, file=path, line=line) for each, line in zip(error.problems, lines, strict=True)]
        raise ConfigError(placed) from None


def bfcl_dataset(
    own: Mapping[str, Any],
    chosen: TaskOptions,
    keys: Iterable[str] = (),
    *,
    job: Job | None = None,
    typed: Collection[str] = (),
    skip_bad: bool = False,
) -> Dataset:
    """All rows that can run. ``keys`` are the names of the keys set for rest rows.

    Options ``typed`` on the command line replace those of the config that name other rows.

    Raises:
        UsageError: nothing can run; the message says what each category needs.
        ProblemsError: options that contradict each other, or the data.
        DataError: unusable rows.
    """
    if "test_file_path" in typed:
        own = {key: value for key, value in own.items() if key != "data" or key in typed}
    elif "job" in typed or "data" in typed:
        chosen = replace(chosen, test_file_path=None)
        own = {key: value for key, value in own.items() if key != "category" or key in typed or "job" not in typed}
    options: BfclOptions = read_options(known_suite(SUITE), own)
    _refuse_contradictions(own, chosen, job)
    tasks = job.tasks if job else (JobTask(SUITE, expand([options.category]), chosen.test_file_path),)
    limit = job.params.get("limit_samples") if job else None
    found: dict[str, Loaded] = {}
    downloads = []
    for task in tasks:
        where = task.files or options.data
        place = folder_at(where)
        downloads += [place] if place else []
        task = replace(task, files=str(place.path) if place else where, limit_samples=task.limit_samples or limit)
        label = place.address if place else None
        found[task.name] = _load(task, options, frozenset(keys), label, skip_bad)
    samples = _merged({name: loaded.samples.samples for name, loaded in found.items()})
    not_run = {name: dict(loaded.not_run) for name, loaded in found.items() if loaded.not_run}
    reasons = _not_run_lines(not_run)
    if not samples:
        raise UsageError("; ".join(["bfcl: nothing can run", *reasons]))
    notices = [notice for place in downloads for notice in place.notices]
    return Dataset(
        name=", ".join(dict.fromkeys(str(sample.tags["bfcl_data"]) for sample in samples)),
        sha256=hashlib.sha256("\n".join(sample.id for sample in samples).encode()).hexdigest(),
        samples=samples,
        skipped=tuple(str(problem) for loaded in found.values() for problem in loaded.samples.skipped),
        defects=tuple(dict.fromkeys(defect for loaded in found.values() for defect in loaded.samples.defects)),
        not_run=not_run,
        warnings=tuple(dict.fromkeys([*reasons, *notices])),
        classes=classes_of(samples),
        job=dict(job.identity) if job else {},
        source=", ".join(dict.fromkeys(place.address for place in downloads if place.address)) or None,
    )


def _refuse_contradictions(own: Mapping[str, Any], chosen: TaskOptions, job: Job | None) -> None:
    words = {}
    if job is not None:
        if "category" in own:
            words["category"] = "the tasks of the job state the categories; leave it out"
        if chosen.test_file_path is not None:
            words["test_file_path"] = "the tasks of the job state the files (dataset.files_url); leave it out"
        if "data" in own and all(task.files is not None for task in job.tasks):
            words["data"] = "every task of the job states its own files; leave it out"
    elif chosen.test_file_path is not None and "data" in own:
        words["test_file_path"] = f"read {chosen.test_file_path!r}, and data {own['data']!r}; keep one of them"
    if words:
        raise ProblemsError([Problem(text, key=f"suites.{SUITE}.{key}") for key, text in words.items()])


def _load(task: JobTask, options: BfclOptions, keys: frozenset[str], label: str | None, skip_bad: bool) -> Loaded:
    """The rows of a task, whose files lie on this disk."""
    where = task.files or options.data
    files = custom_files(where)
    if not files:
        return load_categories(
            find_data(where, label),
            task.categories,
            services=any(name in MULTI_TURN for name in task.categories) and find_services(where) is not None,
            keys=keys,
            limit=task.limit_samples,
            limit_per_category=options.limit_per_category,
            skip_bad=skip_bad,
        )
    category = task.categories[0] if len(task.categories) == 1 else None
    parts = [
        read_custom(open_lines(file), file=file, category=category, limit=options.limit_per_category, skip_bad=skip_bad)
        for file in files
    ]
    samples = [sample for part in parts for sample in part.samples][: task.limit_samples]
    return Loaded(LoadedSamples(tuple(samples), tuple(problem for part in parts for problem in part.skipped)), {})


def _merged(tasks: Mapping[str, Sequence[Sample]]) -> tuple[Sample, ...]:
    """Every row once, with the tasks that want it."""
    found: dict[str, Sample] = {}
    wanted: dict[str, list[str]] = {}
    for name, samples in tasks.items():
        for sample in samples:
            found.setdefault(sample.id, sample)
            wanted.setdefault(sample.id, []).append(name)
    return tuple(
        structs.replace(sample, tags={**sample.tags, TASKS_TAG: list(dict.fromkeys(wanted[sample.id]))})
        for sample in found.values()
    )


def _not_run_lines(not_run: Mapping[str, Mapping[str, str]]) -> list[str]:
    """``bfcl: a, b: not run: needs …``, one line a reason, whatever task asked."""
    by_reason: dict[str, dict[str, None]] = {}
    for reasons in not_run.values():
        for category, reason in reasons.items():
            by_reason.setdefault(reason, {})[category] = None
    return [f"{SUITE}: {', '.join(categories)}: {reason}" for reason, categories in by_reason.items()]


def by_task(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """The samples of each task."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        for task in sample.tags.get(TASKS_TAG) or [SUITE]:
            found.setdefault(task, []).append(sample)
    return found


def highest(samples: Iterable[Sample], version: Version) -> float | None:
    """The highest ``Overall Acc`` (per cent) of a run with these rows; None for custom rows, which have none."""
    rows = Counter(str(sample.tags["category"]) for sample in samples if not sample.tags.get("bfcl_custom"))
    return round(ceiling(rows, version) * 100, 2) if rows else None


def notes(samples: Sequence[Sample]) -> list[str]:
    """What one must know of figures that are made of these rows."""
    found = []
    if any(sample.tags.get("bfcl_data") == SHIPPED for sample in samples):
        found.append(
            "these are rows of this project, not the leaderboard's; for the official rows give --bfcl-data installed "
            f"({BFCL_DATA}), hf://datasets/OWNER/NAME, or a folder with BFCL_v3_*.json or BFCL_v4_*.json"
        )
    if any(sample.tags.get("category") in EXECUTABLE for sample in samples):
        found.append(
            "exec_* rows are compared with the calls that they state; another call with an equal effect counts as wrong"
        )
    if inferred := sum(bool(sample.tags.get("bfcl_inferred")) for sample in samples):
        found.append(
            f"{inferred} of {len(samples)} rows have no tools; theirs are made of the expected calls, which tells the "
            "model more than tools written for people would"
        )
    return found
