"""The rows that options or a published job file name, from data on this machine, with the reasons for those not run.

A task of a job has categories, data and a page of results of its own. Without a job file there is one task, named after
the suite. A row that several tasks ask for is asked once. Every key of a job is read or refused by name. Of the user's
``bfcl_eval`` only the simulated services are imported.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs
from pydantic import BaseModel, ConfigDict, Field, field_validator

from vendor_verifier.config.document import read_text, read_yaml
from vendor_verifier.config.suite_options import SuiteOptions
from vendor_verifier.errors import BFCL_DATA, ProblemsError, UsageError
from vendor_verifier.loaders.base import MAX_ARRAY_BYTES, LoadedSamples
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.places import Place, place_of
from vendor_verifier.records.sample import Sample
from vendor_verifier.resources import shipped
from vendor_verifier.sample_store import open_lines
from vendor_verifier.suites.bfcl.categories import (
    EXECUTABLE,
    MULTI_TURN,
    RELEVANCE,
    REST,
    SINGLE_TURN,
    V4_TO_V3,
    expand,
    not_run_reason,
)
from vendor_verifier.suites.bfcl.multi_turn import Services
from vendor_verifier.suites.bfcl.rows import read_category, read_custom
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.wire.payload import parse_json

SUITE = "bfcl"
_TASKS_TAG = "bfcl_tasks"
_Count = Annotated[int, Field(ge=1)]
SHIPPED = "shipped slice"
_PACKAGES = ("bfcl_eval", "bfcl")
_NATIVE = "BFCL_v[34]_*.json"
_REST_REPLIES = Path("eval_checker", "executable_eval", "data", "rest-eval-response_v5.jsonl")
_SERVICES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_SERVICE_MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
PLACEHOLDER = re.compile(r"YOUR-((?:[A-Z]+-)?API-KEY)")


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
        places.append(place_of(where, whole=True))
        found[name] = _load_task(category, places[-1], limit, frozenset(keys), skip_bad)
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


def _load_task(group: str, place: Place, limit: int | None, keys: frozenset[str], skip_bad: bool) -> Loaded:
    categories, where = expand([group]), str(place.path)
    files = custom_files(where)
    if not files:
        data = find_data(where, place.address)
        services = any(name in MULTI_TURN for name in categories) and find_services(where) is not None
        return load_categories(data, categories, services=services, keys=keys, limit=limit, skip_bad=skip_bad)
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


class BfclData(msgspec.Struct, frozen=True):
    """A folder in the native layout. ``version`` is the files' (``v3``, ``v4``); ``name`` is kept with every sample."""

    folder: Path
    version: str
    name: str


Loaded = tuple[LoadedSamples, dict[str, str]]
"""The samples of all categories that can run, and the reasons for the others."""


def find_data(where: str, label: str | None = None) -> BfclData:
    """``shipped``, ``installed`` or a folder: the data, the package with it, or where that is installed.

    ``label`` is the name of downloaded data, whose folder's name says nothing.

    Raises:
        UsageError: nothing there; the message says what would be.
    """
    if where == "shipped":
        return BfclData(shipped("datasets") / "bfcl", "v3", SHIPPED)
    for folder in _folders(where):
        versions = sorted({path.name[5:7] for path in folder.glob(_NATIVE)})
        if versions:
            name = label or (folder.parent.name if folder.name == "data" else folder.name)
            return BfclData(folder, versions[-1], f"{name} {versions[-1]}")
    if where == "installed":
        raise UsageError(f"no installed bfcl_eval with data: {BFCL_DATA}, or give --bfcl-data DIR")
    raise UsageError(f"{where}: no BFCL_v3_*.json or BFCL_v4_*.json; expected those files and possible_answer/")


def _folders(where: str) -> list[Path]:
    """The folders that may hold the data."""
    if where == "installed":
        specs = [importlib.util.find_spec(package) for package in _PACKAGES]
        return [Path(place, "data") for spec in specs if spec for place in spec.submodule_search_locations or ()]
    return [Path(where, inside) for inside in ("", "data", *(f"{package}/data" for package in _PACKAGES))]


def custom_files(where: str) -> list[Path]:
    """The files of custom rows at ``where``: that file, or all in a folder that has none in the native layout."""
    path = Path(where)
    if where in ("shipped", "installed"):
        return []
    if not path.exists():
        raise UsageError(f"{where}: there is no such file or folder")
    if path.is_file():
        return [path]
    if any(next(folder.glob(_NATIVE), None) for folder in _folders(where)):
        return []
    return sorted(file for file in path.rglob("*.jsonl*") if file.is_file()) or sorted(path.glob("*.json*"))


