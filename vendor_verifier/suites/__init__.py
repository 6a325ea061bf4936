"""The evaluations on offer, and the protocol of a suite.

A suite is a pure generator over a sample: it sees no clock, no socket and no other sample. ``play`` yields a turn and
is sent back the final :class:`Attempt` of it (a failure is one, too), as often as it likes, and returns a function that
gives the :class:`Score`, so that nothing is scored while streams are timed. A suite whose models call real tools also
yields :class:`RunTools` and is sent their results, by the tools in a run and from the record later.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import Any, Protocol

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.records.record import Attempt, Score, TurnRecord
from vendor_verifier.records.request import RunTools, ToolResult, Turn
from vendor_verifier.records.sample import Sample

Judgement = Callable[[], Score]
# Of a suite that only asks.
Play = Generator[Turn, Attempt, Judgement]
# Of any suite: a turn takes its final attempt, tools that are to run take their results.
AnyPlay = Generator[Turn | RunTools, Any, Judgement]


class Suite(Protocol):
    """One evaluation. Instances are immutable; options are constructor arguments."""

    @property
    def name(self) -> str: ...

    def play(self, sample: Sample) -> AnyPlay:
        """Yield each turn to send, take its final attempt, and return the judgement."""


def next_asked(play: AnyPlay, sent: Attempt | None, results: Callable[[RunTools], tuple[ToolResult, ...]]) -> Turn:
    """The turn that a play asks next, given the last one's attempt; ``results`` are those of tools it wants to run.

    Raises StopIteration with the judgement where it asks no more.
    """
    step = play.send(sent)
    while isinstance(step, RunTools):
        step = play.send(results(step))
    return step


def replay(play: AnyPlay, turns: Iterable[TurnRecord | Attempt], asked: list[Turn] | None = None) -> Score | None:
    """Drive a play with recorded turns, or final attempts where no tools were run; None when these end before it.
    The turns that it asks are added to ``asked``."""
    asked = [] if asked is None else asked
    returned: tuple[ToolResult, ...] = ()

    def results(_step: RunTools) -> tuple[ToolResult, ...]:
        return returned

    try:
        asked.append(next_asked(play, None, results))
        for turn in turns:
            if isinstance(turn, Attempt):
                asked.append(next_asked(play, turn, results))
            elif turn.attempts:
                returned = turn.tool_results
                asked.append(next_asked(play, turn.attempts[-1], results))
    except StopIteration as end:
        judgement: Judgement = end.value
        return judgement()
    play.close()
    return None


@dataclass(frozen=True, slots=True)
class SuiteKind:
    """One evaluation; ``builder``, a dataclass, and ``hooks`` are named as ``module:name`` in this package and imported
    when used.

    ``samples`` is a shipped file or a function that gives built-in ones; None where the options say what is read.
    ``ranks_by`` is the key of ``Score.values`` whose mean joins the ranking table. ``compares``: its result is a
    comparison of decisions with the baseline's. ``diagnostic``: it joins no ranked figure (feature checks, probes).
    ``hooks`` is a class of :class:`vendor_verifier.pipeline.suites.SuiteHooks`.
    ``judges_by`` are the options that only say how an answer is judged. ``by_call_type``: its filters read a difficulty
    as a call type, and a category as equal.
    """

    name: str
    builder: str
    samples: str | None
    ranks_by: str | None = None
    compares: bool = False
    diagnostic: bool = False
    hooks: str = "pipeline.suites:SuiteHooks"
    judges_by: tuple[str, ...] = ()
    by_call_type: bool = False

    @property
    def build(self) -> Callable[..., Suite]:
        """The class of the suite, whose fields are its options."""
        built: Callable[..., Suite] = _named(self.builder)
        return built

    def around(self) -> Any:
        """What the evaluation does around a run, next to asking and judging."""
        return _named(self.hooks)()

    @property
    def is_built_in(self) -> bool:
        """Whether its samples are made by a function: no file is read, and ``--limit`` does not apply."""
        return self.samples is not None and ":" in self.samples

    @property
    def dataset(self) -> str | Callable[[], tuple[Sample, ...]] | None:
        """The shipped file, or the function that gives the built-in samples."""
        return _named(self.samples) if self.samples is not None and self.is_built_in else self.samples


def _named(place: str) -> Any:
    return resolve_name(f"vendor_verifier.{place}")


# The evaluation that compares decisions to call with the baseline's: also that of a run that names none.
TRIGGER = "trigger"

# The evaluations whose rows state the right calls, which are read from calls or from a text.
OF_CALLS = ("toolbench", "mcptoolbench", "tool_correctness")

SUITES: tuple[SuiteKind, ...] = (
    SuiteKind(TRIGGER, "suites.trigger:TriggerSuite", "datasets/samples.jsonl", compares=True),
    SuiteKind("toolbench", "suites.toolbench:ToolBenchSuite", "datasets/toolbench.jsonl", "resolved"),
    SuiteKind(
        "mcptoolbench",
        "suites.toolbench:MCPToolBenchSuite",
        "datasets/mcp_toolbench.jsonl",
        "resolved",
        by_call_type=True,
    ),
    SuiteKind(
        "mcp_live",
        "features.mcp_live.suite:McpLiveSuite",
        "datasets/mcp_live.jsonl",
        "resolved",
        hooks="features.mcp_live.suite:McpLiveHooks",
    ),
    SuiteKind(
        "tool_correctness",
        "suites.tool_correctness:ToolCorrectnessSuite",
        "datasets/tool_correctness.jsonl",
        "score",
        judges_by=("threshold", "exact_match", "check_ordering", "compare_parameters"),
    ),
    SuiteKind("bfcl", "suites.bfcl.suite:BfclSuite", None, "correct", hooks="pipeline.bfcl.hooks:BfclHooks"),
    SuiteKind("contract", "suites.contract:ContractSuite", "suites.contract:contract_samples", "kept", diagnostic=True),
    SuiteKind(
        "probes",
        "suites.probes:ProbesSuite",
        "suites.probes:probes_samples",
        diagnostic=True,
        hooks="pipeline.suites:ProbesHooks",
    ),
)


def suite_kind(name: str) -> SuiteKind | None:
    """The suite of that name, or None."""
    return next((kind for kind in SUITES if kind.name == name), None)


def is_diagnostic(suite: str) -> bool:
    """Whether an evaluation joins no figure of a vendor but its own: feature checks and probes."""
    kind = suite_kind(suite)
    return kind is not None and kind.diagnostic


def known_suite(name: str, key: str = "--suite") -> SuiteKind:
    """The suite of that name, which ``key`` states; raises ProblemsError where there is none."""
    kind = suite_kind(name)
    if kind is None:
        known = [each.name for each in SUITES]
        near = "".join(f"did you mean {each}? " for each in get_close_matches(name, known, 1))
        hint = "repeat --suite for several; " if "," in name else near
        raise ProblemsError([Problem(f"unknown suite {name!r}; {hint}known are {', '.join(known)}", key=key)])
    return kind
