"""The options of evaluations: checked by evaluation, and merged from config, flags and ``--set``.

A flag replaces the config's option in every evaluation that takes it, and ``--set`` replaces a flag in one
evaluation. An option that no evaluation of the run takes is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from vendor_verifier.config.words import listed, nearest
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.suites import SUITES, Suite, SuiteKind, suite_kind


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The options of every evaluation: the selection of samples and the time limit of an attempt (seconds)."""

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


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The options of one evaluation.

    ``chosen`` are those of every evaluation, ``own`` those of the suite itself, as its task holds them; ``typed`` names
    those of both that the command line states.
    """

    chosen: TaskOptions = TaskOptions()
    own: Mapping[str, Any] = field(default_factory=dict)
    typed: frozenset[str] = frozenset()


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


def suite_options(kind: SuiteKind, options: Mapping[str, Any], typed: frozenset[str] = frozenset()) -> SuiteOptions:
    """The options of an evaluation, checked and split by who takes them.

    Raises:
        ProblemsError: all options that are unknown or cannot be read.
    """
    own, every = set(_own_options(kind)), _task_options(kind)
    general = {key: one_or_many(value) if key in _SEVERAL else value for key, value in options.items() if key in every}
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
    return SuiteOptions(task, special, typed)


def takes(kind: SuiteKind, option: str) -> bool:
    """Whether the suite takes an option."""
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
    if option_class is TaskOptions:
        # Nearly always they are what they should be: a file, a number of samples.
        with suppress(msgspec.ValidationError):
            return msgspec.convert(options, TaskOptions)
    # Slow to load, and few runs set an option of a suite's own.
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(option_class).validate_python(options)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise ProblemsError([_misfit(kind, each["loc"], each["input"], each["msg"]) for each in found]) from None


def _misfit(kind: SuiteKind, where: Iterable[object], read: object, words: str) -> Problem:
    key = ".".join(["suites", kind.name, *map(str, where)])
    return Problem(f"read {read!r}; {words[:1].lower()}{words[1:]}", key=key)


def one_or_many(value: Any) -> Any:
    """The words of a text with commas between, as the command line gives several; anything else as it is."""
    return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value


def _out_of_bounds(kind: SuiteKind, task: TaskOptions, given: Mapping[str, Any]) -> Iterator[Problem]:
    if task.sample_size is not None and task.sample_size < 1:
        yield _misfit(kind, ("sample_size",), given["sample_size"], "input should be greater than or equal to 1")
    # Not "<=": a number that is none is not above 0 either. An endless wait cannot be written into a manifest.
    if task.timeout_seconds is not None and not 0 < task.timeout_seconds < inf:
        yield _misfit(kind, ("timeout_seconds",), given["timeout_seconds"], "input should be greater than 0 and finite")


def _task_options(kind: SuiteKind) -> tuple[str, ...]:
    """The names of the options of every evaluation, without the row format where rows show it or there is no file."""
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


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the run that states an ``option`` of evaluations: of those ``suites``, or of all that take it.

    Without a ``value`` it takes the place of what the config states. A flag that ``may_idle`` need not reach any.
    """

    name: str
    option: str
    value: Any
    suites: Collection[str] | None = None
    may_idle: bool = False


Places = Mapping[str, Problem]
"""By key (``suites.trigger.head``) where an option was stated: a problem without a message."""


@contextmanager
def placing(places: Places) -> Iterator[None]:
    """Add to the problems of an option the place where it was stated."""
    try:
        yield
    except ProblemsError as error:
        raise type(error)([_placed(problem, places) for problem in error.problems]) from None


def _placed(problem: Problem, places: Places) -> Problem:
    place = places.get(problem.key or "")
    return problem if place is None or problem.file is not None else replace(place, message=problem.message)


@dataclass(frozen=True, slots=True)
class _Word:
    """One ``--set``."""

    suite: str
    key: str
    value: str


