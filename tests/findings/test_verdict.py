"""What a vendor does, and what the verdict says of it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable

import model_runs
import numpy as np
import pandas as pd
import pytest
from model_runs import BASE, altered, failing, honest_run, results, typed

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.findings.verdict import ModelVerdict, judge
from vendor_verifier.records.results import FacetName, Status, SuiteResult
from vendor_verifier.scoring.answer import AnswerText
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS

Alteration = Callable[[ModelRun], ModelRun]
HONEST = honest_run(vendors=("v", "w"))
# A tenth of the requests, scattered, and those of v that call a tool.
SOME = np.arange(0, 315, 11)
CALLS = np.flatnonzero(HONEST.rows["v"]["calls"] > 0)


def judged(run: ModelRun) -> ModelVerdict:
    return judge(run, results(run))


def with_texts(run: ModelRun, label: str, text: Callable[[int], str], repetition: int = 0) -> ModelRun:
    answers = {
        question: {**both, repetition: AnswerText(text(int(question[1][1:])), "", "")}
        for question, both in run.texts[label].items()
    }
    return dataclasses.replace(run, texts={**run.texts, label: answers})


def own_text(run: ModelRun, i: int) -> str:
    """The baseline's first answer to a question."""
    return run.texts[BASE]["trigger", f"s{i:04d}"][0].text


def retried(run: ModelRun, label: str, places: slice, failure: str) -> ModelRun:
    rows = run.rows[label].iloc[places].assign(failure=failure, succeeded=True, seconds=0.1, billed=False)
    return dataclasses.replace(altered(run, label, places, retried=True), attempts=typed(rows, ATTEMPT_COLUMNS))


def repeated(run: ModelRun, samples: int) -> ModelRun:
    """The run with these few samples, each asked again and again."""
    number = run.records["sample"].astype(str).str[1:].astype(int)
    turn = number // samples * (1 + (run.records["label"] == BASE)) + run.records["repetition"]
    records = run.records.assign(sample=(number % samples).map("s{:04d}".format), repetition=turn)
    return dataclasses.replace(run, records=typed(records))


def repeating(run: ModelRun, text: str = "") -> ModelRun:
    """At temperature 0 everybody gives the same answer to a question."""
    for label in run.labels:
        for repetition in (0, 1) if label == BASE else (0,):
            run = with_texts(run, label, lambda i: text or f"answer {i} " * 6, repetition)
    return run


def at_v(places: object = slice(None), **columns: object) -> Alteration:
    return lambda run: altered(run, "v", places, **columns)


@pytest.mark.parametrize("vendors", [("v",), tuple("vwxyz")])
@pytest.mark.parametrize("seed", range(2))
def test_vendors_like_the_baseline_match_in_every_facet(vendors: tuple[str, ...], seed: int) -> None:
    found = judged(honest_run(vendors=vendors, seed=seed))
    statuses = [facet.status for label in vendors for facet in found.verdicts[label].facets.values()]
    # Of 45 facets at a level of 1 % for each facet of a run.
    assert Counter(statuses)["matches"] >= len(statuses) - 1
    assert set(statuses) <= {"matches", "check"}


