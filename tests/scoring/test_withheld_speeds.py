"""Speeds that say nothing of a vendor: no figure, no rank, no share in IRF, and the reason where they would stand."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from changing import replace
from small_records import answer

from vendor_verifier.records.event import Usage
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import PlayedTask, Report, VendorScore
from vendor_verifier.reports import markdown, terminal
from vendor_verifier.scoring.collect import Tables
from vendor_verifier.scoring.score_run import score_run
from vendor_verifier.stats.ratio_table import trials_of

SAMPLES = tuple(Sample(f"s{number}", Turn(({"role": "user", "content": str(number)},))) for number in range(60))
ENTRIES = [EntryInfo("m", label, label, "m", is_baseline=label == "official") for label in ("official", "twin", "odd")]
MS = 1_000_000


def _record(
    label: str, number: int, dice: random.Random, *, fakes: bool, hidden: int | None, unshown: int, late: int = 0
) -> Record:
    """An answer of 20 to 600 tokens, decoded at 50 a second; ``hidden`` are reasoning tokens, ``unshown`` others."""
    tokens = dice.randint(20, 600)
    ttft = 200 * dice.lognormvariate(0, 0.1) + (20 * tokens if fakes else 0)
    gap = 3.0 if fakes else 200.0
    gaps = tuple(int(gap * dice.lognormvariate(0, 0.05) * MS) for _ in range(max(2, tokens // 10)))
    made = answer(label, ttft, Usage(10, tokens + (hidden or 0) + unshown, reasoning=hidden))
    (turn,) = made.turns
    (attempt,) = turn.attempts
    assert attempt.timing is not None
    assert attempt.response is not None
    first = int(ttft * MS)
    timing = replace(
        attempt.timing, end_ns=first + sum(gaps), first_answer_ns=first, last_token_ns=first + sum(gaps),
        gaps_ns=gaps, first_chunk_share=0.0, our_lateness_ns=late,
    )  # fmt: skip
    said = replace(attempt.response, text="word " * tokens)
    turns = (replace(turn, attempts=(replace(attempt, timing=timing, response=said),)),)
    return replace(made, sample=SAMPLES[number].id, turns=turns)


def _report(
    *, fakes: bool = False, hidden: int | None = None, of: int = 60, unshown: int = 0, late: int = 0
) -> tuple[Report, Tables]:
    """A run whose vendor ``odd`` fakes its streams, or bills tokens nobody sees in the first ``of`` answers.

    Its first ``late`` answers were read 30 s late by ourselves.
    """
    tables = Tables()

    def records() -> Iterator[Record]:
        for entry in ENTRIES:
            dice = random.Random(entry.label)
            for number in range(len(SAMPLES)):
                is_odd = entry.label == "odd" and number < of
                yield _record(
                    entry.label, number, dice,
                    fakes=fakes and is_odd, hidden=hidden if is_odd else None, unshown=unshown if is_odd else 0,
                    late=30_000 * MS if entry.label == "odd" and number < late else 0,
                )  # fmt: skip

    task = PlayedTask("trigger", SAMPLES, None)
    return score_run(ENTRIES, [task], records(), repeat=1, run="r", complete=True, tables=tables), tables


def _vendor(report: Report, label: str = "odd") -> VendorScore:
    return next(vendor for vendor in report.models[0].vendors if vendor.label == label)


def test_a_faked_stream_has_no_speed_and_no_rank_by_it() -> None:
    report, tables = _report(fakes=True)
    odd, twin = _vendor(report), _vendor(report, "twin")
    assert odd.metrics["tps"] is odd.tps_mean is odd.tps_p50 is None
    assert "tps" not in odd.ranks
    assert odd.irf_metrics == twin.irf_metrics - 1
    assert [odd.distributions[name].n for name in ("tps", "tpot_ms", "icl_ms")] == [0, 0, 0]
    # What it takes until the first token, and in all, is as true as before.
    assert odd.metrics["avg_ttft_ms"] is not None
    assert odd.e2e_tps is not None
    trials = trials_of(
        "odd", tables.rows["m", "odd"], {"trigger": [each.id for each in SAMPLES]}, repeat=1, complete=True
    )
    assert not {"tps", "tpot_ms"} & set(trials.ratios)
    assert twin.metrics["tps"] == pytest.approx(50, rel=0.2)
    assert not twin.withheld


@pytest.mark.lateness
def test_what_is_withheld_anyway_takes_no_rank_from_the_others() -> None:
    """Rows that we read late took nothing from a vendor whose speed says nothing in any case."""
    report, _ = _report(fakes=True, late=5)
    odd, twin = _vendor(report), _vendor(report, "twin")
    assert odd.stalled["tps"]
    assert "tps" in odd.withheld
    assert "tps" in twin.ranks
    assert list(report.models[0].unranked) == []


def test_hidden_tokens_in_every_answer_leave_no_speed() -> None:
    for report, _ in (_report(hidden=900), _report(unshown=5_000)):
        odd = _vendor(report)
        assert odd.metrics["tps"] is None
        assert dict(odd.withheld) == {"tps": "tokens_not_shown", "tpot_ms": "tokens_not_shown"}
        assert odd.anomalies["tokens_not_shown"] == 60
        assert odd.distributions["icl_ms"].n > 0


def test_hidden_tokens_in_a_few_answers_leave_these_out_alone() -> None:
    few, many = (_vendor(_report(hidden=900, of=of)[0]) for of in (12, 13))
    assert (few.measured["tps"], few.withheld) == (48, {})
    assert few.metrics["tps"] == pytest.approx(50, rel=0.2)
    assert (many.measured["tps"], many.metrics["tps"]) == (0, None)


@pytest.mark.parametrize(("fakes", "reason"), [(True, "faked stream"), (False, "bills tokens not shown")])
def test_the_reason_stands_where_the_figure_would(fakes: bool, reason: str) -> None:
    report, _ = _report(fakes=fakes, hidden=None if fakes else 900)
    assert f"0 of 60 ({reason})" in markdown.render(report)
    lines = list(terminal.plain_lines(report))
    assert any("TPS –" in line for line in lines)
    assert any("not measurable" in line and "odd" in line for line in lines)
    assert any(f"TPS 0 ({reason})" in line for line in lines)
