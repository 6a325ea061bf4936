"""Each judgement on its own: what it takes for ok, warning, failed, and when it says that it cannot tell."""

from __future__ import annotations

from typing import Any

import pytest
from changing import replace
from doctor_cases import (
    CALL,
    DONE,
    JSON,
    MS,
    REACH,
    STREAM,
    answer,
    broken,
    calling,
    case,
    chunk,
    entry,
    good,
    refused,
    sse,
    text_question,
    tool_question,
    words,
)  # fmt: skip

from vendor_verifier.features.doctor import checks
from vendor_verifier.features.doctor.diagnose import CHECKS, diagnose, exit_code_of, verdict
from vendor_verifier.features.doctor.values import Answer, Case, Check, SdkFinding
from vendor_verifier.values.request import Endpoint
from vendor_verifier.wire.openai_chat import OpenAIChat

PROXIED = replace(REACH, proxy="http://proxy:3128", addresses=(), tls_version=None, tls_days_left=None)
UNRESOLVED = replace(REACH, addresses=(), dns_error="unknown host", tls_version=None, tls_days_left=None)
PLAIN = replace(REACH, scheme="http", tls_version=None, tls_days_left=None)
NO_TLS = replace(REACH, tls_version=None, tls_days_left=None, tls_error="certificate has expired")
UNREACHED = [broken(tool_question(), "dns")]


def page() -> Answer:
    """A web server's page with status 200, where an answer should be."""
    return answer(tool_question(), [(90 * MS, b"<html>Welcome to nginx!</html>")], 200, {"content-type": "text/html"})


def error_in_200(code: int) -> Answer:
    """An error as the only event of a stream with status 200."""
    return answer(tool_question(), [(90 * MS, sse({"error": {"message": "no", "code": code}}))])


@pytest.mark.parametrize(
    ("reach", "answers", "status"),
    [
        (REACH, None, "ok"),
        (PROXIED, None, "not_measurable"),
        (UNRESOLVED, None, "warning"),
        (UNRESOLVED, UNREACHED, "failed"),
    ],
)
def test_name(reach: Any, answers: Any, status: str) -> None:
    """A name must resolve, unless a proxy does that for us; one that answered cannot be called unknown."""
    assert checks.name_check(case(answers, reach)).status == status


@pytest.mark.parametrize(
    ("reach", "answers", "status", "words_"),
    [
        (REACH, None, "ok", "80 days"),
        (replace(REACH, tls_days_left=5.0), None, "warning", "5 days"),
        (PLAIN, None, "warning", "unencrypted"),
        (replace(PLAIN, local=True), None, "not_measurable", "this machine"),
        (NO_TLS, UNREACHED, "failed", "expired"),
        (NO_TLS, None, "ok", "expired"),
        (PROXIED, None, "ok", "proxy"),
        (REACH, [broken(tool_question(), "tls", "bad certificate")], "failed", "bad certificate"),
        (UNRESOLVED, UNREACHED, "not_measurable", "no connection"),
    ],
)
def test_tls(reach: Any, answers: Any, status: str, words_: str) -> None:
    """What the HTTP client accepted counts; the side connection only adds version and expiry."""
    check = checks.tls_check(case(answers, reach))
    assert check.status == status
    assert words_ in check.evidence


@pytest.mark.parametrize(
    ("answers", "key", "model"),
    [
        (None, "ok", "ok"),
        ([refused(tool_question(), 401)], "failed", "not_measurable"),
        ([refused(tool_question(), 402)], "failed", "not_measurable"),
        ([refused(tool_question(), 500)], "not_measurable", "not_measurable"),
        ([refused(tool_question(), 400, "No connected db.")], "not_measurable", "not_measurable"),
        ([refused(tool_question(), 404)], "not_measurable", "failed"),
        ([refused(tool_question(), 400, "The model x does not exist")], "not_measurable", "failed"),
        (UNREACHED, "not_measurable", "not_measurable"),
        ([page()], "not_measurable", "not_measurable"),
        ([error_in_200(401)], "failed", "not_measurable"),
        ([error_in_200(402)], "failed", "not_measurable"),
        ([error_in_200(429)], "not_measurable", "not_measurable"),
        ([page(), *good()], "ok", "ok"),
        ([answer(text_question(), [(90 * MS, chunk("error", content="A word") + DONE)])], "ok", "ok"),
    ],
)
def test_key_and_model(answers: Any, key: str, model: str) -> None:
    """A refusal says what it says and nothing about what it did not get to."""
    assert checks.key_check(case(answers)).status == key
    assert checks.model_check(case(answers)).status == model


