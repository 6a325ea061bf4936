"""Seven checks of one vendor from its records; each is ok, warning, failed or unknown, with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.plan import Entry, same_model
from vendor_verifier.records.record import Attempt, Failure, Response
from vendor_verifier.scoring.answer import Answer, buffered
from vendor_verifier.wire.payload import PayloadError, parse_json

Status = Literal["ok", "warning", "failed", "unknown"]
Verdict = Literal["usable", "usable_with_reservations", "not_usable"]
Topic = Literal["tools", "text"]
# The attempt that ended each question; one that was never sent is left out.
Answers = Mapping[Topic, Attempt]

TOOL_NAME = "get_weather"
_LEAST_MOMENTS = 3  # of a stream
_VITAL = ("key", "model", "answers")


class Check(msgspec.Struct, frozen=True):
    """One finding with its reason."""

    name: str
    status: Status
    reason: str


class Diagnosis(msgspec.Struct, frozen=True):
    """The checks of one vendor. ``first_token_ms`` is of the text question, None where it was not measured."""

    model: str
    label: str
    address: str
    key_name: str | None
    verdict: Verdict
    first_token_ms: float | None
    checks: tuple[Check, ...]


def diagnose(entry: Entry, answers: Answers) -> Diagnosis:
    """The diagnosis of one vendor from the answers to both questions."""
    found = {
        "key": _key(entry, answers),
        "model": _model(entry, answers),
        "answers": _answers(answers),
        "tools": _tools(answers),
        "streaming": _streaming(answers),
        "usage": _usage(answers),
        "served model": _served_model(entry, answers),
    }
    checks = tuple(Check(name, *each) for name, each in found.items())
    departs = [check for check in checks if check.status in ("failed", "warning")]
    is_lost = any(check.status == "failed" and check.name in _VITAL for check in departs)
    verdict: Verdict = "not_usable" if is_lost else "usable_with_reservations" if departs else "usable"
    return Diagnosis(
        model=entry.model,
        label=entry.label,
        address=entry.endpoint.base_url,
        key_name=entry.key_name,
        verdict=verdict,
        first_token_ms=Answer(answers["text"]).first_ms if "text" in answers else None,
        checks=checks,
    )


def _key(entry: Entry, answers: Answers) -> tuple[Status, str]:
    if _responses(answers):
        return "ok", "accepted" if entry.endpoint.key is not None else "no key is sent or required"
    for failure in _failures(answers):
        if failure.rules.charge == "account":
            credit = failure.rules.name == "no_credit"
            return "failed", f"{'the account has no credit' if credit else 'refused'}: {_words(failure)}"
    return "unknown", _first_failure(answers)


def _model(entry: Entry, answers: Answers) -> tuple[Status, str]:
    model = entry.endpoint.model_id
    if _responses(answers):
        return "ok", model
    for failure in _failures(answers):
        names_model = re.search("model|endpoint|deployment", f"{failure.message} {failure.code or ''}", re.IGNORECASE)
        if failure.kind == "not_found" or (failure.status in (400, 422) and names_model):
            url = entry.endpoint.base_url
            hint = "" if re.search(r"/v\d", url) else f"; if its address ends in /v1, set url to {url}/v1"
            return "failed", f"{model}: {_words(failure)}{hint if failure.kind == 'not_found' else ''}"
    return "unknown", _first_failure(answers)


def _answers(answers: Answers) -> tuple[Status, str]:
    failed = [f"{topic}: {_words(attempt.failure)}" for topic, attempt in answers.items() if attempt.failure]
    if len(failed) == 2 and len({_words(failure) for failure in _failures(answers)}) == 1:
        failed = [f"both questions: {_words(_failures(answers)[0])}"]
    if not failed and len(answers) == 2:
        return "ok", "2 of 2 questions answered"
    is_partial = any(attempt.succeeded for attempt in answers.values())
    return "warning" if is_partial else "failed", "; ".join(failed) or "nothing was answered"


def _tools(answers: Answers) -> tuple[Status, str]:
    asked = answers.get("tools")
    response = None if asked is None else asked.response
    if response is not None and response.tool_calls:
        call = response.tool_calls[0]
        words = f"called {call.name} with {call.arguments or 'no arguments'}"
        try:
            arguments = parse_json(call.arguments)
        except PayloadError as error:
            return "warning", f"{words}: the arguments are not JSON ({error})"
        is_right = call.name == TOOL_NAME and isinstance(arguments, dict) and isinstance(arguments.get("city"), str)
        return ("ok", words) if is_right else ("warning", f"{words}; expected {TOOL_NAME} with a city")
    failure = None if asked is None else asked.failure
    if failure is not None and failure.rules.declines and "text" in answers and answers["text"].succeeded:
        return "failed", f"refused, while text alone is answered: {_words(failure)}"
    if failure is not None or response is None:
        return "unknown", "the question with a tool was not answered"
    if "markup_in_text" in response.anomalies:
        return "failed", "the call is written into the text"
    if response.finish_reason == "length":
        return "unknown", "the answer ended at its length limit before a call"
    return "warning", "the tool was accepted but not called"


def _streaming(answers: Answers) -> tuple[Status, str]:
    attempt = next(
        (answers[topic] for topic in ("text", "tools") if topic in answers and answers[topic].succeeded), None
    )
    if attempt is None or attempt.response is None or attempt.timing is None:
        return "unknown", "no complete answer"
    if not attempt.response.streamed:
        return "failed", "a stream was requested, one JSON body came"
    answer = Answer(attempt)
    if answer.window_ns is None:
        return "unknown", "the answer holds no token"
    moments, window_ms = 1 + sum(gap_ns > 0 for gap_ns in attempt.timing.gaps_ns), answer.window_ns / 1e6
    words = f"{moments} token arrivals over {window_ms:.0f} ms, the first after {answer.first_ms:.0f} ms"
    if buffered(answer):
        return "failed", f"{words}: sent in one burst"
    return ("ok", words) if moments >= _LEAST_MOMENTS else ("unknown", f"{words}: too few to tell")


def _usage(answers: Answers) -> tuple[Status, str]:
    responses = {topic: each.response for topic, each in answers.items() if each.succeeded}
    counts = {topic: tuple(getattr(response and response.usage, name, None) for name in ("input", "output"))
              for topic, response in responses.items()}  # fmt: skip
    words = "; ".join(f"{topic}: {given} in, {got} out" for topic, (given, got) in counts.items()).replace("None", "?")
    if not words:
        return "unknown", "no complete answer"
    return ("ok", words) if all(map(all, counts.values())) else ("warning", f"not reported, or zero ({words})")


def _served_model(entry: Entry, answers: Answers) -> tuple[Status, str]:
    asked = entry.endpoint.model_id
    served = [*dict.fromkeys(each.served_model for each in _responses(answers) if each.served_model)]
    if not served:
        return "unknown", "the answers name no model"
    if strangers := [name for name in served if not same_model(asked, name)]:
        return "failed", f"requested {asked}, answered by {', '.join(strangers)}"
    return "ok", ", ".join(served)


def _responses(answers: Answers) -> list[Response]:
    """What vendors answered, without errors and web pages in place of an answer."""
    return [
        attempt.response
        for attempt in answers.values()
        if attempt.response is not None and not (attempt.failure and KINDS[attempt.failure.kind].no_answer)
    ]


def _failures(answers: Answers) -> list[Failure]:
    return [attempt.failure for attempt in answers.values() if attempt.failure is not None]


def _first_failure(answers: Answers) -> str:
    return next(map(_words, _failures(answers)), "nothing was sent")


def _words(failure: Failure) -> str:
    return f"{failure.kind}: {failure.message}" if failure.status is None else f"{failure.status} {failure.message}"
