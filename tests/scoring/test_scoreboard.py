"""A run's records become a report whose every number says what it was taken over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import (
    Attempt,
    Failure,
    FailureKind,
    Record,
    Response,
    Timing,
    TurnRecord,
    supersedes,
)
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source
from vendor_verifier.records.score import PlayedTask, Report, VendorScore
from vendor_verifier.scoring.irf import RANK_METRICS
from vendor_verifier.scoring.score_run import score_run

MS = 1_000_000
TOOLS = ({"type": "function", "function": {"name": "f", "parameters": {"required": ["a"]}}},)


def played(*samples: Sample) -> list[PlayedTask]:
    """The trigger suite over these samples."""
    return [PlayedTask("trigger", samples)]


SAMPLES = tuple(
    Sample(f"s{number}-1", Turn(({"role": "user", "content": str(number)},), TOOLS), source=Source("set", number + 1))
    for number in range(6)
)
BASE = EntryInfo("m", "official", "official", "m-1", is_baseline=True)
RIVAL = EntryInfo("m", "rival", "rival", "m-1")
DEAD = EntryInfo("m", "dead", "dead", "m-1")
CALL = (ToolCall("f", '{"a": 1}'),)


def ok(calls: Sequence[ToolCall] = CALL, *, ttft_ms: int = 100, usage: Usage | None = Usage(10, 100)) -> Attempt:  # noqa: B008
    timing = Timing(
        "2026-01-01T00:00:00Z",
        end_ns=(ttft_ms + 1000) * MS,
        first_token_ns=ttft_ms * MS,
        first_answer_ns=ttft_ms * MS,
        last_token_ns=(ttft_ms + 1000) * MS,
        first_chunk_share=0.0,
    )
    finish: Any = "tool_calls" if calls else "stop"
    return Attempt(1, timing, Response("hi " * 40, "", tuple(calls), finish, usage=usage, served_model="m-1-0925"))


def bad(kind: FailureKind = "http_5xx") -> Attempt:
    return Attempt(1, Timing("2026-01-01T00:00:00Z", 1), failure=Failure(kind, "headers", "x", 500))


def record(entry: EntryInfo, sample: int, *attempts: Attempt, repetition: int = 0, suite: str = "trigger") -> Record:
    turns = (TurnRecord(attempts),)
    return Record("run", entry.model, entry.label, entry.vendor, suite, SAMPLES[sample].id, repetition, turns)


def everything(entry: EntryInfo, attempt: Attempt | None = None, **more: Any) -> list[Record]:
    """One record per sample: calls on even samples and text on odd ones, or always ``attempt``."""
    return [record(entry, at, attempt or ok(() if at % 2 else CALL), **more) for at in range(len(SAMPLES))]


def score(records: Sequence[Record], *entries: EntryInfo, **options: Any) -> Report:
    options = {"repeat": 1, "run": "run", "complete": True, **options}
    return score_run(entries or (BASE, RIVAL), played(*SAMPLES), records, **options)


def vendor(report: Report, label: str) -> VendorScore:
    return next(each for model in report.models for each in model.vendors if each.label == label)


def test_a_faithful_vendor_gets_every_figure() -> None:
    """Agreement everywhere gives F1, success and schema 1.0, and averages equal the hand-computed ones."""
    rival = vendor(score(everything(BASE) + everything(RIVAL)), "rival")
    assert rival.metrics == {
        "f1": 1.0, "success_rate": 1.0, "schema_accuracy": 1.0, "avg_tokens": 110.0, "avg_ttft_ms": 100.0, "tps": 100.0,
    }  # fmt: skip
    assert set(rival.metrics) == set(RANK_METRICS) == set(rival.measured)
    assert rival.measured == {
        "f1": 6, "success_rate": 6, "schema_accuracy": 3, "avg_tokens": 6, "avg_ttft_ms": 6, "tps": 6,
    }  # fmt: skip
    assert rival.e2e_tps == pytest.approx(100 / 1.1)
    assert (rival.irf_metrics, rival.ranks["f1"]) == (6, 1.5)


def test_nobody_has_an_f1_where_the_baseline_never_calls() -> None:
    """Neither the baseline by definition nor who agrees, fails or calls beside it: no sixth of an IRF for any."""
    silent = everything(BASE, ok(())) + everything(RIVAL, ok(())) + everything(DEAD, bad())
    report = score(silent, BASE, RIVAL, DEAD)
    assert [each.metrics["f1"] for each in report.models[0].vendors] == [None, None, None]
    assert [each.ranks.get("f1") for each in report.models[0].vendors] == [None, None, None]
    assert vendor(report, "official").irf == vendor(report, "rival").irf
    assert vendor(report, "dead").trigger is not None
    twice = score(silent + everything(BASE, ok(()), repetition=1), BASE, RIVAL, DEAD, repeat=2, baseline_f1="self")
    assert [each.metrics["f1"] for each in twice.models[0].vendors] == [None, None, None]
    wild = score(everything(BASE, ok(())) + everything(RIVAL, ok()))
    rival = vendor(wild, "rival")
    assert rival.trigger is not None
    assert (rival.metrics["f1"], rival.trigger.fp) == (None, 6)


def test_p01_an_all_failing_vendor_ranks_last_on_what_it_was_measured_on() -> None:
    """Success 0 and F1 0, ranked last on both; everything else is None and not ranked (P01)."""
    report = score(everything(BASE) + everything(RIVAL) + everything(DEAD, bad()), BASE, RIVAL, DEAD)
    dead = vendor(report, "dead")
    assert {name: value for name, value in dead.metrics.items() if value is not None} == {
        "f1": 0.0,
        "success_rate": 0.0,
    }
    assert dead.ranks == {"f1": 3.0, "success_rate": 3.0}
    assert (dead.irf_metrics, dead.failures, report.models[0].vendors[-1]) == (2, {"http_5xx": 6}, dead)
    assert (
        vendor(score(everything(BASE) + everything(DEAD, bad()), BASE, DEAD, undecided="exclude"), "dead").metrics["f1"]
        is None
    )


def test_p06_without_a_baseline_f1_is_none_and_the_rest_stands() -> None:
    """No baseline is a fine run: F1 None, five metrics ranked (P06)."""
    report = score(everything(RIVAL), RIVAL)
    alone = vendor(report, "rival")
    assert (report.models[0].baseline, alone.trigger, alone.metrics["f1"]) == (None, None, None)
    assert (alone.irf_metrics, alone.irf) == (5, pytest.approx(5 / 6))


def test_p06_of_two_baselines_the_first_counts_and_the_reader_is_told() -> None:
    """A second baseline is an ordinary vendor with a warning (P06)."""
    second = EntryInfo("m", "second", "second", "m-1", is_baseline=True)
    report = score(everything(BASE) + everything(second), BASE, second)
    assert report.models[0].baseline == "official"
    assert not vendor(report, "second").is_baseline
    assert report.warnings == ("m: both official and second are baselines; official is used",)


def test_p09_the_baselines_f1_is_marked_as_given() -> None:
    """The baseline's 1.0 is by definition and carries the mark (P09)."""
    base = vendor(score(everything(BASE)), "official")
    assert (base.is_baseline, base.metrics["f1"]) == (True, 1.0)


