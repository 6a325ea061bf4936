"""The refusal of flags that have no effect beside the other flags of a command line.

The rules see what was really typed, so a flag that repeats its default is not passed over in silence either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.console.output import say
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.words import Texts

if TYPE_CHECKING:
    from cyclopts import App, ArgumentCollection

Typed = Mapping[str, Sequence[str]]
"""By name of a flag or argument, what was typed for it."""

# The commands that take every flag of a run; "" is none, which means run.
_RUNS = ("", "run", "bfcl", "plan", "check")
_JUDGING_STORED = ("--from", "--slo", "--at-least", "--json")
# Flags without effect on a plan or a dry run, because they concern sending, judging and reporting.
_OF_SENDING = (
    "--seed", "--connect-timeout", "--first-token-timeout", "--idle-timeout", "--client", "--transport",
    "--no-calibration", "--insecure-cluster", "--dask-hang-after", "--undecided", "--schema", "--rank-metric", "--gate",
    "--slo", "--baseline-f1", "--output-dir", "--redact-content", "--quiet", "--verbose", "--history",
    "--monthly-requests", "--monthly-tokens", "--compress", "--records-file-mb",
    "--no-history", "--timeout", "--dask-scheduler", "--dask-local", "--executor", "--workers",
)  # fmt: skip
_NOT_PLANNED = (
    *_OF_SENDING, "--dry-run", "--incremental", "--vendor-concurrency", "--temperature", "--extra-body",
    "--compare-parameters",
    "--bfcl-version",
)  # fmt: skip
# Flags of ``score`` without effect on a file of answers.
_OF_RUNS_ONLY = (
    "--answer-format", "--bfcl-version", "--undecided", "--schema", "--rank-metric", "--gate", "--slo", "--baseline-f1",
    "--monthly-requests", "--monthly-tokens", "--history", "--no-history",
)  # fmt: skip
_NOT_SHOWN = (
    *_OF_SENDING, "--vendor-concurrency", "--retries", "--max-requests", "--max-cost", "--temperature", "--max-tokens",
    "--extra-body", "--tokenizer-model",
)  # fmt: skip


class _Rule(msgspec.Struct, frozen=True):
    """A rule: flags of some commands, the test ``idle`` for when they have no effect, and the remedy."""

    commands: Collection[str]
    flags: Collection[str]
    idle: Callable[[Typed], bool]
    mend: str


def refuse_idle_flags(_app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Refuse the flags of a parsed command line that have no effect, and note those that a plan does not show.

    Raises:
        ProblemsError: all flags of it without effect.
    """
    command = commands[-1] if commands else ""
    typed = {argument.name: [token.value for token in argument.tokens] for argument in arguments if argument.tokens}
    problems = list(_problems(command, typed))
    if problems:
        raise ProblemsError(problems)
    if command == "plan":
        _note([flag for flag in _NOT_PLANNED if flag in typed], "note_plan")
    elif command in _RUNS and "--dry-run" in typed:
        _note([flag for flag in _NOT_SHOWN if flag in typed], "note_dry_run")


def _problems(command: str, typed: Typed) -> Iterator[Problem]:
    for rule in _RULES:
        if command in rule.commands and rule.idle(typed):
            for flag in typed:
                if flag in rule.flags:
                    yield Problem(rule.mend, key=flag)
    if command == "capacity" and "--from" in typed:
        for flag in typed:
            if flag not in _JUDGING_STORED:
                yield Problem("--from judges a stored search again and sends nothing; leave it out", key=flag)


def _note(flags: Sequence[str], name: str) -> None:
    if flags:
        t = Texts()
        say(t("note_line", note=t(name, flags=", ".join(flags))))


def _is_on_dask(typed: Typed) -> bool:
    return typed.get("--executor", ())[-1:] == ["dask"]


def _asks_trigger(typed: Typed) -> bool:
    """Whether the evaluation that compares with the baseline takes part."""
    # Loaded only where the question comes up: help stays quick.
    from vendor_verifier.suites import SUITES, compares

    suites = typed.get("--suite", ())
    if "--job" in typed:
        return False
    return any(map(compares, suites)) or not (
        suites or any(flag in typed for kind in SUITES for flag in kind.flags.values())
    )


