"""The verdict on a vendor from run to run: in the history, between two runs, and over a trend."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import synthetic_run
from advising import advised
from changing import replace
from histories import METRIC, night

from vendor_verifier.features.history.database import add_run, read_runs
from vendor_verifier.features.history.figures import history_run
from vendor_verifier.features.history.page import render_runs, render_runs_text
from vendor_verifier.features.history.regression import trends
from vendor_verifier.features.history.verdict_changes import (
    change_lines,
    failing_lines,
    got_worse,
    verdict_changes,
    verdict_trend_lines,
)
from vendor_verifier.records.history import HistoryRun, RunComparison, VerdictChange
from vendor_verifier.records.verdict import Status
from vendor_verifier.reports import scores_json
from vendor_verifier.store import RunFolder
from vendor_verifier.words import Texts

EN = Texts()


def nightly(number: int, verdict: Status | None) -> HistoryRun:
    """One night of one vendor with that verdict."""
    run = night(number, {"a": 100.0})
    return replace(run, entries=tuple(replace(entry, verdict=verdict) for entry in run.entries))


def test_the_history_keeps_the_verdict_of_each_vendor(tmp_path: Path) -> None:
    """As the report states it, and as unknown where nothing was judged."""
    judged, unjudged = synthetic_run.report(12), replace(synthetic_run.report(12, judged=False), run="other")
    for report in (judged, unjudged):
        assert add_run(tmp_path / "h.sqlite", history_run(report, "f")) is None
    stored = {
        run.run: {entry.label: entry.verdict for entry in run.entries} for run in read_runs(tmp_path / "h.sqlite")
    }
    vendors = judged.advice[synthetic_run.MODEL].vendors
    assert stored[judged.run] == {label: verdict.status for label, verdict in vendors.items()}
    assert set(stored["other"].values()) == {None}


def test_a_history_of_before_is_read_and_goes_on(tmp_path: Path) -> None:
    """Its runs have an unknown verdict; the next run adds the table."""
    file = tmp_path / "h.sqlite"
    add_run(file, nightly(1, "as_sold"))
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE verdicts")
    assert [entry.verdict for run in read_runs(file) for entry in run.entries] == [None]
    assert add_run(file, nightly(2, "doubtful")) is None
    assert [entry.verdict for run in read_runs(file) for entry in run.entries] == [None, "doubtful"]


def test_a_trend_says_since_when_a_verdict_holds() -> None:
    """The newest verdict, the run it began with, and the one before."""
    statuses: list[Status | None] = [None, "as_sold", "as_sold", "not_as_sold", "not_as_sold"]
    found = trends([nightly(number, status) for number, status in enumerate(statuses)], metrics=[METRIC])
    assert list(verdict_trend_lines(found, EN)) == ["verdict: m / a: not as sold since run night-003, as sold before"]
    steady = trends([nightly(number, "as_sold") for number in range(3)], metrics=[METRIC])
    assert list(verdict_trend_lines(steady, EN)) == ["verdict: m / a: as sold in all 3 runs"]


def test_the_list_of_runs_names_who_was_not_as_sold() -> None:
    """Beside each run; honest and unknown ones take no line."""
    assert list(failing_lines(nightly(0, "unusable"), EN)) == ["m / a unusable"]
    assert not [line for status in ("doubtful", None) for line in failing_lines(nightly(0, status), EN)]


def test_a_trend_of_unknown_verdicts_says_nothing() -> None:
    """A history of before has none to tell."""
    assert not list(verdict_trend_lines(trends([nightly(0, None)], metrics=[METRIC]), EN))


def folder(path: Path, **changes: Any) -> RunFolder:
    """A folder with scores.json of a judged run."""
    made = RunFolder(path)
    made.create()
    report = replace(advised(synthetic_run.report(12, synthetic_run.LABELS[:3])), **changes)
    made.write("scores.json", scores_json.render(report))
    return made


def test_two_runs_are_compared_by_their_verdicts(tmp_path: Path) -> None:
    """Changed ones first; a run scored before there were verdicts has an unknown one."""
    one, other = folder(tmp_path / "a", advice={}), folder(tmp_path / "b")
    found = verdict_changes(one, other)
    assert {(change.label, change.before, change.after) for change in found} == {
        ("moonshot", None, "as_sold"), ("fireworks (openrouter)", None, "as_sold"), ("together", None, "not_as_sold"),
    }  # fmt: skip
    assert "verdict: kimi-k2.5 / together: unknown → not as sold" in change_lines(found, EN)
    assert change_lines(verdict_changes(other, other), EN)[-1].endswith("together: not as sold, as before")
    assert not verdict_changes(one, one)


@pytest.mark.parametrize("text", ["", "[]", '{"models": 3}', '{"models": {"m": {"vendors": {"a": {"verdict": "x"}}}}}'])
def test_scores_that_are_none_of_ours_have_no_verdict(tmp_path: Path, text: str) -> None:
    """Whatever stands in the file, the comparison goes on without it."""
    made = RunFolder(tmp_path / "a")
    made.create()
    made.write("scores.json", text)
    assert not verdict_changes(made, folder(tmp_path / "b"))


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ("as_sold", "not_as_sold", True), ("doubtful", "unusable", True), ("not_as_sold", "unusable", True),
        ("as_sold", "doubtful", False), ("unusable", "not_as_sold", False), (None, "unusable", False),
        ("too_little_evidence", "unusable", False), ("as_sold", "too_little_evidence", False),
    ],
)  # fmt: skip
def test_a_verdict_got_worse_where_a_vendor_fell_to_not_as_sold(
    before: Status | None, after: Status | None, worse: bool
) -> None:
    """Doubt comes and goes between honest runs, so it alone is no loss."""
    assert got_worse(VerdictChange("m", "a", before, after)) == worse


def test_runs_side_by_side_begin_with_their_verdicts() -> None:
    """A table of vendors × runs before the figures, and what changed in the first lines of the page."""
    report = advised(synthetic_run.report(12, synthetic_run.LABELS[:3]))
    found = RunComparison("r1", "r2", 12, verdicts=(VerdictChange("m", "swapped", "as_sold", "not_as_sold"),))
    assert "verdict: m / swapped: as sold → not as sold" in render_runs([report, report], [found])
    text = render_runs_text([report, report], [found])
    assert text.index("| together | ✘ not as sold | ✘ not as sold |") < text.index("Success")
