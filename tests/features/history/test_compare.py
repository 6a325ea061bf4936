"""Two runs compared: only what is worse in its plain figure, too, is worse; settings and verdicts that differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_runs import records
from msgspec import structs
from scored import MODEL, scored_demo, write_demo

import vendor_verifier
from vendor_verifier.cli.main import run_app
from vendor_verifier.features.history.compare import RunComparison, compare_scored, comparison_lines
from vendor_verifier.records.request import Turn
from vendor_verifier.records.results import Choice, Facet, ModelResult, Report, VendorResult, Verdict
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.scoring.columns import RECORD_COLUMNS
from vendor_verifier.scoring.figures import ScoredRun

N = 120
LABELS = ("official", "a", "b", "c", "d")


@pytest.fixture
def demo() -> ScoredRun:
    return scored_demo()


def run_of(seed: int, demo: ScoredRun, n: int = N, **vices: Any) -> ScoredRun:
    """A run of five vendors; ``a`` may be ``slower`` (a factor), fail a share (``failing``) or call ``extra``."""
    random, parts = np.random.default_rng(seed), []
    for label in LABELS:
        own = vices if label == "a" else {}
        ttft = 118 * np.exp(random.normal(0, 0.2, n)) * vices.get("everybody", 1.0) * own.get("slower", 1.0)
        ok = random.random(n) >= own.get("failing", 0.0)
        called = (np.arange(n) % 2 == 0) | (random.random(n) < own.get("extra", 0.0))
        decision = np.select([~ok, called], ["undecided", "called"], "not_called")
        part = records(
            label, n, model=MODEL, ok=ok, decision=decision, classes=np.where(called & ok, "valid", None),
            ttft_ms=np.where(ok, ttft, np.nan), e2e_ms=2 * ttft, output_tokens=random.poisson(60, n), tokens_after=50.0,
            decode_s=0.5 * np.exp(random.normal(0, 0.1, n)),
        )  # fmt: skip
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True).astype({each.name: each.dtype for each in RECORD_COLUMNS})
    samples = {"trigger": Samples([Sample(f"s{place}", Turn(())) for place in range(n)])}
    return replace(demo, records=frame, samples=samples, report=_report(frame, seed))


def _report(frame: pd.DataFrame, seed: int) -> Report:
    vendors = {}
    expected = (frame[frame["label"] == "official"]["decision"] == "called").to_numpy()
    for label in LABELS:
        rows = frame[frame["label"] == label]
        got = (rows["decision"] == "called").to_numpy()
        vendors[label] = VendorResult(
            label=label,
            vendor=label,
            model_id=MODEL,
            is_baseline=label == "official",
            verdict=Verdict("matches", "", {"speed": Facet(status="matches", reason="")}),
            f1=float(2 * (expected & got).sum() / (expected.sum() + got.sum())),
            success_rate=float(rows["ok"].mean()),
            schema_accuracy=1.0,
            avg_tokens=float((rows["input_tokens"] + rows["output_tokens"]).mean()),
            avg_ttft_ms=float(rows["ttft_ms"].mean()),
            tps=float(rows["tokens_after"].sum() / rows["decode_s"].sum()),
            recorded=len(rows),
        )
    model = ModelResult(baseline="official", choice=Choice("none"), vendors=vendors)
    return Report(run=f"r{seed}", complete=True, models={MODEL: model})


def verdicts(found: RunComparison, *wanted: str) -> set[tuple[str, str]]:
    return {(change.label, change.metric) for change in found.changes if change.verdict in wanted}


@pytest.mark.parametrize(
    ("vices", "metric"), [({"slower": 1.7}, "avg_ttft_ms"), ({"failing": 0.25}, "success_rate"), ({"extra": 0.3}, "f1")]
)
def test_only_the_vendor_that_got_worse_is_named(demo: ScoredRun, vices: dict[str, Any], metric: str) -> None:
    """One of five, with an interval that encloses its change; the other way round it improved."""
    before, after = run_of(1, demo), run_of(2, demo, **vices)
    found = compare_scored(before, after)
    assert ("a", metric) in verdicts(found, "worse")
    assert {label for label, _ in verdicts(found, "worse", "improved")} == {"a"}
    change = next(each for each in found.changes if (each.label, each.metric) == ("a", metric))
    assert change.low is not None
    assert change.high is not None
    assert change.low < change.high
    assert f"worse: a: {metric}" in "\n".join(comparison_lines(found))
    back = compare_scored(after, before)
    assert ("a", metric) in verdicts(back, "improved")
    assert verdicts(back, "worse") == set()


def test_a_vendor_is_not_worse_because_others_became_faster(demo: ScoredRun) -> None:
    """118 → 114 ms is no loss, whatever the others did; a change below the line is none either."""
    before = run_of(1, demo)
    after = run_of(2, demo, everybody=0.6, slower=114 / 118 / 0.6)
    assert ("a", "avg_ttft_ms") not in verdicts(compare_scored(before, after), "worse", "improved")
    assert ("b", "avg_ttft_ms") in verdicts(compare_scored(before, after), "improved")
    assert verdicts(compare_scored(before, run_of(3, demo, slower=1.1)), "worse") == set()


def test_equal_runs_have_no_changes(demo: ScoredRun) -> None:
    for seed in range(2):
        found = compare_scored(run_of(100 + seed, demo), run_of(200 + seed, demo))
        assert verdicts(found, "worse", "improved") == set()
    assert {each.verdict for each in found.changes if each.metric == "avg_tokens"} == {"same"}


def test_first_line_names_worse_verdicts_and_who_is_in_one_run(demo: ScoredRun) -> None:
    """Who is in one run only got neither better nor worse, and has no settings that differ."""
    before, after = run_of(1, demo), run_of(2, demo)
    vendors = dict(after.report.models[MODEL].vendors)
    slow = Verdict("check", "slow", {"speed": Facet(status="check", reason="slow")})
    vendors["a"] = structs.replace(vendors["a"], verdict=slow)
    del vendors["b"]
    model = structs.replace(after.report.models[MODEL], vendors=vendors)
    rows = after.records[after.records["label"] != "b"]
    after = replace(after, records=rows, report=structs.replace(after.report, models={MODEL: model}))
    entries = [entry for entry in after.manifest.entries if entry.label != "official"]
    after = replace(after, manifest=structs.replace(after.manifest, entries=entries))
    line, *_, last = comparison_lines(compare_scored(before, after))
    assert "1 verdict worse; not in the second run: b; figures: " in line
    assert last == "settings that differ: none"
    added = structs.replace(model, vendors={**vendors, "b": structs.replace(vendors["a"], label="b")})
    later = replace(before, report=structs.replace(before.report, models={MODEL: added}))
    found = compare_scored(after, later)
    assert (found.added, found.verdicts) == (("b",), ())


def test_the_command_and_python_compare_stored_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run against itself has no change; what is no figure, and what is no run, is refused."""
    monkeypatch.chdir(tmp_path)
    run = str(write_demo(tmp_path, "official", "slow", "substitute"))
    assert run_app(["compare", run, run]) == 0
    out = capsys.readouterr().out
    assert "over 20 common samples" in out
    assert "settings that differ: none" in out
    assert run_app(["compare", run, run, "--json", "--fail-on", "tfft"]) == 2
    assert capsys.readouterr().out == ""
    assert run_app(["compare", run, "nowhere"]) == 2
    found = vendor_verifier.compare_runs(run, run)
    assert {change.verdict for change in found.changes} <= {"same", "undecided"}
    assert isinstance(found, vendor_verifier.RunComparison)