def test_p09_a_baseline_that_failed_everything_gives_nobody_an_f1() -> None:
    """Without one decision of the baseline F1 is None for all, the baseline included (P09)."""
    report = score(everything(BASE, bad()) + everything(RIVAL))
    assert [vendor(report, label).metrics["f1"] for label in ("official", "rival")] == [None, None]
    assert vendor(report, "rival").trigger.dropped_baseline == 6  # type: ignore[union-attr]


def test_p22_first_attempt_success_is_beside_success() -> None:
    """A retried success counts for success but not for the first attempt, and all attempts are counted (P22)."""
    records = everything(BASE) + [record(RIVAL, at, bad(), ok()) for at in range(6)]
    rival = vendor(score(records), "rival")
    assert (rival.succeeded, rival.succeeded_first_try, rival.attempts) == (6, 0, 12)
    assert rival.failures == {}


def test_p25_a_vendor_without_usage_is_not_the_cheapest() -> None:
    """No usage: tokens and TPS None, not ranked, the metric count says so (P25)."""
    silent = vendor(score(everything(BASE) + everything(RIVAL, ok(usage=None))), "rival")
    assert (silent.metrics["avg_tokens"], silent.metrics["tps"], silent.measured["avg_tokens"]) == (None, None, 0)
    assert (silent.irf_metrics, "avg_tokens" in silent.ranks) == (4, False)