# No usage is reported.
SILENT = dict.fromkeys(("input_tokens", "output_tokens", "reasoning_tokens", "tokens_after", "decode_s"), np.nan)
NO_CALL = {"decision": "not_called", "calls": 0, "classes": None, "call_digest": np.nan}
VICES: list[tuple[FacetName, str, Status, Alteration]] = [
    ("model", "another_model", "differs", at_v(SOME, served_model="mini")),
    ("model", "cut_prompts", "differs", at_v(input_tokens=lambda x: np.minimum(x, 300))),
    ("model", "answers_differ", "check", lambda run: with_texts(run, "v", lambda i: f"another answer {i}" * 8)),
    ("model", "answers_too_near", "check", lambda run: with_texts(run, "v", lambda i: own_text(run, i))),
    ("tool_calls", "arguments", "differs", at_v(CALLS[:120], call_digest=lambda x: x + 0.25)),
    ("tool_calls", "decisions", "differs", at_v(CALLS[::3], **NO_CALL)),
    ("tool_calls", "invalid_calls", "differs", at_v(CALLS[::5], classes="schema_mismatch")),
    ("tool_calls", "calls_in_text", "differs", at_v(CALLS[::4], anomalies="markup_in_text")),
    ("reliability", "failed", "differs", lambda run: failing(run, "v", slice(0, None, 4))),
    ("reliability", "failed", "check", lambda run: failing(run, "v", SOME)),
    ("reliability", "cut_off", "differs", lambda run: failing(run, "v", slice(0, None, 8), "truncated")),
    ("reliability", "down", "down", lambda run: failing(run, "v", np.flatnonzero(np.arange(315) % 5))),
    ("reliability", "retried", "check", lambda run: retried(run, "v", slice(0, None, 4), "http_5xx")),
    ("reliability", "stopped_early", "differs", at_v(SOME, finish="length", max_tokens=500.0)),
    (
        "reliability",
        "stopped_early",
        "differs",
        lambda r: at_v(SOME, finish="length", max_tokens=500.0)(at_v(**SILENT)(r)),
    ),
    ("reliability", "failed", "check", lambda r: failing(failing(r, "v", slice(0, None, 7)), BASE, slice(0, None, 40))),
    ("speed", "slow_first_token", "check", at_v(ttft_ms=lambda x: 1.6 * x)),
    ("speed", "slow_decoding", "check", at_v(decode_s=lambda x: 2 * x)),
    ("speed", "late_first_tokens", "check", at_v(SOME, ttft_ms=9000.0)),
    ("speed", "not_streamed", "check", at_v(anomalies="buffered")),
    ("speed", "faked_stream", "check", at_v(ttft_ms=HONEST.rows["v"]["output_tokens"].to_numpy() * 10)),
    ("speed", "faked_stream", "check", at_v(ttft_ms=HONEST.rows["v"]["characters"].to_numpy() * 2, **SILENT)),
]


@pytest.mark.parametrize(("facet", "finding", "status", "alter"), VICES)
def test_what_a_vendor_does_is_found(facet: FacetName, finding: str, status: Status, alter: Alteration) -> None:
    found = judged(alter(HONEST))
    assert (found.verdicts["v"].facets[facet].status, found.verdicts["w"].status) == (status, "matches")
    assert finding in {each.name for each in found.findings if each.facet == facet}
    assert found.choice.labels == ("w",)
    assert f"--facet {facet}" in found.verdicts["v"].facets[facet].command


INNOCENT: dict[str, Alteration] = {
    "a template 40 tokens shorter": at_v(input_tokens=lambda x: x - 40),
    "1.2 times slower": at_v(ttft_ms=lambda x: 1.2 * x),
    "far faster, with late first tokens": at_v(ttft_ms=lambda x: np.where(np.arange(x.size) % 12, x / 20, x / 3)),
    "most first tokens at once": at_v(slice(180), ttft_ms=0.0),
    "refused by our own rate": lambda run: retried(run, "v", slice(0, None, 3), "rate_limited"),
    "a fifth refused by our own rate": lambda run: failing(run, "v", slice(0, None, 6), "rate_limited", "rate_limit"),
    "ten failures of ours": lambda run: failing(run, "v", slice(10), "network", "network"),
    "an outage at both": lambda run: failing(failing(run, "v", slice(100, 112)), BASE, slice(100, 120)),
    "what the baseline does, too": lambda run: altered(
        at_v(CALLS[::5], classes="schema_mismatch")(run), BASE, slice(0, None, 5), classes="schema_mismatch"
    ),
}


@pytest.mark.parametrize("name", INNOCENT)
def test_what_is_no_fault_is_not_held_against_a_vendor(name: str) -> None:
    found = judged(INNOCENT[name](HONEST))
    assert found.verdicts["v"].status in ("matches", "not_tested")
    assert not [each for each in found.findings if each.vendor == "v" and each.status != "matches"]


