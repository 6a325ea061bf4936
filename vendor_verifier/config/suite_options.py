"""The options of evaluations: checked by evaluation, and merged from config, flags and ``--set``.

A flag replaces the config's option in every evaluation that takes it, and ``--set`` replaces a flag in one
evaluation. An option that no evaluation of the run takes is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from vendor_verifier.config.document import listed, misfit, nearest
from vendor_verifier.config.run_config import GIVEN_TWICE, RunOptions, Words
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.suites import SUITES, Suite, SuiteKind, known_suite, suite_kind

Places = Mapping[str, Problem]
"""By key (``suites.trigger.head``) the place of an option in the file: a problem without a message."""

# It takes milliseconds to make.
_adapter = cache(TypeAdapter)


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """The options of every evaluation: the selection of samples and the time limit of an attempt (seconds)."""

    test_file_path: str | None = None
    dataset_format: str | None = None
    sample_ids: Words = ()
    filter_difficulty: Words = ()
    filter_category: Words = ()
    filter_tags: Words = ()
    sample_size: Annotated[int, Field(ge=1)] | None = None
    head: bool = False
    # An endless wait cannot be written into a manifest.
    timeout_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """One evaluation with its options.

    ``chosen`` are those of every evaluation, ``own`` those of the ``suite`` itself, as its task holds them; ``typed``
    names those of both that the command line states. ``places`` are those of the others in the file, by key.
    """

    kind: SuiteKind
    suite: Suite
    chosen: TaskOptions = TaskOptions()
    own: Mapping[str, Any] = field(default_factory=dict)
    typed: frozenset[str] = frozenset()
    places: Places = field(default_factory=dict, repr=False)

    def problem(self, option: str, message: str) -> Problem:
        """A problem with an option, on its line of the file if it is stated there."""
        return _placed(Problem(message, key=_key(self.kind.name, option)), self.places)


def build_suite(kind: SuiteKind, options: Mapping[str, Any]) -> Suite:
    """The suite with its options, text from the command line read as what each option is.

    Raises:
        ProblemsError: an option's value is invalid.
    """
    return suite_options(kind, options).suite


def _key(suite: str, *steps: object) -> str:
    return ".".join(["suites", suite, *map(str, steps)])


def options_of(kind: SuiteKind) -> dict[str, bool]:
    """The names of the options that a suite takes, and whether each is its own."""
    # Built-in questions are in no file, and rows of one format have no format to name.
    absent = {"test_file_path": kind.is_built_in, "dataset_format": kind.is_built_in or kind.samples is None}
    every = [item.name for item in fields(TaskOptions) if not absent.get(item.name)]
    own = [item.name for item in fields(kind.build) if item.name != "name" and not item.metadata]  # type: ignore[arg-type]
    return {**dict.fromkeys(every, False), **dict.fromkeys(own, True)}


def suite_options(
    kind: SuiteKind, options: Mapping[str, Any], typed: Iterable[str] = (), places: Places | None = None
) -> SuiteOptions:
    """The options of an evaluation, checked and split by who takes them.

    Raises:
        ProblemsError: all options that are unknown or cannot be read.
    """
    known = options_of(kind)
    problems = [
        Problem(
            f"unknown option{nearest(key, known)}; {kind.name} takes {listed(sorted(known))}", key=_key(kind.name, key)
        )
        for key in options
        if key not in known
    ]
    own = {key: value for key, value in options.items() if known.get(key) is True}
    every = {key: value for key, value in options.items() if known.get(key) is False}
    read: list[Any] = []
    for shape, stated in ((TaskOptions, every), (kind.build, {"name": kind.name, **own})):
        try:
            read.append(_adapter(shape).validate_python(stated))
        except ValidationError as error:
            found = error.errors(include_url=False)
            problems += [Problem(misfit(each), key=_key(kind.name, *each["loc"])) for each in found]
        except UsageError as error:
            problems.append(Problem(str(error), key=_key(kind.name)))
    if problems:
        raise ProblemsError(problems)
    chosen, suite = read
    return SuiteOptions(kind, suite, chosen, own, frozenset(typed), places or {})


def _placed(problem: Problem, places: Places) -> Problem:
    return replace(places.get(problem.key or "", problem), message=problem.message)


def stated_options(
    suites: Iterable[str], config: Mapping[str, Any], options: RunOptions, places: Places | None = None
) -> dict[str, SuiteOptions]:
    """The options of the ``suites`` of a run, from its file and the command line.

    ``config`` are the options of the file by suite, in their ``places``. Those of evaluations that do not take part are
    checked too.

    Raises:
        ProblemsError: all options that are invalid or that no evaluation of the run takes, and scores that cannot rank.
    """
    kinds = {name: known_suite(name) for name in suites}
    problems = rank_problems(options.rank_metric, kinds)
    typed = _typed(kinds, options, problems)
    typed_keys = {_key(name, option) for name, own in typed.items() for option in own}
    places = {key: place for key, place in (places or {}).items() if key not in typed_keys}
    read: dict[str, SuiteOptions] = {}
    for name in dict.fromkeys([*config, *kinds]):
        own = typed.get(name, {})
        stated = {option: value for option, value in own.items() if value is not None}
        rest = {option: value for option, value in (config.get(name) or {}).items() if option not in own}
        try:
            kind = kinds.get(name) or known_suite(name, f"suites.{name}")
            read[name] = suite_options(kind, {**rest, **stated}, stated, places)
        except ProblemsError as error:
            problems += [_placed(each, places) for each in error.problems]
    if problems:
        raise ProblemsError(problems)
    return {name: read[name] for name in kinds}


def _typed(kinds: Mapping[str, SuiteKind], options: RunOptions, problems: list[Problem]) -> dict[str, dict[str, Any]]:
    """By suite the value of each option that a flag or ``--set suite.key=value`` states."""
    special: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for word in options.set:
        target, equals, value = word.partition("=")
        name, _, key = target.partition(".")
        if not (equals and name and key):
            why = "; expected suite.key=value or run.key=value"
        elif name not in kinds:
            near = f"{name} is not part of this run; add --suite {name}"
            why = f"; {near if suite_kind(name) else f'unknown suite{nearest(name, kinds)}'}"
        elif key in special[name]:
            why = f", but it {GIVEN_TWICE}"
        else:
            special[name][key] = value
            continue
        problems.append(Problem(f"read {word!r}{why}", key="--set"))
    found: dict[str, dict[str, Any]] = {name: {} for name in kinds}
    for flag, option, value in options.suite_flags():
        able = [kind.name for kind in SUITES if option in options_of(kind)]
        meant = [name for name in kinds if name in able]
        if option == "test_file_path":
            # Triggering reads the run's file, else all evaluations without a file of their own.
            meant = [name for name in meant if option not in special[name]] or meant
            meant = [name for name in meant if kinds[name].compares] or meant
        for name in meant:
            found[name][option] = value
        if value is not None and all(option in special[name] for name in meant):
            instead = f"no evaluation of this run takes it, only {listed(able)}; add --suite {able[0]}"
            instead = f"--set gives another value for {listed(meant)}; leave out one of them" if meant else instead
            problems.append(Problem(instead, key=flag))
    return {name: found[name] | special[name] for name in kinds}


def rank_problems(metrics: Iterable[str], suites: Iterable[str]) -> list[Problem]:
    """A problem for each rank metric that is not a score of an evaluation of this run."""
    able = [name for name in suites if known_suite(name).ranks_by is not None]
    which = f"in this run only {', '.join(able)} can" if able else "no evaluation of this run has one"
    wrong = [metric for metric in metrics if metric not in able]
    return [Problem(f"{metric!r} is not a score that can rank; {which}", key="run.rank_metric") for metric in wrong]
