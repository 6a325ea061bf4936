"""The job file of ``bfcl``, and the rows that it or the options name, with the reasons for those that are not run.

A task is what the published job calls one: categories, data, and a page of results of its own. Without a job file there
is one task, named after the suite. A row that several tasks ask for is asked once.

Of a run's settings the command line counts more than the job, and the job more than the configuration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.config.problems import key_text
from vendor_verifier.config.suite_options import TaskOptions, known_suite, read_options
from vendor_verifier.config.yaml_tree import Node, Scalar, SourceError, Table, line_of, parse
from vendor_verifier.config.yaml_tree import Path as KeyPath
from vendor_verifier.errors import ConfigError, DataError, Problem, ProblemsError, UsageError
from vendor_verifier.features.bfcl import source
from vendor_verifier.features.bfcl.executables import find_functions
from vendor_verifier.features.bfcl.notices import notices
from vendor_verifier.features.bfcl.prompt_texts import prompt_texts
from vendor_verifier.features.bfcl.source import Loaded
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.loaders.selection import classes_of
from vendor_verifier.pipeline.data_places import file_at, folder_at
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.sample_store import open_lines
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, SENSITIVITY, expand, is_category
from vendor_verifier.suites.bfcl.custom_rows import read_custom
from vendor_verifier.suites.bfcl.job import Job, read_job
from vendor_verifier.suites.bfcl.prompts import PromptTexts
from vendor_verifier.suites.bfcl.suite import BfclOptions
from vendor_verifier.suites.bfcl.written_rows import Prompting, as_written
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.payload import parse_json
from vendor_verifier.words import english


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
        lines = _lines(text)
        raise ConfigError(
            [replace(problem, file=path, line=_line(lines, problem.key)) for problem in error.problems]
        ) from None


def with_job(options: RunOptions, job: Job) -> RunOptions:
    """The options with the job's concurrency, timeout and retries, where no others are stated."""
    brought: dict[str, Any] = {
        "request_concurrency": job.parallelism,
        "timeout": job.request_timeout,
        "retries": job.max_retries,
    }
    unsaid = {name: value for name, value in brought.items() if value is not None and getattr(options, name) is None}
    return replace(options, **unsaid)