def _formats(typed: Typed) -> set[str]:
    return {word.strip() for text in typed.get("--format", ["terminal"]) for word in text.split(",")}


_RULES: tuple[_Rule, ...] = (
    _Rule((*_RUNS,), ("--verbose",), lambda typed: "--quiet" in typed, "--quiet shows nothing of it; keep one of them"),
    _Rule(
        (*_RUNS, "capacity"),
        ("--insecure-cluster",),
        lambda typed: not _is_on_dask(typed),
        "speaks of a cluster; add --executor dask, or leave it out",
    ),
    _Rule(
        (*_RUNS, "capacity"),
        ("--dask-hang-after",),
        lambda typed: not _is_on_dask(typed) and typed.get("--workers", ["1"])[-1] == "1",
        "speaks of workers; add --executor dask or --workers, or leave it out",
    ),
    _Rule(
        _RUNS,
        ("--baseline-repeats", "--baseline-f1", "--undecided"),
        lambda typed: not _asks_trigger(typed),
        "is about F1, which the evaluation trigger measures; add --suite trigger, or leave it out",
    ),
    _Rule(
        (*_RUNS, "score", "report"),
        ("--monthly-tokens",),
        lambda typed: "--monthly-requests" in typed,
        "and --monthly-requests are two volumes; leave one of them out",
    ),
    _Rule(
        _RUNS,
        ("--baseline-repeats",),
        lambda typed: "--duration" in typed or "--replay-schedule" in typed,
        "the shape of the load decides how often samples are asked; leave it out",
    ),
    _Rule(
        _RUNS,
        ("--undecided", "--schema", "--rank-metric", "--baseline-f1", "--monthly-requests", "--monthly-tokens"),
        lambda typed: "--incremental" in typed,
        "a run is gone on with as it was begun; judge it otherwise with `score RUN` afterwards",
    ),
    _Rule(
        ("", "run", "bfcl", "check"),
        ("--json",),
        lambda typed: "--dry-run" in typed,
        "a dry run shows what would be sent as text; `plan --json` foretells in JSON",
    ),
    _Rule(
        ("", "run", "bfcl", "check"),
        ("--incremental",),
        lambda typed: "--dry-run" in typed,
        "a dry run shows what a whole run would send, not what is missing of one; leave it out",
    ),
    _Rule(
        ("score",),
        _OF_RUNS_ONLY,
        lambda typed: Path(typed.get("RUN", [""])[-1]).is_file(),
        "is about a run, and this is a file of answers; leave it out",
    ),
    _Rule(("check",), ("--quiet",), lambda _typed: True, "a check says nothing when all is well; leave it out"),
    _Rule(("check",), ("--notify",), lambda typed: "--webhook-env" not in typed, "add --webhook-env NAME"),
    _Rule(("bfcl",), ("--suite",), lambda _typed: True, "a job is run by the evaluation bfcl alone; leave it out"),
    _Rule(("explain",), ("--limit",), lambda typed: "--sample" in typed, "one sample is shown whole; leave it out"),
    _Rule(
        ("explain",),
        ("--full", "--repetition"),
        lambda typed: "--sample" not in typed,
        "speaks of one sample; add --sample ID",
    ),
    _Rule(("explain",), ("--full",), lambda typed: "--json" in typed, "JSON is never cut; leave it out"),
    _Rule(("bundle",), ("--output",), lambda typed: "--verify" in typed, "--verify writes nothing; leave it out"),
    _Rule(
        ("report",),
        ("--output-dir",),
        lambda typed: _formats(typed) == {"terminal"},
        "the format terminal is not written to a file; add others with --format",
    ),
    _Rule(
        ("capacity",),
        ("--up-to", "--step"),
        lambda typed: "--sweep" in typed,
        "--sweep names every level; leave it out",
    ),
    _Rule(("compare",), ("--history",), lambda typed: "AFTER" in typed, "two runs are compared without a history"),
)