def test_answers_in_full() -> None:
    """All, some or none of the questions came to an end."""
    whole, text = good()
    cut = answer(text_question(), words()[:3])
    assert checks.answer_check(case()).status == "ok"
    assert checks.answer_check(case([whole, cut, text])).status == "warning"
    assert checks.answer_check(case([cut])).status == "failed"
    assert "truncated" in checks.answer_check(case([cut])).evidence
    assert checks.answer_check(case([])).status == "failed"


@pytest.mark.parametrize(
    ("date", "status", "words_"),
    [
        ("Fri, 02 Jan 2026 03:04:05 GMT", "ok", "agrees"),
        ("Fri, 02 Jan 2026 03:04:09 GMT", "ok", "3 s ahead"),
        ("Fri, 02 Jan 2026 03:05:05 GMT", "warning", "59 s ahead"),
        ("Fri, 02 Jan 2026 02:04:04 GMT", "warning", "3600 s behind"),
        ("yesterday", "not_measurable", "no Date"),
        (None, "not_measurable", "no Date"),
    ],
)
def test_clock(date: str | None, status: str, words_: str) -> None:
    """Whole seconds and the time under way are no skew; a minute is."""
    headers = {**STREAM, **({"date": date} if date else {})}
    check = checks.clock_check(case([answer(text_question(), words(), headers=headers)]))
    assert check.status == status
    assert words_ in check.evidence


@pytest.mark.lateness
def test_our_own_lateness_is_not_the_vendors_burst() -> None:
    """What may have been spread until we came to read it is not measurable; what we cannot have joined still fails."""
    burst = answer(text_question(), words(8, every_ms=0))
    statuses = []
    for late_ms in (0, 1, 50):
        timing = replace(burst.timing, our_lateness_ns=late_ms * MS)
        statuses.append(checks.streams_check(case([replace(burst, timing=timing)])).status)
    assert statuses == ["failed", "failed", "not_measurable"]


LEAK = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        (None, "ok"),
        ([answer(tool_question(), calling({**CALL, "function": {"name": "other", "arguments": "{}"}}))], "warning"),
        (
            [answer(tool_question(), calling({**CALL, "function": {"name": "get_weather", "arguments": "{"}}))],
            "warning",
        ),
        (
            [answer(tool_question(), calling({**CALL, "function": {"name": "get_weather", "arguments": "{}"}}))],
            "warning",
        ),
        ([answer(tool_question(), words())], "warning"),
        ([answer(tool_question(), [(1, chunk("stop", content=LEAK) + DONE)])], "failed"),
        ([answer(tool_question(), [(1, chunk("length", reasoning_content="hm") + DONE)])], "not_measurable"),
        ([refused(tool_question(), 400), good()[1]], "failed"),
        ([refused(tool_question(), 400), refused(text_question(), 400)], "not_measurable"),
        ([refused(tool_question(), 500), good()[1]], "not_measurable"),
    ],
)
def test_tools(answers: Any, status: str) -> None:
    """A call by the protocol is ok; a refusal of tools shows only beside a text that was not refused."""
    assert checks.tools_check(case(answers)).status == status


WHOLE = b'{"choices": [{"index": 0, "message": {"content": "one two three"}, "finish_reason": "stop"}]}'


@pytest.mark.parametrize(
    ("made", "status", "words_"),
    [
        (answer(text_question(), words()), "ok", "8 token moments over 140 ms"),
        (answer(text_question(), words(8, every_ms=0)), "failed", "one moment"),
        (answer(text_question(), words(8, every_ms=0.3, first_ms=3000)), "failed", "one burst"),
        (answer(text_question(), words(2, every_ms=50, first_ms=100)), "not_measurable", "too short"),
        (answer(text_question(), [(1, WHOLE)], headers=JSON), "failed", "one JSON body"),
        (refused(text_question(), 500), "not_measurable", "no whole answer"),
        (
            answer(text_question(), [(MS, chunk(content="x" * 50)), (80 * MS, chunk("stop", content="y") + DONE)]),
            "warning", "2 token moments",
        ),
    ],
)  # fmt: skip
def test_streams(made: Any, status: str, words_: str) -> None:
    """Several moments over a real part of the time; a host that generates first and sends after is found out."""
    check = checks.streams_check(case([made]))
    assert check.status == status
    assert words_ in check.evidence


