"""The frames of a run: which record counts, who answers for a failure, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_records import BASE, MS, RIVAL, SAMPLES, bad, everything, frames, ok, record, timing
from msgspec import structs

from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Attempt, Record, Score, ToolCall, TurnRecord, Usage
from vendor_verifier.records.sample import Samples
from vendor_verifier.scoring.answer import AnswerTexts
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, EVALUATION_COLUMNS, RECORD_COLUMNS
from vendor_verifier.scoring.table import read_frames
from vendor_verifier.suites.trigger import TriggerSuite

THIRD = EntryInfo("m", "third", "third", "m-1")


def only(*attempts: Attempt, **changes: Any) -> pd.Series[Any]:
    (row,) = (row for _, row in frames([record(RIVAL, 0, *attempts, **changes)]).records.iterrows())
    return row


def test_a_row_of_an_answer() -> None:
    row = only(ok(timed=timing(connect_ns=5 * MS, our_lateness_ns=MS, first_answer_ns=300 * MS), served_model="m-1"))
    expected = {
        "model": "m", "label": "rival", "suite": "trigger", "sample": "s0-1", "repetition": 0, "ok": True, "turns": 1,
        "attempts": 1, "retried": False, "decision": "called", "calls": 1, "classes": "valid", "offered": True,
        "finish": "tool_calls", "served_model": "m-1", "ttft_ms": 100, "ttfat_ms": 300, "e2e_ms": 1100, "connect_ms": 5,
        "input_tokens": 10, "output_tokens": 100, "tokens_after": 100, "decode_s": 1.0,
        "late_ms": 1, "sent_s": 1767225600, "ended_s": 1767225601.1,
    }  # fmt: skip
    assert row[list(expected)].to_dict() == pytest.approx(expected)
    missing = ["failure", "charge", "due_s", "waited_ms", "ttft_due_ms", "cached_tokens", "reported_usd", "discarded"]
    assert row[missing].isna().all()
    assert pd.isna(only(ok(timed=timing()))["late_ms"]), "nobody watched"


@pytest.mark.parametrize("count", [0, 1, 5])
def test_columns_and_types(count: int) -> None:
    found = frames(everything(RIVAL)[:count] + [record(BASE, at, bad()) for at in range(count)])
    for frame, columns in (
        (found.records, RECORD_COLUMNS), (found.attempts, ATTEMPT_COLUMNS), (found.evaluations, EVALUATION_COLUMNS),
    ):  # fmt: skip
        assert {str(name): str(dtype) for name, dtype in frame.dtypes.items()} == {
            column.name: column.dtype for column in columns
        }
    assert len(found.records) == 2 * count


@pytest.mark.parametrize(("finish", "reworded"), [("length", "added:max_tokens=4096"), ("stop", None)])
def test_a_limit_of_ours_is_the_limit_and_rewords_what_reaches_it(finish: str, reworded: str | None) -> None:
    notes = ("added:max_tokens=4096", "dropped:stream_options")
    row = only(turns=(TurnRecord((ok(finish_reason=finish),), notes),))
    assert (row["max_tokens"], row["reworded"] if reworded else None) == (4096, reworded)


ATTEMPTS = st.sampled_from([ok(), ok(()), bad(), bad("rate_limited", 429)])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), ATTEMPTS), max_size=9))
def test_a_success_replaces_a_failure(made: list[tuple[int, Attempt]]) -> None:
    """One row a key: the first success, else the first record."""
    found = frames([record(RIVAL, at, attempt) for at, attempt in made]).records
    expected = {}
    for at, attempt in made:
        known = expected.get(at)
        if known is None or (attempt.succeeded and not known.succeeded):
            expected[at] = attempt
    rows = {str(row["sample"]): row for _, row in found.iterrows()}
    assert len(rows) == len(found) == len(expected)
    for at, attempt in expected.items():
        row = rows[SAMPLES[at].id]
        assert (row["ok"], row["calls"]) == (
            attempt.succeeded, len(attempt.response.tool_calls) if attempt.response else 0,
        )  # fmt: skip


def test_a_conclusive_check_replaces_an_inconclusive_one() -> None:
    """Of a check it does not matter whether the request succeeded."""

    def check(status: str) -> Record:
        return record(RIVAL, 0, bad(), suite="contract", score=Score("contract", details={"status": status}))

    suites = {"contract": TriggerSuite("contract")}
    made = [check("not_measurable"), check("broken"), check("kept")]
    assert read_frames(made, suites, {"contract": SAMPLES}).records["status"].tolist() == ["broken"]


def test_values_of_a_replaced_record_are_left_out() -> None:
    def judged(value: float, attempt: Attempt) -> Record:
        return record(RIVAL, 0, attempt, suite="toolbench", score=Score("toolbench", values={"resolved": value}))

    made = [judged(0.0, bad()), judged(1.0, ok())]
    found = read_frames(made, {"toolbench": TriggerSuite("toolbench")}, {"toolbench": SAMPLES})
    assert found.evaluations["value"].tolist() == [1.0]
    assert found.evaluations["record"].tolist() == found.records.index.tolist() == [1]
    assert found.records["score"].tolist() == [1.0]


def test_records_outside_the_plan() -> None:
    """Other vendors, unknown samples and later repetitions are counted and left out."""
    made = [
        record(RIVAL, 0, ok()), record(RIVAL, 1, ok(), repetition=1), record(THIRD, 0, ok()),
        structs.replace(record(RIVAL, 0, ok()), sample="other"), record(RIVAL, 2, ok(), suite="toolbench"),
    ]  # fmt: skip
    heard: list[Record] = []
    found = frames(made, repeats={("m", "rival"): 1}, listener=lambda record, sample, score: heard.append(record))
    assert (len(found.records), found.outside, heard) == (1, 4, made[:1])


DOORS = [
    ([("official", "connect_refused")], {"vendor"}),
    ([("official", "connect_refused"), ("rival", "connect_refused")], {"network"}),
    ([("official", "connect_refused"), ("rival", "dns")], {"network"}),
    ([("official", "connect_refused"), ("rival", "http_5xx")], {"vendor"}),
    ([("official", "rate_limited")], {"rate_limit"}),
    ([("official", "auth")], {"account"}),
    ([("official", "skipped")], {"unasked"}),
    ([("official", "harness")], {"us"}),
]


@pytest.mark.parametrize(("failures", "charges"), DOORS)
def test_who_answers_for_a_failure(failures: Sequence[tuple[str, str]], charges: set[str]) -> None:
    """A host that cannot be reached, unless another vendor had trouble on the same sample: then the network."""
    entries = {"official": BASE, "rival": RIVAL}
    found = frames([record(entries[label], 0, bad(kind)) for label, kind in failures]).records
    assert set(found["charge"][found["label"].isin(["official"])]) == charges


@pytest.mark.parametrize(("parameters", "charge"), [({"required": ["a"]}, "vendor"), ({"type": "nothing"}, "data")])
def test_a_refusal_of_a_broken_schema(parameters: dict[str, Any], charge: str) -> None:
    tools = ({"type": "function", "function": {"name": "f", "parameters": parameters}},)
    sample = structs.replace(SAMPLES[0], turn=structs.replace(SAMPLES[0].turn, tools=tools))
    made = [record(RIVAL, 0, bad("bad_request", 400))]
    found = read_frames(made, {"trigger": TriggerSuite()}, {"trigger": Samples([sample])})
    assert found.records["charge"].tolist() == [charge]


@pytest.mark.lateness
@pytest.mark.parametrize(
    ("late_ms", "begun_late_ms", "discarded"),
    [
        (49, 0, None),
        (51, 0, "ttft_ms,ttfat_ms"),
        (76, 0, "ttft_ms,ttft_due_ms,ttfat_ms"),
        (0, 76, "ttft_due_ms"),
        (501, 0, "ttft_ms,ttft_due_ms,ttfat_ms,decode_s"),
        (551, 0, "ttft_ms,ttft_due_ms,ttfat_ms,e2e_ms,decode_s"),
    ],
)
def test_discarded_times(late_ms: int, begun_late_ms: int, discarded: str | None) -> None:
    """A time is left out, and named, where more than half of it may be our own lateness."""
    timed = timing(our_lateness_ns=late_ms * MS, begun_late_ns=begun_late_ms * MS, scheduled_ns=-50 * MS)
    row = only(ok(timed=timed), offered_s=1.0)
    assert (row["discarded"] if isinstance(row["discarded"], str) else None) == discarded
    for name in ("ttft_ms", "ttft_due_ms", "ttfat_ms", "e2e_ms", "decode_s"):
        assert bool(np.isnan(row[name])) == (name in (discarded or "").split(","))
    assert np.isnan(row["tokens_after"]) == np.isnan(row["decode_s"])


def turns(*attempts: Attempt) -> pd.Series[Any]:
    return only(turns=tuple(TurnRecord((attempt,)) for attempt in attempts))


def test_several_turns() -> None:
    """Times to the first token are means; what is summed is missing unless every turn has it."""
    row = turns(ok(timed=timing(100)), ok(timed=timing(300)))
    names = ["ttft_ms", "e2e_ms", "input_tokens", "output_tokens", "decode_s", "tokens_after", "turns"]
    assert row[names].tolist() == [200, 2400, 20, 200, 2, 200, 2]
    part = turns(ok(), ok(usage=Usage(10)))
    assert (part["input_tokens"], np.isnan(part["output_tokens"]), part["decode_s"]) == (20, True, 1.0)
    assert not turns(ok(), bad())["ok"]


def test_an_open_loop() -> None:
    """TTFT from due holds waits and failed attempts; the last attempt says how long it waited."""
    late = ok(timed=timing(100, scheduled_ns=-250 * MS))
    row = only(bad(), late, offered_s=3.0)
    assert (row["due_s"], row["waited_ms"], row["ttft_due_ms"], row["ttft_ms"]) == (3.0, 250, 350, 100)
    assert row["retried"]


def test_spent_attempts() -> None:
    """Every attempt that ended no turn of a success, and whether it may be billed."""
    made = [record(RIVAL, 0, bad(), ok()), record(RIVAL, 1, bad("timeout_total", None)), record(RIVAL, 2, ok())]
    found = frames(made).attempts
    assert found["sample"].tolist() == ["s0-1", "s1-1"]
    assert found["succeeded"].tolist() == [True, False]
    assert found["billed"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (ok((), text="one"), ok((), text="two"), None),
        (ok(), ok((ToolCall("f", '{ "a":1}'),)), True),
        (ok(), ok((ToolCall("f", '{"a": 2}'),)), False),
        (ok(), ok((ToolCall("g", '{"a": 1}'),)), False),
        (ok((ToolCall("f", "no JSON"),)), ok((ToolCall("f", "no JSON"),)), True),
        (ok((ToolCall("f", '{"a": "\\ud800"}'),)), ok((ToolCall("f", '{"a":"\\ud800"}'),)), False),
    ],
)
def test_equal_calls(one: Attempt, other: Attempt, same: bool | None) -> None:
    """The digest is of calls in canonical form; an answer without calls has none."""
    first, second = frames([record(RIVAL, 0, one), record(RIVAL, 1, other)]).records["call_digest"]
    assert (None if np.isnan(first) else first == second) == same


@pytest.mark.parametrize("sent", ["", "yesterday", "2026-01-01T00:00:00"])
def test_a_time_that_cannot_be_read(sent: str) -> None:
    """The moment is missing; one without a zone is in UTC."""
    row = only(ok(timed=timing(sent_at=sent)))
    assert row["sent_s"] == 1767225600 if "T" in sent else np.isnan(row["sent_s"])


def test_texts_of_answers() -> None:
    """The first two repetitions of successes, with calls in canonical form."""
    made = [
        record(RIVAL, 0, ok((ToolCall("f", '{"b":2, "a" : 1}'),), text=" é ")), record(RIVAL, 0, ok(()), repetition=2),
        record(RIVAL, 1, bad()),
    ]  # fmt: skip
    texts = AnswerTexts.of({"trigger": SAMPLES})
    kept = frames(made, texts=texts).texts.kept
    ((question, answers),) = kept["m", "rival"].items()
    assert (question, list(answers)) == (("trigger", "s0-1"), [0])
    assert (answers[0].text, answers[0].calls) == ("é", 'f({"a":1,"b":2})')
    assert frames(made).texts.kept == {}