def test_p25_averages_divide_by_what_measured() -> None:
    """One row in three with usage: its own tokens, over one row (P25)."""
    records = [record(RIVAL, 0, ok(usage=Usage(10, 20))), record(RIVAL, 1, ok(usage=None)), record(RIVAL, 2, bad())]
    rival = vendor(score(records, RIVAL, complete=False), "rival")
    assert (rival.metrics["avg_tokens"], rival.measured["avg_tokens"], rival.distributions["total_tokens"].n) == (
        30,
        1,
        1,
    )


def test_p26_a_lost_row_of_a_complete_run_is_a_failure() -> None:
    """Five of six rows in a complete run: success 5/6 and one miss, not 1.0 (P26)."""
    rival = vendor(score(everything(BASE) + everything(RIVAL)[1:]), "rival")
    assert (rival.planned, rival.recorded, rival.metrics["success_rate"]) == (6, 5, pytest.approx(5 / 6))
    assert rival.trigger is not None
    assert (rival.trigger.fn, rival.trigger.failed_as_missed, rival.trigger.not_sent) == (1, 1, 0)


def test_an_interrupted_run_leaves_out_what_was_never_sent() -> None:
    """The same rows in an interrupted run: success over what was sent, the pair excluded and counted."""
    records = everything(BASE) + everything(RIVAL)[1:]
    for complete in (False, None):
        report = score(records, complete=complete)
        rival = vendor(report, "rival")
        assert not report.complete
        assert (rival.metrics["success_rate"], rival.metrics["f1"]) == (1.0, 1.0)
        assert rival.trigger is not None
        assert (rival.trigger.not_sent, rival.measured["f1"], rival.measured["success_rate"]) == (1, 5, 5)


def test_completeness_is_seen_when_not_said() -> None:
    """With every planned record present the run counts as complete."""
    assert score(everything(BASE) + everything(RIVAL), complete=None).complete


def test_a_vendor_without_records_was_not_measured() -> None:
    """An entry nothing was heard of has no figure at all, not zeros, and stands last."""
    report = score(everything(BASE))
    ghost = vendor(report, "rival")
    assert set(ghost.metrics.values()) == {None}
    assert (ghost.irf, ghost.irf_metrics, ghost.recorded, report.models[0].vendors[-1]) == (None, 0, 0, ghost)


def test_what_we_did_not_ask_is_not_held_against_the_vendor() -> None:
    """Untranslatable samples leave success and F1, and are counted as failures of their own kind."""
    records = everything(BASE) + everything(RIVAL)[1:] + [record(RIVAL, 0, bad("untranslatable"))]
    rival = vendor(score(records), "rival")
    assert (rival.metrics["success_rate"], rival.metrics["f1"], rival.measured["success_rate"]) == (1.0, 1.0, 5)
    assert rival.failures == {"untranslatable": 1}
    assert rival.trigger is not None
    assert rival.trigger.not_sent == 1


def test_the_first_failed_turn_names_the_failure() -> None:
    """A record of several turns fails for the reason its first failed turn gives; one without turns is our fault."""
    turns = (TurnRecord((ok(),)), TurnRecord((bad("rate_limited"),)), TurnRecord((ok(),)))
    several = Record("run", "m", "rival", "rival", "trigger", SAMPLES[0].id, 0, turns)
    empty = Record("run", "m", "rival", "rival", "trigger", SAMPLES[1].id, 0)
    rival = vendor(score([several, empty], RIVAL, complete=False), "rival")
    assert (rival.failures, rival.metrics["success_rate"]) == ({"harness": 1, "rate_limited": 1}, 0.0)


