"""What a check says and returns: verdicts that became worse, gates, trends, and one line when all is well."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import made_results
import numpy as np
import pytest
from history_worlds import METRIC, history
from msgspec import structs
from scored import bare_run, scored_demo, write_demo

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.history.check import MOST_LINES, CheckResult, judge_check
from vendor_verifier.features.history.database import read_history, remember
from vendor_verifier.pipeline.run import RunOutcome
from vendor_verifier.records.results import (
    FACETS,
    Choice,
    Facet,
    FacetName,
    GateResult,
    ModelResult,
    Report,
    Status,
    VendorResult,
    Verdict,
)
from vendor_verifier.reports import junit
from vendor_verifier.store import RunFolder


def vendor(label: str, speed: Status = "matches", other: Status = "matches") -> VendorResult:
    """A vendor whose speed has this status, and its other facets that one."""
    facets: dict[FacetName, Facet] = {name: Facet(status=other, reason=f"{name} seen") for name in FACETS}
    facets["speed"] = Facet(
        status=speed, reason="First token 3 times slower." if speed == "check" else "This was busy."
    )
    order = ("down", "differs", "check", "not_tested", "matches")
    worst: Status = min((speed, other), key=order.index)
    reason = facets["speed"].reason if worst == speed else facets["model"].reason
    return made_results.vendor(label, verdict=Verdict(worst, reason, facets))


def night(*vendors: VendorResult, run: str, gates: tuple[GateResult, ...] = ()) -> Report:
    official = structs.replace(vendor("official"), is_baseline=True, verdict=Verdict("reference", "the baseline"))
    found = {each.label: each for each in (official, *vendors)}
    return Report(
        run=run,
        complete=True,
        models={"m": ModelResult(baseline="official", choice=Choice("none"), vendors=found)},
        gates=gates,
    )


def outcome_of(report: Report, folder: Path, number: int = 0, **ended: Any) -> RunOutcome:
    """A run of that night; ``stopped`` are vendors that were stopped, by ``model: label``."""
    scored = scored_demo()
    stopped = {"stopped": ended.pop("stopped", {})}
    manifest = structs.replace(scored.manifest, created_at=f"2026-11-{1 + number:02d}T03:00:00Z", **stopped)
    own = type(scored)(**{**vars(scored), "report": report, "manifest": manifest})
    return RunOutcome(RunFolder(folder), own, **ended)


def checked(nights: list[Report], folder: Path, **ended: Any) -> CheckResult:
    """The check of the last of these nights, which are all in the history."""
    for number, report in enumerate(nights):
        outcome = outcome_of(report, folder, number, **ended)
        assert remember(outcome.folder, outcome.scored, folder / "history.sqlite") is None
    return judge_check(outcome, read_history(folder / "history.sqlite"), [METRIC])


def junit_failures(report: Report, result: CheckResult) -> list[str | None]:
    document = ElementTree.fromstring(junit.render(bare_run(report), result.regressions))
    return [case.get("name") for case in document.iter("testcase") if case.find("failure") is not None]


def test_one_line_when_all_is_well(tmp_path: Path) -> None:
    """Who matches, and who was not tested with the reason; never nothing."""
    result = checked([night(vendor("a"), vendor("b"), vendor("c"), vendor("d", "not_tested"), run="r1")], tmp_path)
    assert (result.status, result.exit_code, result.lines) == ("passed", 0, ())
    assert result.headline == "check passed: 3 vendors match, 1 not tested (d: This was busy) (run r1)"


def test_a_vendor_that_became_slow_fails_by_name(tmp_path: Path) -> None:
    """Long before there is history enough for trends; the same the next night is shown, and fails no more."""
    nights = [night(vendor("a"), vendor("b"), run="r1"), night(vendor("a"), vendor("b", "check"), run="r2")]
    result = checked(nights, tmp_path)
    assert result.exit_code == 1
    assert result.headline.startswith("check failed: b (speed to check) (run r2)")
    assert result.lines[0].startswith("b: speed to check (matches before): First token 3 times slower")
    assert junit_failures(nights[-1], result) == ["speed"]
    assert "1 to check (b: speed since this run)" in checked([night(vendor("b", "check"), run="r1")], tmp_path).headline
    again = checked([*nights, night(vendor("a"), vendor("b", "check"), run="r3")], tmp_path)
    assert (again.exit_code, again.lines) == (0, ())
    assert "1 to check (b: speed since r2)" in again.headline
    better = checked([*nights, night(vendor("a"), vendor("b"), run="r3")], tmp_path)
    assert (better.exit_code, better.lines) == (0, ("b: speed matches (to check before): This was busy.",))


@pytest.mark.parametrize(("status", "words"), [("differs", "b (model differs, "), ("down", "b (model down, ")])
def test_a_vendor_that_differs_fails_every_check(tmp_path: Path, status: Status, words: str) -> None:
    nights = [night(vendor("b", other=status), run=f"r{number}") for number in range(3)]
    assert words in checked(nights[:1], tmp_path).headline
    result = checked(nights, tmp_path)
    assert result.exit_code == 1
    assert "since r0, 3 runs" in result.lines[0]


def test_gates_and_unfinished_vendors_have_their_exit_codes(tmp_path: Path) -> None:
    failed, open_one = (
        GateResult("m", "a", "f1 >= 0.9", outcome, reason="0.8") for outcome in ("failed", "not_decided")
    )
    result = checked([night(vendor("a"), run="r", gates=(failed,))], tmp_path, stopped={"m: a": "refused"})
    assert (result.status, result.exit_code) == ("failed", 1)
    assert "1 gate failed" in result.headline
    result = checked([night(vendor("a"), run="r", gates=(open_one,))], tmp_path)
    assert (result.exit_code, result.lines) == (0, ("gates not decided by so few samples: f1 >= 0.9",))
    result = checked([night(vendor("a"), run="r")], tmp_path, stopped={"m: a": "refused"})
    assert (result.exit_code, result.headline[:38]) == (3, "check incomplete: 1 vendor incomplete,")
    stopped = checked([night(vendor("a", other="differs"), run="r")], tmp_path, signal_number=15)
    assert (stopped.status, stopped.exit_code, stopped.changes) == ("interrupted", 143, ())


def test_a_figure_that_got_worse_for_good_fails(tmp_path: Path) -> None:
    """Thirty quiet nights, then two that are slower, which no verdict saw."""
    values = 800 * np.exp(np.random.default_rng(4).normal(0, 0.02, 32))
    values[30:] *= 1.4
    runs = history({"official": {METRIC: np.ones(32)}, "a": {METRIC: values}})
    outcome = outcome_of(night(vendor("a"), run="n031"), tmp_path)
    result = judge_check(outcome, runs, [METRIC])
    assert result.exit_code == 1
    assert "a (ttft_ms.p50 got worse)" in result.headline
    assert junit_failures(outcome.report, result) == [METRIC]
    assert judge_check(outcome, runs, ["f1"]).exit_code == 0


def test_at_most_ten_lines_and_nothing_of_strangers_gets_through(tmp_path: Path) -> None:
    vendors = [vendor(f"v{number}\x1b[31m\n::error::", other="differs") for number in range(12)]
    result = checked([night(*vendors, run="r")], tmp_path)
    assert len(result.lines) == MOST_LINES
    assert "more lines" in result.lines[-1]
    assert not any(each in line for line in (result.headline, *result.lines) for each in ("\x1b", "\n", "::error"))


def test_a_stored_run_is_checked_without_sending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code, the first line, check.json and the history; a gate of the command line is judged, too."""
    monkeypatch.chdir(tmp_path)
    run = write_demo(tmp_path, "official", "slow", "substitute")
    code = run_app(["check", str(run), "--history", "h.sqlite"])
    out = capsys.readouterr().out
    assert code == 1
    assert out.startswith("check failed: ")
    assert "substitute (model differs" in out.splitlines()[0]
    assert len(out.splitlines()) <= MOST_LINES + 1
    assert (run / "check.json").exists()
    assert "substitute" in (run / "junit.xml").read_text()
    assert set(read_history(tmp_path / "h.sqlite")["run"]) == {"20261124T182918Z-10b4a8"}
    run_app(["check", str(run), "--history", "none", "--gate", "avg_ttft_ms <= 1", "--json"])
    assert '"avg_ttft_ms <= 1"' in capsys.readouterr().out
