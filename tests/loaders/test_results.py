"""Other verifiers' result files: joined by content and occurrence, judged like live answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from call_evaluations import any_json
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError
from vendor_verifier.loaders import LoadedSamples, read_dataset_file
from vendor_verifier.loaders.results import Imported, ResultRow, import_results, read_result
from vendor_verifier.records.record import Record

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "c", "type": "function", "index": -1, "function": {"name": "f", "arguments": "{}"}}


def request(question: str = "q", **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "messages": [{"role": "user", "content": question}], "tools": [TOOL], **more}


def body(*calls: dict[str, Any], text: str = "", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "tool_calls": list(calls) or None}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    return {"id": "r", "model": "m-1", "choices": [choice], "usage": usage, **more}


def row(index: int | None, question: str = "q", answer: Any = None, **more: Any) -> dict[str, Any]:
    answer = body(text="hello") if answer is None else answer
    fields = {"data_index": index, "request": request(question), "response": answer, "status": "success", **more}
    return {key: value for key, value in fields.items() if value is not None}


def lines(*rows: dict[str, Any]) -> list[bytes]:
    return [json.dumps(one).encode() + b"\n" for one in rows]


def run(baseline: str | None = None, samples: LoadedSamples | None = None, **files: list[dict[str, Any]]) -> Imported:
    given = {label: [(Path(label), lines(*rows))] for label, rows in files.items()}
    return import_results(given, model="k", baseline=baseline, run="r", samples=samples)


def answers(imported: Imported, label: str) -> dict[str, str]:
    return {r.sample: said(r) for r in imported.records if r.label == label}


def said(record: Record) -> str:
    assert record.final is not None
    return record.final.response.text if record.final.response is not None else "–"


def read(**more: Any) -> ResultRow:
    return read_result(row(1, **more), 1)


@given(st.data())
def test_losing_any_rows_changes_no_other_pairing(data: st.DataObject) -> None:
    """Whatever two files lose, in whatever order rows stand, equal lines of the samples file meet."""
    questions = data.draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=6))
    every = [row(number, text, body(text=f"{number}")) for number, text in enumerate(questions, 1)]
    files = {label: data.draw(st.permutations(every)) for label in "ab"}
    files = {label: rows[: data.draw(st.integers(1, len(rows)))] for label, rows in files.items()}
    asked = [json.dumps(one["request"]).encode() for one in every]
    samples = read_dataset_file(asked, dataset="d", file=Path("d"), format="chat")
    known = {sample.id: str(sample.source.line) for sample in samples.samples if sample.source}
    with_file = run(samples=samples, **files)
    for label, rows in files.items():
        expected = {one["response"]["choices"][0]["message"]["content"] for one in rows}
        got = answers(with_file, label)
        assert set(got.values()) == expected
        assert all(known[sample] == text for sample, text in got.items())
    union = run(**files)
    ours, theirs = answers(union, "a"), answers(union, "b")
    assert all(ours[sample] == theirs[sample] for sample in ours.keys() & theirs.keys())
    assert len(ours.keys() & theirs.keys()) == len(set(ours.values()) & set(theirs.values()))


def test_test_file_is_the_plan_and_foreign_rows_are_left_out() -> None:
    """What the test file asks is planned for everybody; a row that asks something else is reported and dropped."""
    asked = [json.dumps(request(text, expected_tool_call=True)).encode() for text in ("q", "never answered")]
    samples = read_dataset_file(asked, dataset="d", file=Path("d"), format="chat")
    imported = run(samples=samples, a=[row(1), row(2, "foreign")])
    assert imported.samples == samples.samples
    assert [record.sample for record in imported.records] == [samples.samples[0].id]
    assert any("1 row left out" in warning for warning in imported.warnings)
    with pytest.raises(DataError, match="none of its questions"):
        run(samples=samples, a=[row(1), row(2, "foreign")], b=[row(1, "foreign")])


def test_of_two_rows_for_a_sample_the_success_counts() -> None:
    """Incremental runs append a second row; the rule is that of our own records, and the message says so."""
    failed = row(1, answer={"error": "Error code: 500"}, status="failed")
    assert (
        answers(run(a=[failed, row(1, answer=body(text="2nd")), row(1, answer=body(text="3rd"))]), "a").popitem()[1]
        == "2nd"
    )
    imported = run(a=[row(1, answer=body(text="1st")), failed])
    assert answers(imported, "a").popitem()[1] == "1st"
    assert any("already had one" in warning for warning in imported.warnings)


def test_answer_is_read_again_from_the_stored_response() -> None:
    """The tools' own finish_reason and validity are not believed: the response says what was called."""
    stored = body(CALL, system_fingerprint="fp", provider="Up")
    stored["choices"][0]["finish_reason"] = "stop"
    attempt = read(answer=stored, finish_reason="stop", tool_calls_valid=False).attempt
    assert attempt.succeeded
    assert attempt.response is not None
    assert [(call.name, call.arguments) for call in attempt.response.tool_calls] == [("f", "{}")]
    assert (attempt.response.finish_reason, attempt.response.usage.total if attempt.response.usage else 0) == (
        "stop",
        7,
    )
    assert (attempt.response.served_model, attempt.response.served_provider) == ("m-1", "Up")
    assert not attempt.response.streamed
    assert attempt.response.anomalies == ()


def test_streamed_rows_echo_the_requested_model() -> None:
    """The tool wrote the requested name over the served one, so the same name proves nothing."""
    fields = {**row(1), "request": request(stream=True)}
    response = read_result(fields, 1).attempt.response
    assert response is not None
    assert (response.streamed, response.served_model) == (True, None)
    fields["response"] = body(model="cheap")
    served = read_result(fields, 1).attempt.response
    assert served is not None
    assert served.served_model == "cheap"


