"""Adds a scored run to the history and reads verdicts from it; a history that cannot be written fails nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from vendor_verifier.audit.identity import changes_since_last
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.features.history.database import add_run, default_history_file, read_runs
from vendor_verifier.features.history.figures import ALIASES, WATCHED, history_run, known_figures
from vendor_verifier.features.history.regression import comparable, trends
from vendor_verifier.store import RunFolder
from vendor_verifier.values.history import HistoryRun, Trend
from vendor_verifier.values.judgement import Finding
from vendor_verifier.values.score import Report


def history_file(stated: Path | None, *, none: bool) -> Path | None:
    """The file of ``--history`` or the default; ``None`` with ``--no-history``.

    Raises:
        UsageError: both are given.
    """
    if none and stated is not None:
        raise UsageError("--history and --no-history contradict each other; give one of them")
    return None if none else stated or default_history_file()


def remember(folder: RunFolder, report: Report, file: Path | None) -> str | None:
    """Add ``report`` to the history; a warning in one sentence if that failed. A run without any record is left out."""
    if file is None:
        return None
    run = history_run(report, str(folder.path.resolve()))
    return add_run(file, run) if run.entries else None


def identity_changes(file: Path, run: str) -> tuple[tuple[str, Finding], ...]:
    """(model, finding): what the answers of ``run`` call themselves otherwise than in the last run before it.

    Raises:
        UsageError: the history cannot be read, or does not hold the run.
    """
    runs = read_runs(file)
    position = _position(runs, run, file)
    return tuple(changes_since_last(runs[: position + 1]))


def metric_names(words: Iterable[str]) -> tuple[str, ...]:
    """The figures that people's words mean, such as ``ttft`` for ``ttft_ms.p50``; unknown words stay as they are."""
    return tuple(dict.fromkeys(ALIASES.get(word, word) for word in words))


def check_figures(words: Iterable[str], suites: Iterable[str]) -> None:
    """Refuse names of figures that no run with ``suites`` can have: a misspelt one would never be judged.

    Raises:
        ProblemsError: with what was read and what is known.
    """
    known = known_figures(suites)
    unknown = [word for word in words if ALIASES.get(word, word) not in known]
    if unknown:
        said = f"read {', '.join(unknown)}; known are {', '.join((*ALIASES, *known))}"
        raise ProblemsError([Problem(said, key="--fail-on")])


def history_trends(
    file: Path,
    *,
    metrics: Sequence[str] = (),
    models: Sequence[str] = (),
    labels: Sequence[str] = (),
    until: str | None = None,
) -> tuple[Trend, ...]:
    """Verdicts over the history, about its newest run or the run with id ``until``; by default on ``WATCHED`` figures.

    Raises:
        UsageError: the history cannot be read, holds no such run, or none of its newest run's vendors has the metric.
    """
    runs = _until(read_runs(file, models=models, labels=labels), until, file)
    wanted = metric_names(metrics) or WATCHED
    found = trends(runs, metrics=wanted, models=models, labels=labels)
    series = comparable(runs)
    if metrics and series and not found:
        known = sorted({name for entry in series[-1].entries for name in entry.figures})
        words = f"no such figure in the history: {', '.join(metrics)}; known are {', '.join(known)}"
        raise ProblemsError([Problem(words, key="--metric")])
    return found


def _until(runs: tuple[HistoryRun, ...], until: str | None, file: Path) -> tuple[HistoryRun, ...]:
    if until is None:
        return runs
    position = _position(runs, until, file)
    if not runs[position].complete:
        raise UsageError(f"run {until} was interrupted; half a run is not held against the history")
    return runs[: position + 1]


def _position(runs: Sequence[HistoryRun], name: str, file: Path) -> int:
    position = next((index for index, run in enumerate(runs) if run.run == name), None)
    if position is None:
        raise UsageError(f"run {name} is not in the history {file}; `score RUN` adds it")
    return position
