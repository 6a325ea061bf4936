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
        raise ProblemsError([Problem(_unknown(name), key="--suite")])
    return kind


def suite_options(kind: SuiteKind, options: Mapping[str, Any], typed: frozenset[str] = frozenset()) -> SuiteOptions:
    """The options of an evaluation, checked and split by who takes them.

    Raises:
        ProblemsError: all options that are unknown or cannot be read.
    """
    own, every = _names(kind)
    known = sorted({*own, *every})
    problems = [
        Problem(
            f"unknown option{nearest(key, known)}; {kind.name} takes {listed(known)}", key=f"suites.{kind.name}.{key}"
        )
        for key in options
        if key not in known
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
    return _read(kind, shape, {"name": kind.name, **options}) if options else shape()


def _read(kind: SuiteKind, shape: Any, options: Mapping[str, Any]) -> Any:
    try:
        return TypeAdapter(shape).validate_python(options)
    except ValidationError as error:
        problems = [
            Problem(
                f"read {each['input']!r}; {each['msg'][:1].lower()}{each['msg'][1:]}",
                key=".".join(["suites", kind.name, *map(str, each["loc"])]),
            )
            for each in error.errors(include_url=False)
        ]
    except ProblemsError:
        raise
    except UsageError as error:
        problems = [Problem(str(error), key=f"suites.{kind.name}")]
    raise ProblemsError(problems)


def _names(kind: SuiteKind) -> tuple[list[str], list[str]]:
    """The names of the suite's own options, and of those of every evaluation that it takes."""
    shape: Any = kind.options or kind.build
    own = [item.name for item in fields(shape)] if is_dataclass(shape) else []
    # Built-in questions and rows of one format have no format to name.
    reads_rows = isinstance(kind.samples, str) and ":" not in kind.samples
    every = [item.name for item in fields(TaskOptions) if reads_rows or item.name != "dataset_format"]
    return [name for name in own if name not in ("name", "checkers")], every


def _takes(kind: SuiteKind, option: str) -> bool:
    return any(option in names for names in _names(kind))


def _unknown(name: str) -> str:
    known = [kind.name for kind in SUITES]
    return f"unknown suite {name!r}{nearest(name, known) or f'; known are {listed(known)}'}"


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the run that states an ``option`` of evaluations: of those ``suites``, or of all that take it.

    It takes the place of what the config states; without a ``value`` it only takes that away.
    """

    name: str
    option: str
    value: Any
    suites: Collection[str] | None = None


Places = Mapping[str, Problem]
"""By key (``suites.trigger.head``) where an option was stated: a problem without a message."""


@contextmanager
def placing(places: Places) -> Iterator[None]:
    """Add to the problems of an option the place where it was stated."""
    try:
        yield
    except ProblemsError as error:
        placed = [
            replace(places.get(problem.key or "", problem), message=problem.message)
            if problem.file is None
            else problem
            for problem in error.problems
        ]
        raise type(error)(placed) from None


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
        if suite_kind(name) is None or not isinstance(options or {}, Mapping):
            wrong = f"read {options!r}; expected options, such as `threshold: 0.5`"
            message = wrong if suite_kind(name) else _unknown(name)
            problems.append(Problem(message, file, lines.get(key), key))
            continue
        found[name] = dict(options or {})
        for each in found[name]:
            places[f"{key}.{each}"] = Problem("", file, lines.get(f"{key}.{each}"), f"{key}.{each}")
    special = _read_words(words, suites, problems)
    stated = []
    for flag in flags:
        meant = flag.suites if flag.suites is not None else [n for n in suites if _takes(known_suite(n), flag.option)]
        reached = [name for name in meant if (name, flag.option) not in special]
        if not reached and flag.value is not None:
            problems.append(_reaches_nobody(flag, meant))
        stated += [(name, flag.option, flag.value, flag.name) for name in reached]
    stated += [(name, key, value, f"--set {name}.{key}") for (name, key), value in special.items()]
    for name, option, value, place in stated:
        found.setdefault(name, {}).pop(option, None)
        if value is not None:
            found[name][option] = value
            typed.add((name, option))
            places[f"suites.{name}.{option}"] = Problem("", key=place)
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
        name, _, key = target.partition(".")
        message = None
        if not (equals and name and key):
            message = f"read {word!r}; expected suite.key=value"
        elif suite_kind(name) is None:
            message = _unknown(name)
        elif name not in suites:
            message = f"read {word!r}; {name} does not take part in this run, add --suite {name}"
        elif found.setdefault((name, key), value) != value:
            message = f"read {word!r} after {target}={found[name, key]}; keep one of them"
        if message is not None:
            problems.append(Problem(message, key="--set"))
    return found


def _reaches_nobody(flag: Flag, meant: Collection[str]) -> Problem:
    if meant:
        return Problem(f"--set says otherwise for {listed(meant)}; leave out one of them", key=flag.name)
    able = [kind.name for kind in SUITES if _takes(kind, flag.option)]
    words = f"no evaluation of this run takes it, only {listed(able)}; add --suite {able[0]}, or leave it out"
    return Problem(words, key=flag.name)