def with_job_settings(entries: Sequence[Entry], job: Job, overrides: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The entries with the sampling settings of the job, except those of the command line (``overrides``)."""
    typed = {**overrides, **overrides.get("extra_body", {})}
    wanted = {"temperature": job.temperature, "max_tokens": job.max_tokens, "top_p": job.top_p}
    stated = {name: value for name, value in wanted.items() if value is not None and name not in typed}
    return tuple(_with_settings(entry, stated) for entry in entries) if stated else tuple(entries)


def job_identity(job: Job) -> dict[str, Any]:
    """The name and namespace of a job, as far as it states them, for the manifest."""
    return {name: value for name, value in (("name", job.name), ("namespace", job.namespace)) if value is not None}


def _with_settings(entry: Entry, stated: Mapping[str, Any]) -> Entry:
    """The entry with the job's settings; top_p goes into ``extra_body``, as no wire has a setting of its own for it."""
    parameters = {name: value for name, value in stated.items() if name != "top_p"}
    body = {name: value for name, value in entry.endpoint.body.items() if name not in parameters}
    body |= {name: value for name, value in stated.items() if name == "top_p"}
    return structs.replace(
        entry, parameters={**entry.parameters, **parameters}, endpoint=replace(entry.endpoint, body=body)
    )


def _lines(text: str) -> Mapping[str, int]:
    """The line of each key, by the name that messages give it; empty where JSON does not parse as YAML."""
    try:
        root, _ = parse(text)
    except SourceError:
        return {}
    return {} if root is None else {key_text(path): line_of(root, path) for path in _paths(root)}


def _paths(node: Node, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    if isinstance(node, Scalar):
        return
    children = node.items.items() if isinstance(node, Table) else enumerate(node.items)
    for step, child in children:
        yield from _paths(child, (*path, step))


def _line(lines: Mapping[str, int], key: str | None) -> int | None:
    """The line of a key, or of the nearest one above it that is in the file."""
    while key:
        if key in lines:
            return lines[key]
        key = key.rpartition(".")[0]
    return None


SUITE = "bfcl"
TASKS_TAG = "bfcl_tasks"


class _Part(msgspec.Struct, frozen=True):
    """One task: where its rows are, and how many of them are asked for."""

    task: str
    categories: tuple[str, ...]
    where: str
    limit: int | None = None
    data_format: str | None = None
    written: bool = False
    names: str = ""
    files_key: str | None = None
    address: str | None = None
    notices: tuple[str, ...] = ()

    @property
    def wording(self) -> PromptTexts | None:
        """The wording of prompts where calls are asked for in words."""
        return prompt_texts(self.where) if self.written else None

    @property
    def sensitivity(self) -> PromptTexts | None:
        """That of format_sensitivity, which is asked in words alone, and only where it was meant."""
        is_named = SENSITIVITY in self.names.replace(" ", "").split(",")
        return prompt_texts(self.where) if self.written or is_named else None


def bfcl_dataset(
    own: Mapping[str, Any],
    chosen: TaskOptions,
    keys: Iterable[str] = (),
    *,
    job: Job | None = None,
    typed: Collection[str] = (),
    skip_bad: bool = False,
) -> Dataset:
    """All rows that can run. ``keys`` are the names of the keys set for rest rows; of options that contradict each
    other those ``typed`` on the command line stand.

    Raises:
        UsageError: nothing can run; the message says what each category needs.
        ConfigError: what the job says of its data is not so.
        ProblemsError: options that contradict each other, or the data.
        DataError: unusable rows.
    """
    own, chosen = _nearer(own, chosen, typed)
    options: BfclOptions = read_options(known_suite(SUITE), own)
    written = options.answer_format == "text" or (
        options.answer_format == "auto" and job is not None and job.native_calling is False
    )
    parts = [_here(structs.replace(part, written=written)) for part in _parts(options, own, chosen, job, typed)]
    _refuse_idle(parts, own, [bool(source.custom_files(part.where)) for part in parts])
    loaded: list[tuple[_Part, Loaded]] = [(part, _load(part, options, frozenset(keys), skip_bad)) for part in parts]
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
        warnings=(*not_run_lines(not_run), *_notices(loaded, options), *_addressed(parts)),
        classes=classes_of(samples),
        job={} if job is None else job_identity(job),
        source=", ".join(dict.fromkeys(part.address for part in parts if part.address)) or None,
    )


def _here(part: _Part) -> _Part:
    """The part with its rows on this disk, downloaded where an address names them."""
    place = folder_at(part.where)
    if place is None:
        return part
    return structs.replace(part, where=str(place.path), address=place.address, notices=place.notices)


def _addressed(parts: Sequence[_Part]) -> Iterable[str]:
    """The notices of the addresses, each once."""
    return dict.fromkeys(notice for part in parts for notice in part.notices)


def _notices(loaded: Sequence[tuple[_Part, Loaded]], options: BfclOptions) -> list[str]:
    """The sentences about the rows of each task, each once."""
    said = (
        line
        for part, found in loaded
        for line in notices(
            SUITE if part.task == SUITE else f"{SUITE} {part.task}", found.samples.samples, options.version
        )
    )
    return list(dict.fromkeys(said))


def not_run_lines(not_run: Mapping[str, Mapping[str, str]]) -> list[str]:
    """``bfcl: a, b: not run: needs …``, one line a reason, whatever task asked; single rows are on the pages only."""
    by_reason: dict[str, dict[str, None]] = {}
    for reasons in not_run.values():
        for category, reason in reasons.items():
            if is_category(category):
                by_reason.setdefault(reason, {})[category] = None
    return [f"{SUITE}: {', '.join(categories)}: {reason}" for reason, categories in by_reason.items()]


def _nearer(
    own: Mapping[str, Any], chosen: TaskOptions, typed: Collection[str]
) -> tuple[Mapping[str, Any], TaskOptions]:
    """The options without those of the config that name rows where the command line names other ones."""
    replaced = {"job": ("category", "data", "test_file_path"), "test_file_path": ("data",), "data": ("test_file_path",)}
    gone = {other for key in typed for other in replaced.get(key, ())} - set(typed)
    if "test_file_path" in gone:
        chosen = replace(chosen, test_file_path=None)
    # A job's tasks may lie in the data that the config names.
    return {key: value for key, value in own.items() if key not in gone or (key == "data" and "job" in typed)}, chosen


def _parts(
    options: BfclOptions, own: Mapping[str, Any], chosen: TaskOptions, job: Job | None, typed: Collection[str]
) -> list[_Part]:
    if job is not None:
        _refuse_beside_job(job, own, chosen, typed)
        return [
            _Part(
                task.name,
                task.categories,
                task.files or options.data,
                task.limit_samples or job.limit_samples,
                task.data_format,
                names=task.kind,
                files_key=task.files_key,
            )
            for task in job.tasks
        ]
    if chosen.test_file_path is not None and "data" in own:
        raise _refused("test_file_path", f"read {chosen.test_file_path!r}, and data {options.data!r}; keep one of them")
    where = chosen.test_file_path or options.data
    return [_Part(SUITE, expand([options.category]), where, names=options.category)]


def _refuse_beside_job(job: Job, own: Mapping[str, Any], chosen: TaskOptions, typed: Collection[str]) -> None:
    """Refuse options that name rows beside a job file, which names its own rows."""
    if "category" in own:
        raise _refused("category", "the tasks of the job say which categories; leave it out")
    if chosen.test_file_path is not None:
        raise _refused("test_file_path", "the tasks of the job say which files (dataset.files_url); leave it out")
    if "data" in typed and all(task.files is not None for task in job.tasks):
        raise _refused("data", "every task of the job names its own files; leave it out")


def _refuse_idle(parts: Sequence[_Part], own: Mapping[str, Any], customs: Sequence[bool]) -> None:
    """Refuse options for custom rows where there are none, and options for other rows beside custom ones."""
    if own.get("tools") is not None and str(own.get("infer_tools", False)).lower() not in ("false", "0"):
        raise _refused("infer_tools", "a file of tools is given, so none are inferred; keep one of them")
    for key in ("tools", "infer_tools"):
        if key in own and not any(customs):
            raise _refused(key, "belongs to custom rows, and all of these are in the leaderboard's own layout")
    for key in ("category", "version"):
        if key in own and all(customs):
            raise _refused(key, "belongs to the leaderboard's own rows, and all of these are custom")
    for part, custom in zip(parts, customs, strict=True):
        if part.data_format not in (None, "native") and not custom:
            words = f"read {part.data_format!r}; the files are in the native layout"
            raise ConfigError([Problem(words, key=f"tasks.{part.task}.dataset.format")])


def _refused(key: str, words: str) -> ProblemsError:
    return ProblemsError([Problem(words, key=f"suites.{SUITE}.{key}")])


def _load(part: _Part, options: BfclOptions, keys: frozenset[str], skip_bad: bool) -> Loaded:
    files = source.custom_files(part.where)
    if files:
        category = part.categories[0] if len(part.categories) == 1 and options.job is not None else None
        return Loaded(_custom(files, part, options, category, skip_bad), {})
    return source.load_categories(
        source.find_data(part.where, part.address),
        part.categories,
        services=any(name in MULTI_TURN for name in part.categories) and source.has_services(part.where),
        functions=find_functions(part.where) if any(name in EXECUTABLE for name in part.categories) else None,
        keys=keys,
        limit=part.limit,
        limit_per_category=options.limit_per_category,
        skip_bad=skip_bad,
        texts=part.wording,
        sensitivity=part.sensitivity,
    )


def _custom(
    files: list[Path], part: _Part, options: BfclOptions, category: str | None, skip_bad: bool
) -> LoadedSamples:
    tools = None if options.tools is None else _tools(file_at(options.tools).path)
    mending = english("bfcl_job_no_tools", key=part.files_key) if part.files_key else english("bfcl_no_tools")
    parts = [
        read_custom(
            open_lines(file),
            dataset=file.name,
            file=file,
            category=category,
            tools=tools,
            infer_tools=options.infer_tools,
            mending=mending,
            limit=options.limit_per_category,
            skip_bad=skip_bad,
        )
        for file in files
    ]
    samples = tuple(sample for found in parts for sample in found.samples)[: part.limit]
    return LoadedSamples(
        samples if (texts := part.wording) is None else tuple(as_written(row, Prompting(texts)) for row in samples),
        tuple(problem for found in parts for problem in found.skipped),
        tuple(defect for found in parts for defect in found.defects),
    )


def _tools(file: Path) -> list[Mapping[str, Any]]:
    try:
        tools = parse_json(file.read_text(encoding="utf-8"))
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
        structs.replace(sample, tags={**sample.tags, TASKS_TAG: list(dict.fromkeys(wanted[sample.id]))})
        for sample in found.values()
    )