UNTESTED: list[tuple[FacetName, str, Alteration]] = [
    ("tool_calls", "other words", at_v(reworded="system_joined")),
    ("model", "other words", lambda run: altered(run, BASE, reworded="system_joined")),
    ("speed", "reports no tokens", at_v(**SILENT)),
    ("tool_calls", "4 samples are too few", lambda run: repeated(run, 4)),
    ("model", "temperature 0", lambda run: repeating(run, "A")),
    ("reliability", "quota", lambda run: failing(
        failing(run, "v", slice(9), "rate_limited", "rate_limit"), "v", slice(9, None), "skipped", "unasked")),
]  # fmt: skip


@pytest.mark.parametrize(("facet", "words", "alter"), UNTESTED)
def test_what_was_not_compared_is_not_tested(facet: FacetName, words: str, alter: Alteration) -> None:
    found = judged(alter(HONEST)).verdicts["v"].facets[facet]
    assert found.status == "not_tested"
    assert words in found.reason


@pytest.mark.parametrize(("failures", "n"), [(5, 60), (6, 24), (8, 8), (4, 20)])
def test_few_failures_keep_a_vendor_from_being_chosen(failures: int, n: int) -> None:
    run = failing(honest_run(n, ("v", "w")), "v", np.linspace(0, n - 1, failures).astype(int))
    found = judged(run)
    assert found.verdicts["v"].facets["reliability"].status != "matches"
    assert "v" not in found.choice.labels
    facet = found.verdicts["v"].facets["reliability"]
    assert f"{failures} of {n}" in facet.reason
    assert ("too few requests to call it down; about 60" in facet.reason) == (failures == n)
    assert (facet.value is None) == (facet.status == "not_tested")


@pytest.mark.parametrize("failed", [60, 100, 200])
def test_failing_never_improves_a_verdict(failed: int) -> None:
    """A vendor that rewrites arguments and fails is not better off in tool calls than one that answers."""
    run = failing(altered(HONEST, "v", CALLS, call_digest=lambda x: x + 0.25), "v", slice(failed))
    assert judged(run).verdicts["v"].facets["tool_calls"].status in ("differs", "check", "not_tested")


OURS = {"account": "key", "network": "network", "rate_limit": "429", "us": "could not send", "data": "samples"}


@pytest.mark.parametrize(("charge", "words"), OURS.items())
def test_what_is_ours_is_not_tested_and_says_what_to_do(charge: str, words: str) -> None:
    run = failing(HONEST, "v", np.arange(0, 315, 2), "http_5xx", charge)
    found = judged(run)
    assert found.verdicts["v"].status == "not_tested"
    assert words in found.verdicts["v"].reason
    assert found.verdicts["w"].status == "matches"


def test_a_record_that_is_missing_is_no_failure() -> None:
    run = dataclasses.replace(HONEST, records=HONEST.records.drop(index=HONEST.rows["v"].index[0]))
    assert judged(run).verdicts["v"].status == "matches"


def test_a_busy_machine_leaves_speed_untested_and_says_so() -> None:
    run = altered(HONEST, "v", ttft_ms=np.nan, decode_s=np.nan, late_ms=900.0, discarded="times")
    found = judged(run)
    assert found.verdicts["v"].facets["speed"].status == found.verdicts["v"].status == "not_tested"
    assert "idle machine" in found.verdicts["v"].facets["speed"].reason
    assert found.choice.labels == ("w",)


def test_a_vendor_asked_at_another_time_is_not_as_fast() -> None:
    """One vendor after the other: nothing is compared, so that a slow one does not match."""
    found = judged(altered(HONEST, "v", sent_s=lambda x: x + 10_000, ttft_ms=lambda x: 3 * x))
    assert found.verdicts["v"].facets["speed"].status == "not_tested"
    assert "at the same time" in found.verdicts["v"].facets["speed"].reason
    assert found.choice.labels == ("w",)


def test_times_that_nobody_meant_to_measure_do_not_count() -> None:
    """Imported answers have none."""
    run = HONEST
    for label in run.labels:
        run = altered(run, label, ttft_ms=np.nan, decode_s=np.nan, e2e_ms=np.nan)
    found = judged(run)
    assert found.verdicts["v"].facets["speed"].status == "not_tested"
    assert found.choice.labels == ("v", "w")