def load_categories(
    data: BfclData,
    categories: Iterable[str],
    *,
    services: bool = False,
    keys: frozenset[str] = frozenset(),
    limit: int | None = None,
    skip_bad: bool = False,
) -> Loaded:
    """Read the rows of these categories (v4 names) that can run.

    ``services``: the simulated services are installed. ``keys``: the names of the keys set for rest rows; rows that
    need others are left out and reported. ``limit``: the first rows of all categories together.
    """
    parts: list[LoadedSamples] = []
    not_run: dict[str, str] = {}
    for category in categories:
        names = [
            f"BFCL_{version}_{name}.json" for name in (category, V4_TO_V3.get(category)) for version in ("v4", "v3")
        ]
        file = next((data.folder / name for name in names if (data.folder / name).is_file()), None)
        reason = not_run_reason(category, simulators=services, keys=bool(keys))
        if reason is None and file is None:
            reason = f"not run: needs BFCL_{data.version}_{category}.json, which {data.name} does not have"
        if reason is not None or file is None:
            not_run[category] = reason or ""
            continue
        part = _load(data, category, file, skip_bad)
        if category in REST:
            missing = {row.id: needed_keys(row) - keys for row in part.samples}
            part = structs.replace(part, samples=tuple(row for row in part.samples if not missing[row.id]))
            if lacking := sorted(frozenset().union(*missing.values())):
                left = f"{len(missing) - len(part.samples)} of {len(missing)} rows"
                not_run[category] = f"not run: {left} need {', '.join(lacking)}"
        parts.append(part)
    samples = [sample for part in parts for sample in part.samples][:limit]
    skipped = [problem for part in parts for problem in part.skipped]
    defects = [defect for part in parts for defect in part.defects]
    return LoadedSamples(tuple(samples), tuple(skipped), tuple(defects)), not_run


def _load(data: BfclData, category: str, file: Path, skip_bad: bool) -> LoadedSamples:
    answers: list[bytes] = []
    answer_file = data.folder / "possible_answer" / file.name
    if category in REST:
        # Upstream pairs rows and recorded replies by position; only the shape of a reply is compared.
        answer_file = data.folder.parent / _REST_REPLIES
        for number, line in enumerate(_lines(answer_file)):
            truth = {"id": f"rest_{number}", "ground_truth": [shape_of(parse_json(line))]}
            answers.append(json.dumps(truth).encode())
    elif category not in (*RELEVANCE, *EXECUTABLE):
        answers = _lines(answer_file)
    files = {name: data.folder / "multi_turn_func_doc" / f"{module}.json" for name, module in _SERVICE_MODULES.items()}
    docs = {
        name: [parse_json(line) for line in _lines(path) if line.strip()]
        for name, path in (files.items() if category in MULTI_TURN else ())
    }
    return read_category(
        _lines(file),
        answers,
        category=category,
        file=file,
        answer_file=answer_file,
        version=data.name,
        service_docs=docs,
        skip_bad=skip_bad,
    )


def _lines(file: Path) -> list[bytes]:
    return list(open_lines(file, max_line=MAX_ARRAY_BYTES))


def find_services(where: str) -> Services | None:
    """The simulated services in, at or above the folder ``where``, else the installed ones, else None."""
    if where not in ("shipped", "installed") and Path(where).exists():
        homes = [path for path in (Path(where), *Path(where).resolve().parents) if (path / "bfcl_eval").is_dir()]
        sys.path += [str(home) for home in homes[:1] if str(home) not in sys.path]
    try:
        modules = {name: importlib.import_module(f"{_SERVICES}.{module}") for name, module in _SERVICE_MODULES.items()}
    except ImportError:
        return None
    classes = {name: getattr(module, name) for name, module in modules.items()}

    def start(names: Sequence[str], initial: Mapping[str, Any], long_context: bool) -> Mapping[str, object]:
        started = {name: classes[name]() for name in names}
        for name, instance in started.items():
            if name != "MathAPI":  # which has no state
                instance._load_scenario(deepcopy(dict(initial.get(name, {}))), long_context=long_context)
        return started

    return start


def answered_rows(where: str) -> tuple[Sample, ...]:
    """The rows in a folder of the leaderboard's layout that state the right calls; ``shipped`` for those that ship."""
    return load_categories(find_data(where), (*SINGLE_TURN, *EXECUTABLE))[0].samples


def needed_keys(sample: Sample) -> frozenset[str]:
    """The names of the variables whose keys a row's placeholders stand for."""
    words = PLACEHOLDER.findall(json.dumps([sample.expected["functions"], list(sample.turn.messages)]))
    names = {word.replace("-", "_") for word in words}
    # One document says YOUR-API-KEY where its question names the service.
    return frozenset(names - {"API_KEY"} if len(names) > 1 else names)


def shape_of(value: object) -> dict[str, Any]:
    """The keys of an object, those of each member of a list, or the type of anything else."""
    if isinstance(value, dict):
        return {"dict": sorted(value)}
    if isinstance(value, list):
        return {"list": [sorted(item) if isinstance(item, dict) else None for item in value]}
    return {"other": type(value).__name__}
