"""Where a cap held requests back, TTFT ranks from the schedule, in every place that ranks; else nothing changes."""

from __future__ import annotations

import pytest
from changing import replace
from manifests import some_manifest
from small_records import answer

from vendor_verifier.features.history.figures import history_run
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import PlayedTask, Report
from vendor_verifier.scoring.collect import Tables
from vendor_verifier.scoring.ranked_times import mean_values
from vendor_verifier.scoring.score_run import score_run
from vendor_verifier.stats.ratio_table import trials_of

pytestmark = pytest.mark.lateness

SAMPLES = tuple(Sample(f"s{number}", Turn(({"role": "user", "content": str(number)},))) for number in range(20))
MS = 1_000_000


def row(number: int, label: str, ttft_ms: float, wait_ms: float, begun_late_ms: float = 0) -> Record:
    """An answer due at one a second, sent after a wait."""
    made = answer(label, ttft_ms)
    (turn,) = made.turns
    timing = replace(
        turn.attempts[0].timing, sent_at=f"2026-01-01T00:00:{number + wait_ms / 1e3:09.6f}+00:00",
        scheduled_ns=-int(wait_ms * MS), begun_late_ns=int(begun_late_ms * MS), our_lateness_ns=0,
    )  # fmt: skip
    turns = (replace(turn, attempts=(replace(turn.attempts[0], timing=timing),)),)
    return replace(made, sample=SAMPLES[number].id, turns=turns, offered_s=float(number))


def scored(*, cap: int | None, late: int = 0, tables: Tables | None = None) -> Report:
    """Two vendors: ``a`` sends its first token sooner and was waited for longer; ``late`` of its rows we began late."""
    records = [row(number, "a", 40, 300, 280 if number < late else 1) for number in range(20)]
    records += [row(number, "b", 60, 0) for number in range(20)]
    entries = [EntryInfo("m", label, label, "m-1", cap=cap) for label in ("a", "b")]
    report = score_run(
        entries, [PlayedTask("trigger", SAMPLES)], records, repeat=1, run="run", complete=True, tables=tables
    )
    return replace(report, manifest=some_manifest(load=None if cap is None else {"m: a": _OFFERED}))


_OFFERED = {
    "begun": 20, "repetitions": 1, "most_under_way": 9, "cap": 2, "held_back": 9, "warmup": 0, "warmup_failed": 0,
    "lag_p50_ms": 1.0, "lag_p99_ms": 50.0, "by_schedule": True,
}  # fmt: skip


def figures(report: Report, label: str) -> tuple[float | None, float, float | None, float | None]:
    """What ranks, its rank, and both times."""
    (own,) = [vendor for vendor in report.models[0].vendors if vendor.label == label]
    spreads = own.distributions
    ranked = own.metrics["avg_ttft_ms"], own.ranks["avg_ttft_ms"]
    return (*ranked, spreads["ttft_ms"].mean, spreads["ttft_from_schedule_ms"].mean)


def test_without_a_cap_times_from_sending_rank() -> None:
    """As ever: the wait stands in the times from the schedule alone."""
    report = scored(cap=None)
    assert figures(report, "a") == (40, 1, 40, 340)
    assert figures(report, "b") == (60, 2, 60, 60)


def test_under_a_cap_what_was_waited_ranks_and_both_figures_stay() -> None:
    """The other vendor is first; statistics, gates and the figure are of one mean; the history keeps the one that every
    run has."""
    tables = Tables()
    report = scored(cap=2, tables=tables)
    assert figures(report, "a") == (340, 2, 40, 340)
    assert figures(report, "b") == (60, 1, 60, 60)
    for label, mean in (("a", 340.0), ("b", 60.0)):
        table = tables.rows["m", label]
        column = trials_of(label, table, {"trigger": [s.id for s in SAMPLES]}, repeat=1, complete=True).ratios
        parts = [part for _, part in column["avg_ttft_ms"].items()]
        assert sum(one for one, _ in parts) / sum(other for _, other in parts) == pytest.approx(mean)
        assert mean_values(table, "avg_ttft_ms", "ttft_ms") == [mean] * 20
        assert column["ttft_ms"]["s0", 0] == ({"a": 40, "b": 60}[label], 1)
    (kept,) = [entry for entry in history_run(report, "run").entries if entry.label == "a"]
    assert kept.figures["avg_ttft_ms"] == (40, 20)


def test_what_we_began_late_ourselves_is_in_no_rank() -> None:
    """Four rows of twenty are left out and counted, and from sending they stay; of five more nothing is ranked, and a
    warning says whose times are missing."""
    left = scored(cap=2, late=4)
    (own,) = [vendor for vendor in left.models[0].vendors if vendor.label == "a"]
    assert (own.metrics["avg_ttft_ms"], own.measured["avg_ttft_ms"], own.stalled["avg_ttft_ms"]) == (340, 16, 4)
    assert own.distributions["ttft_ms"].n == own.distributions["ttft_from_schedule_ms"].n == 20
    lost = scored(cap=2, late=5)
    (own,) = [vendor for vendor in lost.models[0].vendors if vendor.label == "a"]
    assert own.metrics["avg_ttft_ms"] is None
    assert "avg_ttft_ms" not in own.ranks
    assert any("a 5" in words for words in lost.warnings)
    assert scored(cap=None, late=5).warnings == scored(cap=None).warnings
