"""Judges what a vendor answers: tools, real streaming, usage, who it says answered; pure."""

from __future__ import annotations

import re

from vendor_verifier.doctor.questions import TOOL_NAME
from vendor_verifier.doctor.values import Answer, Case, Check
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.record import Response, Timing
from vendor_verifier.wire.assemble import BUFFERED_CHARACTERS
from vendor_verifier.wire.payload import PayloadError, parse_json

# A stream has at least so many token moments, and they take some part of the whole time: a host that generates first
# and sends afterwards delivers everything within a moment that is tiny beside the wait.
MIN_MOMENTS = 3
MIN_SPREAD_SHARE = 0.03
MIN_SPREAD_MS = 4.0
_NS_PER_MS = 1e6
_REFUSED = ("bad_request", "unprocessable", "not_found", "http_4xx")
_DATED = re.compile(r"[-@:_.]?(?:20\d{2}-?\d{2}-?\d{2}|\d{4}|latest|preview)(?:[-_.].*)?")
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")


def tools_check(case: Case) -> Check:
    """A tool may be offered, and the model calls it in the protocol's own way when asked to."""
    asked = case.about("tools")
    calling = [
        (answer, answer.response.tool_calls) for answer in asked if answer.response and answer.response.tool_calls
    ]
    for answer, calls in calling:
        flaw = _call_flaw(calls)
        where = "" if answer is asked[0] else f" ({answer.question.name})"
        words = f"called {calls[0].name} with {calls[0].arguments or 'no arguments'}{where}"
        return Check(
            "tools accepted", "ok" if flaw is None else "warning", words if flaw is None else f"{words}: {flaw}"
        )
    return _without_call(case, asked)


def _without_call(case: Case, asked: tuple[Answer, ...]) -> Check:
    refused = next((answer.failure for answer in asked if answer.failure and answer.failure.kind in _REFUSED), None)
    if refused is not None and any(answer.succeeded for answer in case.about("text")):
        return Check(
            "tools accepted", "failed", f"refused, text alone is not: {refused.status or ''} {refused.message}"
        )
    heard = [answer.response for answer in asked if answer.succeeded and answer.response is not None]
    if not heard:
        return Check("tools accepted", "not_measurable", "no answer to a question with a tool")
    if any("markup_in_text" in response.anomalies for response in heard):
        return Check("tools accepted", "failed", "the call was written into the text as markup")
    if all(response.finish_reason == "length" for response in heard):
        return Check("tools accepted", "not_measurable", "the budget was used up before a call")
    return Check("tools accepted", "warning", f"accepted, but not called in {len(heard)} answer(s) that should call")


def _call_flaw(calls: tuple[ToolCall, ...]) -> str | None:
    call = calls[0]
    if call.name != TOOL_NAME:
        return f"the tool offered is {TOOL_NAME}"
    try:
        arguments = parse_json(call.arguments)
    except PayloadError as error:
        return f"the arguments are not JSON ({error})"
    return None if isinstance(arguments, dict) and "city" in arguments else "the arguments name no city"


def streams_check(case: Case) -> Check:
    """Tokens arrive as they are made: at several moments spread over time, not in one body or one burst."""
    answer = next((answer for answer in reversed(case.about("text")) if answer.succeeded), None)
    answer = answer or next((answer for answer in case.about("tools") if answer.succeeded), None)
    if answer is None or answer.response is None or answer.timing is None:
        return Check("streams", "not_measurable", "no whole answer")
    if not answer.response.streamed:
        return Check("streams", "failed", "a stream was asked for, one JSON body came")
    return _spread(answer.timing, answer.response)


def _spread(timing: Timing, response: Response) -> Check:
    if timing.first_token_ns is None or timing.last_token_ns is None:
        return Check("streams", "not_measurable", "the answer holds no token")
    moments = 1 + sum(gap_ns > 0 for gap_ns in timing.gaps_ns)
    first_ms = timing.first_token_ns / _NS_PER_MS
    spread_ms = (timing.last_token_ns - timing.first_token_ns) / _NS_PER_MS
    words = f"{moments} token moments over {spread_ms:.0f} ms, the first after {first_ms:.0f} ms"
    size = len(response.text) + len(response.reasoning)
    if size < BUFFERED_CHARACTERS and moments < MIN_MOMENTS:
        return Check("streams", "not_measurable", f"an answer of {size} characters is too short to tell")
    if moments == 1:
        return Check("streams", "failed", f"{size} characters came at one moment, after {first_ms:.0f} ms")
    if spread_ms < max(MIN_SPREAD_MS, MIN_SPREAD_SHARE * (first_ms + spread_ms)):
        return Check("streams", "failed", f"one burst: {words}")
    if moments < MIN_MOMENTS:
        return Check("streams", "warning", words)
    longest_ms = max(timing.gaps_ns) / _NS_PER_MS
    return Check("streams", "ok", f"{words}, longest pause {longest_ms:.0f} ms")


