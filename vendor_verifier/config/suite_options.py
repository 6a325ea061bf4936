"""The options of evaluations: checked by evaluation, and merged from config, flags and ``--set``.

A flag replaces the config's option in every evaluation that takes it, and ``--set`` replaces a flag in one
evaluation. An option that no evaluation of the run takes is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from vendor_verifier.config.problems import listed, nearest
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.suites import SUITES, Suite, SuiteKind, suite_kind


def one_or_many(value: Any) -> Any:
    """The words of a text with commas between, as the command line gives several; anything else as it is."""
    return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value


_Words = Annotated[tuple[str, ...], BeforeValidator(one_or_many)]


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The options of every evaluation: the selection of samples and the time limit of an attempt (seconds)."""

    test_file_path: str | None = None
    dataset_format: str | None = None
    sample_ids: _Words = ()
    filter_difficulty: _Words = ()
    filter_category: _Words = ()
    filter_tags: _Words = ()
    sample_size: Annotated[int, Field(ge=1)] | None = None
    head: bool = False
    # An endless wait cannot be written into a manifest.
    timeout_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """The options of one evaluation.

    ``chosen`` are those of every evaluation, ``own`` those of the suite itself, as its task holds them; ``typed`` names
    those of both that the command line states.
    """

    chosen: TaskOptions = TaskOptions()
    own: Mapping[str, Any] = field(default_factory=dict)
    typed: frozenset[str] = frozenset()


def known_suite(name: str) -> SuiteKind:
    """The suite of that name.

    Raises:
        ProblemsError: there is none; the message names the nearest.
    """
    kind = suite_kind(name)
    if kind is None:
        raise ProblemsError([Problem(_unknown(name) or "", key="--suite")])
    return kind


def suite_options(kind: SuiteKind, options: Mapping[str, Any], typed: frozenset[str] = frozenset()) -> SuiteOptions:
    """The options of an evaluation, checked and split by who takes them.

    Raises:
        ProblemsError: all options that are unknown or cannot be read.
    """
    own, every = _names(kind)
    problems = [
        Problem(
            f"unknown option{nearest(key, [*own, *every])}; {kind.name} takes {listed(sorted({*own, *every}))}",
            key=f"suites.{kind.name}.{key}",
        )
        for key in options
        if key not in own and key not in every
    ]
    special = {key: value for key, value in options.items() if key in own}
    task = TaskOptions()
    try:
        task = _read(kind, TaskOptions, {key: value for key, value in options.items() if key in every})
    except ProblemsError as error:
        problems += error.problems
    try:
        build_suite(kind, special)
    except ProblemsError as error:
        problems += error.problems
    if problems:
        raise ProblemsError(problems)
    return SuiteOptions(task, special, typed)


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
    shape: Any = kind.options or kind.build
    if not options:
        return shape()
    try:
        return _read(kind, shape, {"name": kind.name, **options})
    except ProblemsError:
        raise
    except UsageError as error:
        raise ProblemsError([Problem(str(error), key=f"suites.{kind.name}")]) from None


def _read(kind: SuiteKind, shape: Any, options: Mapping[str, Any]) -> Any:
    try:
        return TypeAdapter(shape).validate_python(options)
    except ValidationError as error:
        found = error.errors(include_url=False)
    raise ProblemsError(
        [
            Problem(
                f"read {each['input']!r}; {each['msg'][:1].lower()}{each['msg'][1:]}",
                key=".".join(["suites", kind.name, *map(str, each["loc"])]),
            )
            for each in found
        ]
    )


def _names(kind: SuiteKind) -> tuple[list[str], list[str]]:
    """The names of the suite's own options, and of those of every evaluation that it takes."""
    shape: Any = kind.options or kind.build
    own = [item.name for item in fields(shape)] if is_dataclass(shape) else []
    # Built-in questions and rows of one format have no format to name.
    reads_rows = isinstance(kind.samples, str) and ":" not in kind.samples
    every = [item.name for item in fields(TaskOptions) if reads_rows or item.name != "dataset_format"]
    return [name for name in own if name not in ("name", "checkers")], every


def _takes(kind: SuiteKind, option: str) -> bool:
    own, every = _names(kind)
    return option in own or option in every


def _unknown(name: str) -> str | None:
    known = [kind.name for kind in SUITES]
    return None if name in known else f"unknown suite {name!r}{nearest(name, known) or f'; known are {listed(known)}'}"


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
        known = [(problem, places.get(problem.key or "")) for problem in error.problems]
        raise type(error)(
            [
                replace(place, message=problem.message) if place is not None and problem.file is None else problem
                for problem, place in known
            ]
        ) from None


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
    lines = lines or {}
    problems: list[Problem] = []
    places: dict[str, Problem] = {}
    found: dict[str, dict[str, Any]] = {}
    typed: set[tuple[str, str]] = set()
    for name, options in config.items():
        key = f"suites.{name}"
        message = _unknown(name)
        if message is None and options is not None and not isinstance(options, Mapping):
            message = f"read {options!r}; expected options, such as `threshold: 0.5`"
        if message is not None:
            problems.append(Problem(message, file, lines.get(key), key))
            continue
        found[name] = dict(options or {})
        places |= {
            f"{key}.{each}": Problem("", file, lines.get(f"{key}.{each}"), f"{key}.{each}") for each in found[name]
        }
    special = _read_words(words, suites, problems)
    for flag in flags:
        meant = [name for name in suites if flag.suites is None and _takes(known_suite(name), flag.option)]
        meant += [name for name in suites if name in (flag.suites or ())]
        reached = [name for name in meant if (name, flag.option) not in special]
        if not reached and not flag.may_idle:
            problems.append(_reaches_nobody(flag, meant))
        for name in reached:
            found.setdefault(name, {}).pop(flag.option, None)
            if flag.value is not None:
                found[name][flag.option] = flag.value
                typed.add((name, flag.option))
                places[f"suites.{name}.{flag.option}"] = Problem("", key=flag.name)
    for (name, option), value in special.items():
        found.setdefault(name, {})[option] = value
        typed.add((name, option))
        places[f"suites.{name}.{option}"] = Problem("", key=f"--set {name}.{option}")
    read: dict[str, SuiteOptions] = {}
    with placing(places):
        for name in dict.fromkeys([*found, *suites]):
            own = frozenset(option for suite, option in typed if suite == name)
            try:
                read[name] = suite_options(known_suite(name), found.get(name, {}), own)
            except ProblemsError as error:
                problems += error.problems
        if problems:
            raise ProblemsError(problems)
    return {name: read[name] for name in suites}, places


def _read_words(words: Iterable[str], suites: Sequence[str], problems: list[Problem]) -> dict[tuple[str, str], str]:
    """The value of each ``--set suite.key=value``, by suite and key."""
    found: dict[tuple[str, str], str] = {}
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
        elif found.get((name, key), value) != value:
            message = f"read {word!r} after {target}={found[name, key]}; keep one of them"
        if message is not None:
            problems.append(Problem(message, key="--set"))
        else:
            found[name, key] = value
    return found


def _reaches_nobody(flag: Flag, meant: Sequence[str]) -> Problem:
    if meant:
        return Problem(f"--set says otherwise for {listed(meant)}; leave out one of them", key=flag.name)
    able = [kind.name for kind in SUITES if _takes(kind, flag.option)]
    words = f"no evaluation of this run takes it, only {listed(able)}; add --suite {able[0]}, or leave it out"
    return Problem(words, key=flag.name)