@pytest.mark.parametrize(
    ("usage", "status"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 2}, "ok"),
        ({"prompt_tokens": 0, "completion_tokens": 0}, "warning"),
        ({"prompt_tokens": 3}, "warning"),
        (None, "warning"),
    ],
)
def test_usage(usage: Any, status: str) -> None:
    """Absent and zero are told apart from reported, and both are a departure."""
    tail = sse({"choices": [], "usage": usage}) if usage is not None else b""
    made = answer(text_question(), [(1, chunk("stop", content="hello") + tail + DONE)])
    assert checks.usage_check(case([made])).status == status


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("maker/Model-1", "model-1", True),
        ("model-1:free", "maker/model-1", True),
        ("claude-x", "claude-x-20260101", True),
        ("kimi-k2", "kimi-k2-0905-preview", True),
        ("model-1", "model-1-mini", False),
        ("model-1", "model-12", False),
        ("glm-4", "glm-4.5", False),
        ("simulated-model", "simulated-mini-8b", False),
    ],
)
def test_served_model(asked: str, served: str, same: bool) -> None:
    """A date or a folder more is the same model; a size or a version more is another."""
    made = answer(text_question(), words(model=served))
    status = checks.served_model_check(case([made], model_id=asked)).status
    assert status == ("ok" if same else "failed")


def served_by(served: str | None, **fields: Any) -> Case:
    extra = sse({"provider": served, "choices": []}) if served else b""
    return case([answer(text_question(), [(0, extra), *words()])], **fields)


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (served_by(None), "not_measurable"),
        (served_by("Novita", vendor="openrouter"), "warning"),
        (served_by("Google", vendor="openrouter", provider="google-vertex"), "ok"),
        (served_by("DeepInfra", vendor="openrouter", provider="deepinfra/fp8"), "ok"),
        (served_by("Z.AI", vendor="openrouter", provider="z-ai"), "ok"),
        (served_by("Novita", vendor="openrouter", provider="minimax"), "failed"),
        (served_by(None, vendor="openrouter", provider="minimax"), "not_measurable"),
    ],
)
def test_served_provider(made: Case, status: str) -> None:
    """A pin is checked against the name shown; no pin on a router is a warning."""
    assert checks.provider_check(made).status == status


def test_a_pin_in_the_body_counts() -> None:
    """extra_body may pin, too."""
    endpoint = Endpoint("https://openrouter.ai/api/v1", "m", "k", body={"provider": {"only": ["minimax"]}})
    pinned = replace(entry(vendor="openrouter"), endpoint=endpoint)
    assert checks.provider_check(replace(case(), entry=pinned)).status == "not_measurable"


def test_verdicts_and_exit_codes() -> None:
    """Vital failures make a vendor unusable, other departures are reservations, what cannot be told is neither."""
    fine = Check("clock", "ok", "")
    crash = SdkFinding("text", "openai SDK", "stream()", "crashes")
    assert verdict([fine, Check("clock", "not_measurable", "")]) == "usable"
    assert verdict([fine, Check("clock", "warning", "")]) == "usable_with_reservations"
    assert verdict([Check("tools accepted", "failed", "")]) == "usable_with_reservations"
    assert verdict([Check("key accepted", "failed", "")]) == "not_usable"
    assert verdict([fine], [crash]) == "usable_with_reservations"
    usable = diagnose(case(), OpenAIChat())
    reserved = diagnose(case(reach=PLAIN), OpenAIChat())
    unusable = diagnose(case(UNREACHED), OpenAIChat())
    assert usable.verdict == "usable"
    assert exit_code_of([usable]) == 0
    assert exit_code_of([usable, reserved]) == 1
    assert exit_code_of([reserved, unusable]) == 3


def test_every_check_says_something_about_nothing() -> None:
    """A vendor that was never reached gets every line, and no check raises for want of an answer."""
    found = diagnose(case([], UNRESOLVED), OpenAIChat())
    assert len(found.checks) == len(CHECKS) == len({check.name for check in found.checks})
    assert all(check.evidence for check in found.checks)