def stated_options(
    suites: Sequence[str],
    config: Mapping[str, Any],
    words: Iterable[str],
    flags: Iterable[Flag],
    *,
    file: Path | None = None,
    lines: Mapping[str, int] | None = None,
) -> tuple[dict[str, SuiteOptions], Places]:
    """The options of each of the ``suites`` of a run, from its file and the command line, and where they were stated.

    ``config`` are the options of the file by suite, ``lines`` their lines by key. Options of evaluations that do not
    take part are checked too.

    Raises:
        ProblemsError: all options that are invalid or that no evaluation of the run takes.
    """
    problems: list[Problem] = []
    found = {name: dict(options) for name, options in _of_config(config, file, lines or {}, problems)}
    places = {
        f"suites.{name}.{key}": Problem("", file, (lines or {}).get(f"suites.{name}.{key}"), f"suites.{name}.{key}")
        for name, options in found.items()
        for key in options
    }
    special = _read_words(words, suites, problems)
    by_word = {(word.suite, word.key) for word in special}
    for flag in flags:
        wanted = [name for name in suites if _is_meant(flag, name)]
        reached = [name for name in wanted if (name, flag.option) not in by_word]
        problems += [] if reached or flag.may_idle else [_reaches_nobody(flag, wanted)]
        for name in reached:
            own = found.setdefault(name, {})
            own.pop(flag.option, None)
            if flag.value is None:
                continue
            own[flag.option] = flag.value
            places[f"suites.{name}.{flag.option}"] = Problem("", key=flag.name)
    for word in special:
        found.setdefault(word.suite, {})[word.key] = word.value
        places[f"suites.{word.suite}.{word.key}"] = Problem("", key=f"--set {word.suite}.{word.key}")
    every = dict.fromkeys([*(other for other in found if other not in suites), *suites])
    read: dict[str, SuiteOptions] = {}
    with placing(places):
        for name in every:
            try:
                read[name] = suite_options(known_suite(name), found.get(name, {}), _typed(name, places))
            except ProblemsError as error:
                problems += error.problems
        if problems:
            raise ProblemsError(problems)
    return {name: read[name] for name in suites}, places


def _typed(suite: str, places: Places) -> frozenset[str]:
    """The options of a suite that the command line states."""
    prefix = f"suites.{suite}."
    return frozenset(
        key.removeprefix(prefix) for key, place in places.items() if key.startswith(prefix) and place.key != key
    )


def _of_config(
    config: Mapping[str, Any], file: Path | None, lines: Mapping[str, int], problems: list[Problem]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, options in config.items():
        key = f"suites.{name}"
        if _unknown(name) is not None:
            problems.append(Problem(_unknown(name) or "", file, lines.get(key), key))
        elif options is not None and not isinstance(options, Mapping):
            message = f"read {options!r}; expected options, such as `threshold: 0.5`"
            problems.append(Problem(message, file, lines.get(key), key))
        else:
            yield name, options or {}


def _read_words(words: Iterable[str], suites: Sequence[str], problems: list[Problem]) -> list[_Word]:
    found: dict[tuple[str, str], _Word] = {}
    for word in words:
        target, equals, value = word.partition("=")
        name, dot, key = target.partition(".")
        message = None
        if not (equals and dot and name and key):
            message = f"read {word!r}; expected suite.key=value"
        elif _unknown(name) is not None:
            message = _unknown(name)
        elif name not in suites:
            message = f"read {word!r}; {name} does not take part in this run, add --suite {name}"
        elif (name, key) in found and found[name, key].value != value:
            message = f"read {word!r} after {target}={found[name, key].value}; keep one of them"
        if message is not None:
            problems.append(Problem(message, key="--set"))
        else:
            found[name, key] = _Word(name, key, value)
    return list(found.values())


def _is_meant(flag: Flag, suite: str) -> bool:
    return suite in flag.suites if flag.suites is not None else takes(known_suite(suite), flag.option)


def _reaches_nobody(flag: Flag, wanted: Sequence[str]) -> Problem:
    if wanted:
        return Problem(f"--set says otherwise for {listed(wanted)}; leave out one of them", key=flag.name)
    able = [kind.name for kind in SUITES if takes(kind, flag.option)]
    words = f"no evaluation of this run takes it, only {listed(able)}; add --suite {able[0]}, or leave it out"
    return Problem(words, key=flag.name)


def _unknown(name: str) -> str | None:
    known = [kind.name for kind in SUITES]
    return None if name in known else f"unknown suite {name!r}{nearest(name, known) or f'; known are {listed(known)}'}"