@pytest.mark.parametrize(("n", "kind"), [(40, "undecided"), (315, "recommended")])
def test_matches_needs_evidence_that_the_first_line_states(n: int, kind: str) -> None:
    found = judged(honest_run(n, ("v", "w")))
    assert found.choice.kind == kind
    assert ("samples would do" if kind == "undecided" else "would have been seen") in found.choice.text


def test_a_reseller_of_the_official_api_is_noted() -> None:
    run = altered(altered(HONEST, "v", fingerprint="fp_1"), BASE, fingerprint="fp_1")
    found = judged(run)
    assert [(each.vendor, each.name, each.status) for each in found.findings] == [
        ("v", "baseline_fingerprint", "matches")
    ]
    assert found.verdicts["v"].status == "matches"


def test_without_a_baseline_only_facts_are_judged() -> None:
    run = altered(dataclasses.replace(HONEST, baseline=None), "v", SOME, served_model="mini")
    found = judged(run)
    assert {label: verdict.status for label, verdict in found.verdicts.items()} == {
        "official": "not_tested", "v": "differs", "w": "not_tested",
    }  # fmt: skip
    assert "--baseline" in found.verdicts["w"].reason


def test_a_baseline_asked_once_still_shows_missed_calls() -> None:
    run = honest_run(repeats=1)
    facets = judged(run).verdicts["v"].facets
    assert "speed" not in judged(honest_run(20, repeats=1)).choice.text
    assert facets["reliability"].status == facets["bill"].status == "matches"
    assert "--repeat 2" in facets["tool_calls"].reason
    imported = judged(dataclasses.replace(run, is_imported=True)).verdicts["v"].facets["tool_calls"].reason
    assert "--repeat" not in imported
    assert "--baseline official=" in imported
    missed = altered(run, "v", CALLS[::3], **NO_CALL)
    assert judged(missed).verdicts["v"].facets["tool_calls"].status == "differs"


def test_answers_without_randomness_match_only_if_they_are_equal() -> None:
    run = repeating(HONEST)
    assert judged(run).verdicts["v"].facets["model"].status == "matches"
    other = with_texts(run, "v", lambda i: f"other {i} " * 6)
    assert judged(other).verdicts["v"].facets["model"].status == "not_tested"


