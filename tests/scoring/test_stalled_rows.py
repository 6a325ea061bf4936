"""Rows that our own process read late leave figures, gates, findings and warnings as the rest alone would."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import pytest
from changing import replace
from msgspec import structs
from observed import observed, table_of
from small_records import answer

from vendor_verifier.audit.behaviour import behaviour_findings
from vendor_verifier.features.history.figures import history_run
from vendor_verifier.gates.goodput import goodput
from vendor_verifier.gates.thresholds import parse_slo
from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.records.event import Usage
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import PlayedTask, Report
from vendor_verifier.reports import markdown, openmetrics, ranking, scores_json, terminal
from vendor_verifier.reports.html import page
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.score_run import score_run, stall_warnings
from vendor_verifier.scoring.vendor_figures import regions_of
from vendor_verifier.stats.ratio_table import trials_of

pytestmark = pytest.mark.lateness

SAMPLES = tuple(Sample(f"s{number}", Turn(({"role": "user", "content": str(number)},))) for number in range(20))
MS = 1_000_000


def row(number: int, late_ms: float = 0, *, label: str = "a", ttft_ms: float = 40, region: str | None = None) -> Record:
    """A decoded answer of 100 tokens in a second; what was read late shows a TTFT as long as the lateness."""
    made = answer(label, ttft_ms + late_ms, Usage(1, 101))
    (turn,) = made.turns
    (attempt,) = turn.attempts
    assert attempt.timing is not None
    first_ns = int((ttft_ms + late_ms) * MS)
    timing = replace(
        attempt.timing, end_ns=first_ns + 1000 * MS, first_answer_ns=first_ns, last_token_ns=first_ns + 1000 * MS,
        gaps_ns=(10 * MS,) * 100, first_chunk_share=0.0, our_lateness_ns=int(late_ms * MS),
    )  # fmt: skip
    turns = (replace(turn, attempts=(replace(attempt, timing=timing),)),)
    return replace(made, sample=SAMPLES[number].id, turns=turns, region=region)


def columns(*records: Record) -> ObservationTable:
    """The entry's rows as scoring counts them."""
    by_id = {sample.id: sample for sample in SAMPLES}
    return table_of(observed(one, by_id[one.sample]) for one in records)


def stalled(many: int) -> list[Record]:
    """Twenty answers, of which our process stood still for 30 s in the first ``many``."""
    return [row(number, 30_000 if number < many else 0) for number in range(20)]


def report(many: int) -> Report:
    """A run of two vendors, the first of which met the stall."""
    entries = [EntryInfo("m", label, label, "m-1") for label in ("a", "b")]
    records = [*stalled(many), *(row(number, label="b", ttft_ms=50) for number in range(20))]
    return score_run(entries, [PlayedTask("trigger", SAMPLES)], records, repeat=1, run="run", complete=True)


@pytest.mark.parametrize("many", [1, 4])
def test_a_process_that_stood_still_changes_no_average(many: int) -> None:
    """Up to a fifth of the rows are left out and counted; every figure is that of the others."""
    found = next(vendor for vendor in report(many).models[0].vendors if vendor.label == "a")
    assert found.metrics["avg_ttft_ms"] == 40
    assert found.metrics["tps"] == pytest.approx(101)
    assert (found.measured["avg_ttft_ms"], found.stalled) == (20 - many, {"avg_ttft_ms": many, "tps": many})
    for name in ("ttft_ms", "ttfat_ms", "tpot_ms", "tps", "e2e_tps", "e2e_ms"):
        spread = found.distributions[name]
        assert (spread.n, spread.stalled) == (20 - many, many), name
    assert (found.distributions["icl_ms"].n, found.distributions["icl_ms"].stalled) == (100 * (20 - many), many)
    assert found.distributions["e2e_ms"].max == 1040
    assert found.metrics["avg_tokens"] == 102
    assert found.measured["avg_tokens"] == 20
    assert found.succeeded == 20


def test_more_than_a_fifth_lost_is_not_measurable_and_ranks_nobody() -> None:
    """Long answers go first, so that what is left would flatter: null, no rank, nothing in the history."""
    scored = report(5)
    found = next(vendor for vendor in scored.models[0].vendors if vendor.label == "a")
    assert (found.metrics["avg_ttft_ms"], found.metrics["tps"], found.e2e_tps) == (None, None, None)
    assert (found.distributions["ttft_ms"].n, found.distributions["ttft_ms"].stalled) == (0, 5)
    assert (found.distributions["icl_ms"].n, found.distributions["icl_ms"].stalled) == (0, 5)
    assert not {"avg_ttft_ms", "tps"} & found.ranks.keys()
    figures = next(entry for entry in history_run(scored, "run").entries if entry.label == "a").figures
    assert not [name for name in figures if name.startswith(("avg_ttft", "ttft", "tps", "e2e"))]
    assert "avg_tokens" in figures