def usage_check(case: Case) -> Check:
    """Every answer says how many tokens it took, and not zero."""
    whole = [answer for answer in case.answers if answer.succeeded and answer.response is not None]
    if not whole:
        return Check("usage reported", "not_measurable", "no whole answer")
    told: list[str] = []
    flaws: list[str] = []
    for answer in whole:
        usage = answer.response.usage if answer.response is not None else None
        given = usage.input if usage is not None else None
        got = usage.output if usage is not None else None
        told.append(f"{answer.question.name}: {_number(given)} in, {_number(got)} out")
        if given is None or got is None:
            flaws.append("not reported")
        elif given == 0 or got == 0:
            flaws.append("zero")
    words = "; ".join(told)
    return Check("usage reported", "warning" if flaws else "ok", f"{flaws[0]}: {words}" if flaws else words)


def served_model_check(case: Case) -> Check:
    """The model that says it answered is the one asked for; a date or a folder more in its name is the same model."""
    asked = case.entry.endpoint.model_id
    served = _said(case, "served_model")
    if not served:
        return Check("served model", "not_measurable", "the answers name no model")
    strangers = [name for name in served if not same_model(asked, name)]
    if strangers:
        return Check("served model", "failed", f"asked for {asked}, answered by {', '.join(strangers)}")
    return Check("served model", "ok", ", ".join(served))


def same_model(asked: str, served: str) -> bool:
    """Whether two spellings mean one model: case, a path before it, a date or ``-latest`` after it do not matter."""
    first, second = (name.lower().rsplit("/", 1)[-1].partition(":")[0] for name in (asked, served))
    shorter, longer = sorted((first, second), key=len)
    return longer.startswith(shorter) and (
        len(longer) == len(shorter) or _DATED.fullmatch(longer[len(shorter) :]) is not None
    )


def provider_check(case: Case) -> Check:
    """A router lets the pinned provider answer; without a pin the router is measured, not a vendor."""
    served = _said(case, "served_provider")
    pinned = _pinned(case)
    is_router = case.entry.vendor == "openrouter" or case.reach.host.endswith("openrouter.ai")
    if pinned is None:
        if not is_router:
            return Check("served provider", "not_measurable", "no router is known here and none is pinned")
        words = f"; this time {', '.join(served)}" if served else ""
        return Check(
            "served provider", "warning", f"no provider is pinned: the router picks, request by request{words}"
        )
    if not served:
        return Check("served provider", "not_measurable", f"{pinned} is pinned; the answers name no provider")
    strangers = [name for name in served if not _same_provider(pinned, name)]
    if strangers:
        return Check("served provider", "failed", f"{pinned} is pinned, answered by {', '.join(strangers)}")
    return Check("served provider", "ok", f"{', '.join(served)} as pinned")


def _pinned(case: Case) -> str | None:
    """The only provider that may answer, from ``provider:`` or from a router's own body."""
    if case.entry.provider is not None:
        return case.entry.provider
    routing = case.entry.endpoint.body.get("provider")
    only = routing.get("only") if isinstance(routing, dict) else None
    return only[0] if isinstance(only, list) and only and isinstance(only[0], str) else None


def _same_provider(pinned: str, served: str) -> bool:
    """A slug and a display name: ``google-vertex`` and ``Google``, ``deepinfra/fp8`` and ``DeepInfra``."""
    first, second = (_NOT_ALPHANUMERIC.sub("", name.lower()) for name in (pinned.split("/")[0], served))
    return bool(first and second) and (first.startswith(second) or second.startswith(first))


def _said(case: Case, field: str) -> list[str]:
    """What the answers say of themselves, each once."""
    said = [getattr(answer.response, field) for answer in case.answers if answer.response is not None]
    return list(dict.fromkeys(value for value in said if value))


def _number(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)
