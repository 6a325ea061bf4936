"""Options of evaluations, held against what each of them takes; whose word counts is decided elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from vendor_verifier.config.findings import listed, nearest
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.suites import SUITES, SuiteKind, suite_kind
from vendor_verifier.suites.base import Suite


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What every evaluation takes: which samples, and how long an attempt may last (seconds)."""

    test_file_path: str | None = None
    dataset_format: str | None = None
    sample_ids: tuple[str, ...] = ()
    filter_difficulty: tuple[str, ...] = ()
    filter_category: tuple[str, ...] = ()
    filter_tags: tuple[str, ...] = ()
    stratify_by: str | None = None
    sample_size: int | None = None
    head: bool = False
    timeout_seconds: float | None = None


_TASK_OPTIONS = tuple(item.name for item in fields(TaskOptions))
_SEVERAL = ("sample_ids", "filter_difficulty", "filter_category", "filter_tags")


def known_suite(name: str) -> SuiteKind:
    """The suite of that name.

    Raises:
        ProblemsError: there is none; the message names the nearest.
    """
    kind = suite_kind(name)
    if kind is None:
        known = [kind.name for kind in SUITES]
        hint = nearest(name, known) or f"; known are {listed(known)}"
        raise ProblemsError([Problem(f"unknown suite {name!r}{hint}", key="--suite")])
    return kind


def split_options(kind: SuiteKind, options: Mapping[str, Any]) -> tuple[TaskOptions, dict[str, Any]]:
    """What selects samples, and what the suite itself takes.

    Raises:
        ProblemsError: options that nobody takes or that cannot be read, all of them.
    """
    own, every = set(_own_options(kind)), _task_options(kind)
    general = {key: _one_or_many(key, value) for key, value in options.items() if key in every}
    special = {key: value for key, value in options.items() if key in own}
    problems = [
        Problem(
            f"unknown option{nearest(key, [*own, *every])}; {kind.name} takes {listed(sorted(own | set(every)))}",
            key=f"suites.{kind.name}.{key}",
        )
        for key in options
        if key not in general and key not in special
    ]
    task = TaskOptions()
    try:
        task = _read(kind, TaskOptions, general) if general else task
        problems += _out_of_bounds(kind, task, general)
    except ProblemsError as error:
        problems += error.problems
    try:
        build_suite(kind, special)
    except ProblemsError as error:
        problems += error.problems
    if problems:
        raise ProblemsError(problems)
    return task, special


def takes(kind: SuiteKind, option: str) -> bool:
    """Whether an option means something to the suite."""
    return option in _own_options(kind) or option in _task_options(kind)


def build_suite(kind: SuiteKind, options: Mapping[str, Any]) -> Suite:
    """The suite with its options, text from the command line read as what each option is.

    Raises:
        ProblemsError: an option's value cannot be meant.
    """
    read = read_options(kind, options)
    suite: Suite = read if kind.options is None else kind.build(read)
    return suite


def read_options(kind: SuiteKind, options: Mapping[str, Any]) -> Any:
    """The dataclass of the suite's options; for most suites that is the suite itself.

    Raises:
        ProblemsError: an option's value cannot be meant.
    """
    option_class = _option_class(kind)
    if not options:
        return option_class()
    try:
        return _read(kind, option_class, {"name": kind.name, **options})
    except ProblemsError:
        raise
    except UsageError as error:
        raise ProblemsError([Problem(str(error), key=f"suites.{kind.name}")]) from None


def _read(kind: SuiteKind, option_class: Any, options: Mapping[str, Any]) -> Any:
    # Slow to load, and few runs set an option.
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(option_class).validate_python(options)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise ProblemsError([_misfit(kind, each["loc"], each["input"], each["msg"]) for each in found]) from None


def _misfit(kind: SuiteKind, where: Iterable[object], read: object, words: str) -> Problem:
    key = ".".join(["suites", kind.name, *map(str, where)])
    return Problem(f"read {read!r}; {words[:1].lower()}{words[1:]}", key=key)


def _one_or_many(name: str, value: object) -> object:
    """A single word, or several with commas between, as the command line gives them."""
    if name not in _SEVERAL or not isinstance(value, str):
        return value
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _out_of_bounds(kind: SuiteKind, task: TaskOptions, given: Mapping[str, Any]) -> Iterator[Problem]:
    if task.sample_size is not None and task.sample_size < 1:
        yield _misfit(kind, ("sample_size",), given["sample_size"], "input should be greater than or equal to 1")
    # Not "<=": a number that is none is not above 0 either.
    if task.timeout_seconds is not None and not task.timeout_seconds > 0:
        yield _misfit(kind, ("timeout_seconds",), given["timeout_seconds"], "input should be greater than 0")


def _task_options(kind: SuiteKind) -> tuple[str, ...]:
    """Those of every evaluation, without the row format where rows tell it themselves or there is no file."""
    reads_rows = isinstance(kind.samples, str) and ":" not in kind.samples
    return _TASK_OPTIONS if reads_rows else tuple(name for name in _TASK_OPTIONS if name != "dataset_format")


def _option_class(kind: SuiteKind) -> Any:
    return kind.build if kind.options is None else kind.options


def _own_options(kind: SuiteKind) -> list[str]:
    option_class = _option_class(kind)
    return (
        [item.name for item in fields(option_class) if item.name not in ("name", "checkers")]
        if is_dataclass(option_class)
        else []
    )