def test_what_was_skipped_after_a_refused_key_counts_as_failed_where_anything_was_answered() -> None:
    """Half way it costs the samples after it; a key that never worked tells nothing: no rate, no F1, no rank."""
    skipped = Attempt(1, failure=Failure("skipped", "plan", "stopped"))
    for first, rate in ((ok(), 1 / 6), (bad("empty_response"), 0.0), (skipped, None)):
        ends = (bad("auth"), first, *[skipped] * 4)
        rival = vendor(score([*everything(BASE), *(record(RIVAL, at, end) for at, end in enumerate(ends))]), "rival")
        assert (rival.metrics["success_rate"], rival.failures["auth"]) == (rate, 1)
        assert (rival.irf is None, rival.ranks == {}, rival.metrics["f1"] is None) == (rate is None,) * 3


def test_p48_a_substituted_model_is_visible() -> None:
    """What the answers call themselves is counted beside what was asked for (P48)."""
    rival = vendor(score(everything(BASE) + everything(RIVAL)), "rival")
    assert (rival.model_id, rival.served_models) == ("m-1", {"m-1-0925": 6})


def test_p20_buffered_answers_are_flagged_and_have_no_tps() -> None:
    """A vendor that sends everything at once gets no TPS and the anomaly (P20)."""
    at_once = Timing("t", 10 * MS, first_token_ns=9 * MS, last_token_ns=9 * MS, first_chunk_share=1.0)
    answer = Attempt(1, at_once, Response("hi " * 40, finish_reason="stop", usage=Usage(10, 100)))
    rival = vendor(score(everything(BASE) + everything(RIVAL, answer)), "rival")
    assert (rival.metrics["tps"], rival.anomalies["buffered"], rival.metrics["avg_ttft_ms"]) == (None, 6, 9.0)


def test_a_success_supersedes_a_failure_else_the_first_stands() -> None:
    """The one rule for two records under one key, in the function and in the score."""
    failed, first, second = record(RIVAL, 0, bad()), record(RIVAL, 0, ok()), record(RIVAL, 0, ok(ttft_ms=900))
    assert [supersedes(first, failed), supersedes(failed, first), supersedes(second, first)] == [True, False, False]
    assert not supersedes(failed, failed)
    rival = vendor(score([failed, first, second, failed], RIVAL, complete=False), "rival")
    assert (rival.recorded, rival.succeeded, rival.metrics["avg_ttft_ms"]) == (1, 1, 100.0)


def test_records_outside_the_plan_are_ignored_and_counted() -> None:
    """Other samples, entries, suites and repetitions change nothing but a warning."""
    strangers = [
        record(DEAD, 0, ok()),
        record(RIVAL, 0, ok(), repetition=1),
        record(RIVAL, 0, ok(), suite="other"),
        Record("run", "m", "rival", "rival", "trigger", "unknown-1", 0, (TurnRecord((ok(),)),)),
    ]
    records = everything(BASE) + everything(RIVAL)
    report, clean = score(records + strangers), score(records)
    assert report.models == clean.models
    assert report.warnings == ("4 records are outside the plan and ignored",)


def test_repeats_are_planned_and_paired_in_all_orders() -> None:
    """Two repetitions: 12 planned, four pairs of runs, every answer paired."""
    records = [made for entry in (BASE, RIVAL) for number in (0, 1) for made in everything(entry, repetition=number)]
    rival = vendor(score(records, repeat=2), "rival")
    assert (rival.planned, rival.recorded, rival.measured["f1"]) == (12, 12, 12)
    assert rival.trigger is not None
    assert (rival.trigger.pairs_of_runs, rival.trigger.tp, rival.metrics["f1"]) == (4, 12, 1.0)


def test_models_are_ranked_apart_and_together() -> None:
    """IRF compares inside a model; the global IRF ranks all (model, vendor) pairs, equal labels included."""
    other = EntryInfo("n", "rival", "rival", "n-1")
    records = everything(BASE) + everything(RIVAL) + everything(other, ok(ttft_ms=50))
    report = score(records, BASE, RIVAL, other)
    assert [model.model for model in report.models] == ["m", "n"]
    alone = report.models[1].vendors[0]
    assert (alone.ranks["avg_ttft_ms"], alone.irf) == (1.0, pytest.approx(5 / 6))
    assert alone.irf_global is not None
    assert alone.irf_global < 5 / 6
    assert report.models[0].vendors[0].ranks["avg_ttft_ms"] == 1.5