@pytest.mark.parametrize(("many", "ranked"), [(4, True), (5, False)])
def test_what_we_spoilt_at_one_vendor_ranks_no_other(many: int, ranked: bool) -> None:
    """A rank that only the other can have would be charged to the one; both keep what was measured."""
    scored = report(many)
    (model,) = scored.models
    one, other = sorted(model.vendors, key=lambda vendor: vendor.label)
    assert ({"avg_ttft_ms", "tps"} <= other.ranks.keys()) is ranked
    assert one.irf_metrics == other.irf_metrics
    assert one.irf == one.irf_global
    assert other.metrics["avg_ttft_ms"] == 50
    unranked = json.loads(scores_json.render(scored))["models"]["m"]["unranked"]
    assert unranked == ([] if ranked else ["avg_ttft_ms", "tps"])


@pytest.mark.parametrize(("spoilt", "measured", "many"), [(1, 4, False), (2, 7, True), (0, 0, False), (1, 0, True)])
def test_a_fifth_is_still_measurable(spoilt: int, measured: int, many: bool) -> None:
    """The rule's edge, and its ends."""
    assert too_many_spoilt(spoilt, measured) == many


_LATE, _LOST = "our own process was late", "not measurable because of us"

FORMATS: dict[str, tuple[Callable[[Report], str], str]] = {
    "terminal": (lambda told: "\n".join(terminal.plain_lines(told)), "TTFT (ms) 18 (2 stalled)"),
    "markdown": (markdown.render, "18 of 20 (2 stalled)"),
    "json": (scores_json.render, '"avg_ttft_ms": 2'),
    "csv": (ranking.render_csv, "stalled_avg_ttft_ms"),
    "html": (lambda told: page.render(told), "2 stalled"),
    "openmetrics": (openmetrics.render, 'stalled_samples{model="m",vendor="a",metric="ttft_ms"} 2'),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_how_many_rows_our_process_took_out(name: str) -> None:
    """Beside the number measured; nothing is said where there was no stall."""
    render, words = FORMATS[name]
    assert words in render(report(2))
    assert "(2 stalled)" not in render(report(0))


@pytest.mark.parametrize("name", ["terminal", "markdown", "json", "html"])
def test_every_format_with_warnings_warns_of_our_lateness(name: str) -> None:
    """Which vendor, which times, how many; and that a figure is missing because of us."""
    render, _ = FORMATS[name]
    assert _LATE in render(report(2))
    assert _LOST not in render(report(2))
    assert _LOST in render(report(5))
    assert _LATE not in render(report(0))


def test_one_warning_a_model_names_its_vendors_however_many_were_met() -> None:
    """Ten vendors of a busy machine are one line, with each one's rows; who lost none is not in it."""
    labels = [f"v{number}" for number in range(10)]
    records = [row(n, 30_000 if n <= met else 0, label=label) for met, label in enumerate(labels) for n in range(20)]
    records += [row(number, label="whole") for number in range(20)]
    entries = [EntryInfo("m", label, label, "m-1") for label in (*labels, "whole")]
    scored = score_run(entries, [PlayedTask("trigger", SAMPLES)], records, repeat=1, run="run", complete=True)
    (told,) = scored.warnings
    assert "the times it would spoil: v0 1, v1 2, v2 3, v3 4, v4 5, v5 6, v6 7, v7 8, v8 9, v9 10; " in told
    assert "times not measurable because of us (v4, v5, v6, v7, v8, v9): " in told
    assert "whole" not in told


def test_a_vendor_whose_connections_alone_were_lost_keeps_its_times() -> None:
    """A few connections are soon more than a fifth late; nobody reads that times in the table are missing."""
    made = report(2).models[0].vendors[0]
    lost = replace(made.distributions["ttft_ms"], n=0, stalled=2)
    few = replace(made, distributions={**made.distributions, "connect_ms": lost})
    (told,) = stall_warnings("m", [few])
    assert (_LATE in told, _LOST in told) == (True, False)
    gone = replace(made, measured={**made.measured, "tps": 0}, stalled={**made.stalled, "tps": 5})
    (told,) = stall_warnings("m", [gone])
    assert _LOST in told


def test_the_machine_readable_formats_hold_the_numbers() -> None:
    """scores.json by metric and by distribution, ranking.csv in columns of their own."""
    vendor = json.loads(scores_json.render(report(2)))["models"]["m"]["vendors"]["a"]
    assert vendor["stalled"] == {"avg_ttft_ms": 2, "tps": 2}
    assert vendor["distributions"]["e2e_ms"]["stalled"] == 2
    told = {line["label"]: line for line in csv.DictReader(io.StringIO(ranking.render_csv(report(2))))}
    assert (told["a"]["stalled_avg_ttft_ms"], told["a"]["e2e_ms_stalled"], told["b"]["stalled_tps"]) == ("2", "2", "0")


def test_statistics_and_gates_are_taken_over_the_rest() -> None:
    """Trials and percentile gates have no unit for a stalled row, and no metric where too many are."""
    planned = {"trigger": [sample.id for sample in SAMPLES]}
    few, many = columns(*stalled(2)), columns(*stalled(5))
    kept = trials_of("a", few, planned, repeat=1, complete=True).ratios
    assert {name: len(kept[name]) for name in ("avg_ttft_ms", "tps", "e2e_tps", "e2e_ms")} == dict.fromkeys(
        ("avg_ttft_ms", "tps", "e2e_tps", "e2e_ms"), 18
    )
    lost = trials_of("a", many, planned, repeat=1, complete=True).ratios
    assert not {"avg_ttft_ms", "tps", "e2e_tps", "e2e_ms"} & lost.keys()
    assert len(lost["avg_tokens"]) == len(kept["avg_tokens"]) == 20
    assert (len(few.values("ttft_ms")), many.values("ttft_ms")) == (18, [])


def test_goodput_leaves_out_what_only_our_lateness_kept_from_being_measured() -> None:
    """Share and rate stay those of the vendor; a row that breaks another SLO is missed all the same."""
    slo = parse_slo("avg_ttft_ms <= 200")
    found = goodput(columns(*stalled(4)), (slo,), asked=20, seconds=10.0)
    assert (found.good, found.asked, found.stalled, found.unmeasured) == (16, 16, 4, 0)
    assert (found.share, found.per_s) == (1.0, 2.0)
    tokens = parse_slo("output_tokens <= 50")
    assert goodput(columns(*stalled(4)), (slo, tokens), asked=20, seconds=10.0).stalled == 0
    lost = goodput(columns(*stalled(5)), (slo,), asked=20, seconds=10.0)
    assert (lost.share, lost.per_s, lost.stalled) == (None, None, 5)


def test_a_region_loses_its_own_rows_only() -> None:
    """A worker that stood still makes its region's times unmeasurable, and no other's."""
    rows = [row(number, 30_000 if number < 3 else 0, region="east" if number < 5 else "west") for number in range(20)]
    east, west = regions_of(columns(*rows))
    assert (east.ttft_ms.n, east.ttft_ms.stalled, east.ttft_ms.mean) == (0, 3, None)
    assert (west.ttft_ms.n, west.ttft_ms.stalled, west.ttft_ms.mean) == (15, 0, 40)


def test_answers_of_another_provider_are_not_counted_as_stalled() -> None:
    """Rows that are set aside take their lateness with them."""
    made = [observed(row(number, 0 if number else 30_000), SAMPLES[number]) for number in range(10)]
    found = table_of(
        structs.replace(
            each, traits=structs.replace(each.traits, served_provider="Other" if number < 2 else "Mine"), gaps=(1, 2)
        )
        for number, each in enumerate(made)
    )
    assert found.spoilt("ttft_ms") == 1
    found.set_misrouted_aside("mine")
    assert found.spoilt("ttft_ms") == 0
    assert found.distributions()["icl_ms"].n == 16


def test_a_vendor_is_not_said_to_buffer_for_what_we_read_late() -> None:
    """Pieces read in one moment after a stall are out of the share altogether."""

    def lumped(number: int, late_ms: float) -> Record:
        made = row(number, late_ms)
        (attempt,) = made.turns[0].attempts
        assert attempt.timing is not None
        assert attempt.response is not None
        timing = replace(attempt.timing, last_token_ns=attempt.timing.first_token_ns, gaps_ns=(0,) * 100)
        said = replace(attempt.response, text="word " * 100)
        return replace(
            made, turns=(replace(made.turns[0], attempts=(replace(attempt, timing=timing, response=said),)),)
        )

    ours = columns(*(lumped(number, 60 if number < 10 else 0) if number < 10 else row(number) for number in range(20)))
    theirs = columns(*(lumped(number, 0) if number < 10 else row(number) for number in range(20)))
    assert [finding.name for finding in behaviour_findings("a", ours, None)] == []
    assert [finding.name for finding in behaviour_findings("a", theirs, None)] == ["stream_buffered"]
