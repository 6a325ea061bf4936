"""The published job file, and the rows that it or the options name, with the reasons for those that are not run.

A task of a job has categories, data and a page of results of its own. Without a job file there is one task, named after
the suite. A row that several tasks ask for is asked once. Every key of a job is read or refused by name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import structs
from pydantic import BaseModel, ConfigDict, Field, field_validator

from vendor_verifier.config.document import read_text, read_yaml
from vendor_verifier.config.suite_options import SuiteOptions
from vendor_verifier.errors import BFCL_DATA, ProblemsError, UsageError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.loaders.selection import classes_of
from vendor_verifier.pipeline.bfcl.data import SHIPPED, Loaded, custom_files, find_data, find_services, load_categories
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.places import place_of
from vendor_verifier.records.sample import Sample
from vendor_verifier.sample_store import open_lines
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, expand
from vendor_verifier.suites.bfcl.results import overall
from vendor_verifier.suites.bfcl.rows import read_custom
from vendor_verifier.suites.bfcl.suite import BfclSuite

SUITE = "bfcl"
_TASKS_TAG = "bfcl_tasks"
_Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Data(_Part):
    files_url: str = Field(min_length=1)
    format: Literal["native"] = "native"


class _TaskParams(_Part):
    limit_samples: _Count | None = None


class _JobParams(_TaskParams):
    parallelism: _Count | None = None


class _Task(_Part):
    type: str
    dataset: _Data | None = None
    params: _TaskParams = _TaskParams()

    @field_validator("type")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            expand([name])
        except UsageError as error:
            raise ValueError(str(error)) from None
        return name


class Job(_Part):
    """A whole job. A task's ``type`` is a category or a group, its ``files_url`` a folder, custom rows or an address.

    ``limit_samples`` are the first rows of a task, ``parallelism`` is requests in flight.
    """

    type: Literal["bfcl", "bfclv3", "bfclv3_ast", "bfclv2", "bfclv2_ast"]
    tasks: dict[str, _Task] = Field(min_length=1)
    name: str | None = None
    namespace: str | None = None
    params: _JobParams = _JobParams()


def read_job_file(path: Path) -> Job:
    """The job of a file."""
    # JSON may be indented with tabs, YAML may not.
    document = read_yaml(read_text(path).replace("\t", "  "), path)
    job = document.fitted(Job, (), document.content)
    document.stop_on_problems()
    assert job is not None
    return job


def bfcl_dataset(stated: SuiteOptions, keys: Iterable[str], job: Job | None, *, skip_bad: bool) -> Dataset:
    """All rows that can run. ``keys`` are the names of the keys set for rest rows."""
    options, chosen = stated.suite, stated.chosen
    assert isinstance(options, BfclSuite)
    _refuse_contradictions(stated, job)
    tasks: dict[str, tuple[str, str, int | None]] = {}
    if job is None:
        tasks[SUITE] = options.category, chosen.test_file_path or options.data, None
    else:
        for name, task in job.tasks.items():
            where = task.dataset.files_url if task.dataset else options.data
            tasks[name] = task.type, where, task.params.limit_samples or job.params.limit_samples
    found: dict[str, Loaded] = {}
    places = []
    for name, (category, where, limit) in tasks.items():
        place = place_of(where, whole=True)
        places.append(place)
        found[name] = _load(expand([category]), str(place.path), place.address, limit, frozenset(keys), skip_bad)
    samples = _merged({name: loaded.samples for name, (loaded, _) in found.items()})
    not_run = {name: reasons for name, (_, reasons) in found.items() if reasons}
    by_reason: dict[str, dict[str, None]] = {}
    for reasons in not_run.values():
        for category, reason in reasons.items():
            by_reason.setdefault(reason, {})[category] = None
    lines = [f"{SUITE}: {', '.join(categories)}: {reason}" for reason, categories in by_reason.items()]
    if not samples:
        raise UsageError("; ".join(["bfcl: nothing can run", *lines]))
    return Dataset(
        name=", ".join(dict.fromkeys(str(sample.tags["bfcl_data"]) for sample in samples)),
        sha256=hashlib.sha256("\n".join(sample.id for sample in samples).encode()).hexdigest(),
        samples=samples,
        skipped=tuple(str(problem) for loaded, _ in found.values() for problem in loaded.skipped),
        defects=tuple(dict.fromkeys(defect for loaded, _ in found.values() for defect in loaded.defects)),
        not_run=not_run,
        warnings=tuple(dict.fromkeys([*lines, *(notice for place in places for notice in place.notices)])),
        classes=classes_of(samples),
        job=job.model_dump(include={"name", "namespace"}, exclude_none=True) if job else {},
        source=", ".join(dict.fromkeys(place.address for place in places if place.address)) or None,
    )


def _refuse_contradictions(stated: SuiteOptions, job: Job | None) -> None:
    path = stated.chosen.test_file_path
    twice = ["test_file_path"] if path is not None else []
    if job is not None:
        words = "the tasks of the job state it; leave it out"
        twice += ["category"] if "category" in stated.own else []
    else:
        words = f"read {path!r}, and data {stated.own.get('data')!r}; keep one of them"
        twice = twice if "data" in stated.own else []
    if twice:
        raise ProblemsError([stated.problem(option, words) for option in twice])


def _load(
    categories: Sequence[str],
    where: str,
    label: str | None,
    limit: int | None,
    keys: frozenset[str],
    skip_bad: bool,
) -> Loaded:
    files = custom_files(where)
    if not files:
        return load_categories(
            find_data(where, label),
            categories,
            services=any(name in MULTI_TURN for name in categories) and find_services(where) is not None,
            keys=keys,
            limit=limit,
            skip_bad=skip_bad,
        )
    category = categories[0] if len(categories) == 1 else None
    parts = [read_custom(open_lines(file), file=file, category=category, skip_bad=skip_bad) for file in files]
    samples = [sample for part in parts for sample in part.samples][:limit]
    return LoadedSamples(tuple(samples), tuple(problem for part in parts for problem in part.skipped)), {}


def _merged(tasks: Mapping[str, Sequence[Sample]]) -> tuple[Sample, ...]:
    """Every row once, with the tasks that want it."""
    found: dict[str, Sample] = {}
    wanted: dict[str, list[str]] = {}
    for name, samples in tasks.items():
        for sample in samples:
            found.setdefault(sample.id, sample)
            wanted.setdefault(sample.id, []).append(name)
    return tuple(
        structs.replace(sample, tags={**sample.tags, _TASKS_TAG: wanted[sample.id]}) for sample in found.values()
    )


def by_task(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """The samples of each task."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        for task in sample.tags.get(_TASKS_TAG) or [SUITE]:
            found.setdefault(task, []).append(sample)
    return found


def highest(samples: Iterable[Sample]) -> float | None:
    """The highest ``Overall Acc`` (per cent) of a run with these rows; None for custom rows, which have none."""
    rows = Counter(str(sample.tags["category"]) for sample in samples if not sample.tags.get("bfcl_custom"))
    return round(overall({category: (1.0, count) for category, count in rows.items()}) * 100, 2) if rows else None


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