def test_an_empty_run_scores_without_error() -> None:
    """No records, no samples, no entries: a report with nothing in it (P14)."""
    assert score_run((), (), (), repeat=1, run="r").models == ()
    assert vendor(score_run((BASE,), (), (), repeat=1, run="r"), "official").metrics["success_rate"] is None


def test_the_report_is_plain_json() -> None:
    """Every value can be written as JSON, with no NaN and no key that is not text."""
    report = score(everything(BASE) + everything(RIVAL, bad()))
    assert json.loads(json.dumps(to_builtins(report, enc_hook=str), allow_nan=False))["run"] == "run"


OUTCOMES = st.sampled_from(["call", "text", "fail", "lost"])
ANSWERS = st.lists(OUTCOMES, min_size=len(SAMPLES), max_size=len(SAMPLES))
MADE = {"call": ok(), "text": ok(()), "fail": bad()}


def rows(entry: EntryInfo, outcomes: Sequence[str]) -> list[Record]:
    return [record(entry, at, MADE[outcome]) for at, outcome in enumerate(outcomes) if outcome != "lost"]


@settings(max_examples=60)
@given(ANSWERS, ANSWERS, st.integers(0, len(SAMPLES) - 1), st.booleans(), st.sampled_from(["missed", "exclude"]))
def test_failing_instead_of_agreeing_never_raises_success_or_f1(
    base: list[str], own: list[str], at: int, complete: bool, undecided: str
) -> None:
    """Over whole runs, complete or not and under both policies."""
    if own[at] != base[at] or own[at] not in ("call", "text"):
        return
    worse = [*own[:at], "fail", *own[at + 1 :]]
    before, after = (
        vendor(score(rows(BASE, base) + rows(RIVAL, each), complete=complete, undecided=undecided), "rival").metrics
        for each in (own, worse)
    )
    assert (after["success_rate"] or 0) <= (before["success_rate"] or 0)
    assert (after["f1"] or 0) <= (before["f1"] or 0)


@settings(max_examples=60)
@given(ANSWERS, ANSWERS, st.integers(0, 2 * len(SAMPLES) - 1))
def test_losing_any_one_record_changes_no_other_pairing(base: list[str], own: list[str], lost: int) -> None:
    """The confusion matrix without a sample is the same whether that sample's record was lost or never planned."""
    records = rows(BASE, base) + rows(RIVAL, own)
    if lost >= len(records):
        return
    gone = records[lost].sample
    rest = [each for each in SAMPLES if each.id != gone]
    left = records[:lost] + records[lost + 1 :]
    reports = (
        score_run((BASE, RIVAL), played(*rest), each, repeat=1, run="run", complete=False).models[0].vendors
        for each in (records, left)
    )
    before, after = ([(each.label, each.trigger) for each in vendors] for vendors in reports)
    assert before == after
    whole = vendor(score(left, complete=False), "rival").trigger
    part = dict(after)["rival"]
    assert whole is not None
    assert part is not None
    cells = ("tp", "fp", "fn", "tn")
    if records[lost].label == "rival" or base[[each.id for each in SAMPLES].index(gone)] == "lost":
        assert [getattr(whole, cell) for cell in cells] == [getattr(part, cell) for cell in cells]


def test_the_tool_call_error_rate_is_of_answered_requests_that_declared_tools() -> None:
    """A failure neither raises nor lowers it, and a question without tools does not count."""
    wrong = ok((ToolCall("f", '{"a": 1}'), ToolCall("f", "{")))
    plain = Sample("plain-1", Turn(({"role": "user", "content": "hi"},)))
    records = [record(BASE, 0, ok()), record(BASE, 1, wrong), record(BASE, 2, ok(())), record(BASE, 3, bad())]
    turns = (TurnRecord((ok((ToolCall("f", "{"),)),)),)
    spoken = Record("run", BASE.model, BASE.label, BASE.vendor, "trigger", plain.id, 0, turns)
    report = score_run([BASE], played(*SAMPLES, plain), [*records, spoken], repeat=1, run="run", complete=True)
    schema = vendor(report, "official").schema
    assert (schema.tool_call_error_rate, schema.tool_requests) == (1 / 3, 3)
