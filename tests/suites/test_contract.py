"""Every check of the contract can be kept, broken, not offered or not measurable; a vendor that is down keeps none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.records.record import Attempt, Failure, FailureKind, Response, Score, ToolCall, Usage
from vendor_verifier.suites import replay
from vendor_verifier.suites.contract import ContractSuite, contract_samples

SAMPLES = {sample.tags["check"]: sample for sample in contract_samples()}
REFUSALS = [name for name in SAMPLES if name.startswith("refuses_")]
FEATURES = [name for name in SAMPLES if not name.startswith("refuses_")]
CITY = {"place": "Oslo", "founded_in": 1040, "climate": "temperate"}
LATE = Attempt(1, response=Response(text="It is about noon.", finish_reason="stop"))


def failed(kind: FailureKind, status: int | None = None, message: str = "no") -> Attempt:
    return Attempt(1, failure=Failure(kind, "headers" if status else "plan", message, status))


REFUSED = failed("bad_request", 400, "temperature out of range")
DOWN = failed("http_5xx", 500)


def said(text: str = "", finish: Any = "stop", **more: Any) -> Attempt:
    return Attempt(1, response=Response(text=text, finish_reason=finish, **more))


def called(*names: str) -> Attempt:
    calls = tuple(ToolCall(name, '{"city": "Oslo"}') for name in names)
    return said(finish="tool_calls", tool_calls=calls)


def used(input: int | None, **more: Any) -> Attempt:
    return said("Red.", usage=Usage(input=input, output=3, **more))


def judged(check: str, *attempts: Attempt) -> Score:
    score = replay(ContractSuite().play(SAMPLES[check]), iter(attempts))
    assert score is not None
    assert score.details["check"] == check
    return score


def status(check: str, *attempts: Attempt) -> str:
    return str(judged(check, *attempts).details["status"])


@pytest.mark.parametrize(
    ("check", "attempts", "expected"),
    [
        ("tool_choice_none", [LATE], "kept"),
        ("tool_choice_none", [called("get_weather")], "broken"),
        ("tool_choice_none", [said("<tool_call>{}", anomalies=("markup_in_text",))], "broken"),
        ("tool_choice_auto", [called("get_weather")], "kept"),
        ("tool_choice_auto", [LATE], "kept"),
        ("tool_choice_auto", [called("weather")], "broken"),
        ("tool_choice_auto", [said("", "length")], "not_measurable"),
        ("tool_choice_required", [called("get_time")], "kept"),
        ("tool_choice_required", [LATE], "broken"),
        ("tool_choice_required", [said("I think", "length")], "not_measurable"),
        ("tool_choice_named", [called("get_time")], "kept"),
        ("tool_choice_named", [called("get_weather")], "broken"),
        ("tool_choice_named", [called("get_time", "get_weather")], "broken"),
        ("parallel_tool_calls_off", [called("get_weather")], "kept"),
        ("parallel_tool_calls_off", [LATE, called("get_weather")], "kept"),
        ("parallel_tool_calls_off", [LATE, called("get_weather", "get_weather")], "broken"),
        ("parallel_tool_calls_off", [LATE, REFUSED], "not_measurable"),
        ("response_format_json_object", [said(' {"city": "Oslo"}\n')], "kept"),
        ("response_format_json_object", [said('```json\n{"city": "Oslo"}\n```')], "broken"),
        ("response_format_json_object", [said('{"city": "Os', "length")], "not_measurable"),
        ("response_format_json_schema", [said(json.dumps(CITY))], "kept"),
        ("response_format_json_schema", [said(json.dumps({**CITY, "climate": "mild"}))], "broken"),
        ("response_format_json_schema", [said('{"city": "Oslo"}')], "broken"),
        ("max_tokens", [said("one two", "length", usage=Usage(20, 18))], "kept"),
        ("max_tokens", [said("one two", "length", usage=Usage(20, 19))], "broken"),
        ("max_tokens", [said("one two", "length", usage=Usage(20, 7))], "broken"),
        ("max_tokens", [said("one two", "length", usage=Usage(20, 8))], "kept"),
        ("max_tokens", [said("one two", "length")], "kept"),
        ("max_tokens", [said("one two", "stop", usage=Usage(20, 16))], "broken"),
        ("max_tokens", [said("one " * 200, "stop")], "broken"),
        ("max_tokens", [said("No.", "stop", usage=Usage(20, 2))], "not_measurable"),
        ("stop", [said("The sea is wide")], "kept"),
        ("stop", [said("The sea is wide. It is blue.")], "broken"),
        ("stop", [said("")], "broken"),
        ("stop", [said("The sea is wide", "tool_calls")], "broken"),
        ("stop", [said("The sea", "length")], "not_measurable"),
        ("usage_with_and_without_streaming", [used(12), used(12)], "kept"),
        ("usage_with_and_without_streaming", [used(12), used(19)], "broken"),
        ("usage_with_and_without_streaming", [used(0), used(12)], "broken"),
        ("usage_with_and_without_streaming", [LATE, LATE], "not_offered"),
        ("usage_with_and_without_streaming", [used(12), REFUSED], "not_offered"),
        ("usage_with_and_without_streaming", [REFUSED, used(12)], "not_offered"),
        ("usage_with_and_without_streaming", [used(12), DOWN], "not_measurable"),
        ("thinking_switch", [said("30", reasoning="Let me see"), said("30")], "kept"),
        ("thinking_switch", [used(12, reasoning=40), used(12, reasoning=0)], "kept"),
        ("thinking_switch", [said("30"), said("<think>well</think>30")], "broken"),
        ("thinking_switch", [said("30"), said("30")], "not_measurable"),
        ("thinking_switch", [said("30", reasoning="Let me see"), REFUSED], "not_offered"),
        ("thinking_switch", [said("30", reasoning="Let me see"), DOWN], "not_measurable"),
    ],
)
def test_what_answers_show(check: str, attempts: list[Attempt], expected: str) -> None:
    """Each check is broken by the answer that breaks it, and by nothing that only fails to show it."""
    score = judged(check, *attempts)
    assert score.details["status"] == expected
    assert score.values == {"kept": {"kept": 1.0, "broken": 0.0}.get(expected)}
    assert score.details["evidence"]


@pytest.mark.parametrize("check", SAMPLES)
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("http_5xx", 500), ("rate_limited", 429), ("dns", None), ("auth", 401), ("truncated", 200),
        ("api_error_in_200", 400), ("harness", None),
    ],
)  # fmt: skip
def test_a_vendor_that_is_down_passes_nothing(check: str, kind: FailureKind, code: int | None) -> None:
    """Only HTTP 400 or 422 is a refusal; any other failure measures nothing, even if its body says 400."""
    score = judged(check, *[failed(kind, code)] * 3)
    assert score.details["status"] == "not_measurable"
    assert score.values == {"kept": None}


@pytest.mark.parametrize("check", REFUSALS)
@pytest.mark.parametrize("kind", ["bad_request", "unprocessable"])
def test_a_refusal_is_kept_by_a_vendor_that_is_up(check: str, kind: FailureKind) -> None:
    """Kept if the same request without the value is answered: a wrong model name gives 400 to every request."""
    score = judged(check, failed(kind, 400, "out of range"), LATE)
    assert (score.details["status"], score.values) == ("kept", {"kept": 1.0})
    assert score.details["evidence"] == "HTTP 400: out of range"
    assert status(check, LATE) == "broken"
    assert status(check, failed("untranslatable")) == "not_offered"
    for control in (REFUSED, DOWN):
        assert status(check, REFUSED, control) == "not_measurable"


@pytest.mark.parametrize("check", [name for name in FEATURES if not name.startswith("usage")])
def test_a_feature_that_is_refused_is_not_offered(check: str) -> None:
    """If a bare question is answered; else nothing is known. A wire without a word for it does not offer it either."""
    assert status(check, REFUSED, LATE) == "not_offered"
    assert status(check, failed("not_found", 404), LATE) == "not_offered"
    assert status(check, REFUSED, REFUSED) == "not_measurable"
    assert status(check, failed("untranslatable")) == "not_offered"
    assert "temperature out of range" in judged(check, REFUSED, LATE).details["evidence"]