def test_times_are_taken_and_zero_is_not_measured() -> None:
    """duration_ms is the end, ttft_ms the first token when above zero; both absent is no timing at all."""
    timing = read(duration_ms=3088, ttft_ms=12.5, last_run_at="2025-09-30T07:07:22").attempt.timing
    assert timing is not None
    assert (timing.end_ns, timing.first_token_ns, timing.sent_at) == (3_088_000_000, 12_500_000, "2025-09-30T07:07:22")
    assert timing.last_token_ns is None
    unmeasured = read(duration_ms=3088, ttft_ms=0).attempt.timing
    assert unmeasured is not None
    assert unmeasured.first_token_ns is None
    assert read().attempt.timing is None
    assert read(duration_ms=0).attempt.timing is None


@pytest.mark.parametrize(
    ("response", "kind", "status"),
    [
        ({"error": "Error code: 400 - {'error': {'message': 'bad schema'}}"}, "bad_request", 400),
        ({"error_type": "RateLimitError", "error_message": "slow down"}, "rate_limited", 429),
        ({"error_type": "RateLimitError", "error_message": "Error code: 429 - {}"}, "rate_limited", 429),
        ({"error_type": "InternalServerError", "error_message": "Error code: 529 - {}"}, "overloaded", 529),
        ({"error_type": "APITimeoutError", "error_message": "Request timed out."}, "timeout_total", None),
        ({"error_type": "APIConnectionError", "error_message": "Connection error."}, "connect", None),
        ({"error": "[Errno -2] Name or service not known"}, "dns", None),
        ({"error": "[Errno 111] Connection refused"}, "connect_refused", None),
        ({"error": "peer closed connection without sending complete message body"}, "truncated", None),
        ({"error_type": "ReadError", "error_message": ""}, "connection_reset", None),
        ({"error": {"message": "no money", "code": "insufficient_quota"}}, "no_credit", 402),
        (
            {"error_type": "RateLimitError", "error_message": "Error code: 429 - {'code': 'insufficient_quota'}"},
            "no_credit",
            429,
        ),
        ({"status_code": 429, "error": {"message": "m", "code": "insufficient_quota"}}, "no_credit", 429),
        ({"error": "Error code: 400 - {'error': {'message': 'API key not valid.'}}"}, "auth", 400),
        ({"status_code": 503, "error": "down"}, "overloaded", 503),
        ({"error": "HTTP 502: Bad Gateway"}, "http_5xx", 502),
        ({"error_type": "JSONDecodeError", "error_message": "Expecting value"}, "not_an_api_response", None),
        ({"error": "'NoneType' object is not subscriptable"}, "bad_payload", None),
        ("just text", "bad_payload", None),
        ([], "bad_payload", None),
    ],
)
def test_failed_row_gets_the_kind_its_words_suggest(response: Any, kind: str, status: int | None) -> None:
    """A stated status, the exception's class, then telling words; the text is kept."""
    failure = read(answer=response, status="failed").attempt.failure
    assert failure is not None
    assert (failure.kind, failure.status) == (kind, status)
    assert failure.message


def test_keys_in_failure_messages_are_removed() -> None:
    text = "Error code: 401 - Incorrect API key provided: sk-abcdefgh12345678. Sent Bearer abcdefghijkl"
    failure = read(answer={"error": text}, status="failed").attempt.failure
    assert failure is not None
    assert "abcdefgh" not in failure.message
    assert failure.kind == "auth"


def test_success_that_holds_no_answer_is_a_failure() -> None:
    for stored, kind in (({"choices": None}, "not_an_api_response"), ({"error": "boom"}, "api_error_in_200")):
        attempt = read(answer=stored).attempt
        assert attempt.failure is not None
        assert attempt.failure.kind == kind


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"messages": []}, "this is a file of samples"),
        ({"request": {"prompt": "p"}}, "request: no `messages`"),
        ({"request": request()}, "response: the row has neither"),
        (row(1, answer={"choices": [{"text": "raw"}]}), "a raw completion"),
    ],
)
def test_unusable_rows_are_named_or_skipped_by_wish(fields: dict[str, Any], said: str) -> None:
    given = Path("a.jsonl.gz"), lines(row(1), fields)
    with pytest.raises(DataError, match=said) as caught:
        import_results({"a": [given]}, model="k", baseline=None, run="r")
    assert str(caught.value).startswith("a.jsonl.gz:2: ")
    imported = import_results({"a": [given]}, model="k", baseline=None, run="r", skip_bad=True)
    assert len(imported.records) == 1
    assert said in imported.warnings[0]


json_values = any_json()
results = st.fixed_dictionaries(
    {"request": st.just(request()) | json_values},
    optional={
        "response": json_values | st.fixed_dictionaries({"choices": json_values | st.lists(json_values, max_size=2)}),
        "status": st.sampled_from(["success", "failed"]) | json_values,
        "data_index": json_values,
        "duration_ms": json_values,
        "ttft_ms": json_values,
        "extra_body": json_values,
    },
)


@given(st.lists(st.binary(max_size=40) | results.map(json.dumps).map(str.encode), max_size=4))
def test_any_bytes_give_a_run_or_a_data_error(content: list[bytes]) -> None:
    for skip_bad in (False, True):
        try:
            imported = import_results(
                {"a": [(Path("a"), content)]}, model="k", baseline="a", run="r", skip_bad=skip_bad
            )
        except DataError:
            continue
        assert len({record.key for record in imported.records}) == len(imported.records) > 0