FAULTS: dict[str, tuple[tuple[FacetName, ...], Alteration]] = {
    "two models": (
        ("model", "tool_calls"), lambda run: altered(run, BASE, slice(300, None), served_model="mini"),
    ),
    "answers that change": (
        ("model", "tool_calls"),
        lambda run: with_texts(run, BASE, lambda i: own_text(run, i) if i < 160 else f"{i}" * 30, 1),
    ),
    "a sixth failing": (("reliability",), lambda run: failing(run, BASE, slice(0, None, 6))),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_baseline_that_is_unsound_tests_nothing(name: str) -> None:
    facets, alter = FAULTS[name]
    run = alter(HONEST)
    found = judged(run)
    assert [each.facets for each in run.faults] == [facets]
    assert {found.verdicts[label].facets[facet].status for label in "vw" for facet in facets} == {"not_tested"}
    assert found.choice.kind == "undecided"
    assert "aseline" in found.choice.text


def test_the_first_line_states_scores_and_never_ranks_by_irf() -> None:
    run = honest_run(vendors=("zeta", "alpha", "bad"))
    run = failing(run, "bad", np.arange(0, 315, 3))
    found = judge(run, results(run, irf=0.1, suites={"bfcl": SuiteResult(planned=10, judged=10, score=0.5)}))
    assert found.choice.labels == ("alpha", "zeta")
    assert "bfcl: " in found.choice.text
    assert "fastest" not in found.choice.text  # equal vendors


def test_a_vendor_with_no_answer_leaves_nobody_to_choose() -> None:
    run = honest_run(60)
    found = judged(failing(run, "v", slice(None)))
    assert found.choice.kind == "nobody_answered"
    assert found.verdicts["v"].status == "down"
    assert judge(dataclasses.replace(run, labels=(BASE,)), results(run)).choice.kind == "no_vendors"


def test_a_vendor_that_nobody_could_reach_is_down() -> None:
    """The run stopped asking it after ten requests."""
    found = judged(
        failing(failing(HONEST, "v", slice(10), "connect_refused"), "v", slice(10, None), "skipped", "unasked")
    )
    assert found.verdicts["v"].status == "down"
    assert "connect_refused 10" in found.verdicts["v"].reason


def test_down_takes_every_third_of_the_run() -> None:
    assert judged(failing(HONEST, "v", slice(160))).verdicts["v"].status == "not_tested"


def test_redacted_texts_leave_model_and_arguments_untested() -> None:
    found = judged(dataclasses.replace(HONEST, redacted=True)).verdicts["v"]
    assert [found.facets[name].status for name in ("model", "tool_calls")] == ["not_tested", "not_tested"]
    assert "redacted" in found.reason


def test_first_tokens_that_come_later_under_load_are_seen() -> None:
    places = np.arange(315)
    crowd = places % 20
    run = HONEST
    for label in run.labels:
        n = len(run.rows[label])
        # Requests come twenty at a time, so that the last of them meet nineteen others.
        sent = 1.8e9 + 100 * (np.arange(n) // 20) + 0.01 * (np.arange(n) % 20)
        run = altered(run, label, sent_s=sent, e2e_ms=5_000.0)
    slow = altered(run, "v", ttft_ms=run.rows["v"]["ttft_ms"].to_numpy() * (1 + crowd / 10))
    names = {each.name for each in judged(slow).findings if each.vendor == "v"}
    assert "slow_under_load" in names
    assert not [each for each in judged(run).findings if each.name == "slow_under_load"]


@pytest.mark.parametrize("suite", ["probes", "contract"])
def test_runs_of_checks_alone_judge_nothing_else(suite: str) -> None:
    diagnostics = HONEST.records.assign(suite=suite).astype({"suite": "category"})
    nothing = {"records": typed(pd.DataFrame()), "planned": dict.fromkeys(HONEST.labels, 0), "texts": {}}
    found = judged(dataclasses.replace(HONEST, diagnostics=diagnostics, **nothing))
    assert found.verdicts["v"].status == "not_tested"
    assert found.choice.kind == "undecided"


def test_the_first_line_names_no_baseline_where_there_is_none() -> None:
    found = judged(dataclasses.replace(altered(HONEST, "v", served_model="mini"), baseline=None, labels=("v",)))
    assert found.choice.text == "No vendor can be recommended (1 differs)."


def test_a_silent_baseline_is_reported_first() -> None:
    """A typo in its url: nothing is compared."""
    run = failing(HONEST, BASE, np.arange(0, 10), "connect_refused", "network")
    run = failing(run, BASE, np.arange(10, 630), "skipped", "unasked")
    found = judged(run)
    assert found.choice.kind == "none"
    assert found.choice.text.startswith(f"The baseline {BASE} answered nothing (connect_refused 10): nothing")


@pytest.mark.parametrize(("asked", "is_down"), [(40, False), (80, True)])
def test_down_takes_60_requests(asked: int, is_down: bool) -> None:
    """Two thirds of a few requests may be one outage."""
    ok = np.arange(asked) % 3 == 0
    failed = {"charge": np.where(ok, None, "vendor"), "failure": np.where(ok, None, "http_5xx")}
    run = model_runs.model_run(model_runs.twice(asked), model_runs.records("v", asked, ok=ok, **failed))
    assert ("down" in {finding.status for finding in judge(run, {}).findings}) == is_down


def test_extra_baseline_answers_do_not_count_for_a_vendor() -> None:
    """A vendor that is asked once is compared with two of them."""
    reached = [judged(honest_run(repeats=repeats)).verdicts["v"].facets["tool_calls"] for repeats in (2, 4)]
    assert {facet.n for facet in reached} == {315}


def test_baseline_that_never_repeats_leaves_the_model_untested() -> None:
    run = with_texts(with_texts(HONEST, "v", lambda i: "7" * 95), BASE, lambda i: "8" * 90)
    run = with_texts(run, BASE, lambda i: "9" * 99, 1)
    facet = judged(run).verdicts["v"].facets["model"]
    assert facet.status == "not_tested"
    assert "too few" in facet.reason
