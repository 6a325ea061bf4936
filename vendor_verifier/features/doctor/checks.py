"""The checks of one vendor: name, TLS, key, model, clock, a whole answer, tools, streaming, usage, identity.

Each check is ok, warning, failed or not measurable, with its evidence. A check is "not measurable" rather than
guessed: a vendor that refuses everything shows neither that its key is good nor that its model exists.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from vendor_verifier.features.doctor.values import TOOL_NAME, Answer, Case, Check
from vendor_verifier.metrics.answer import is_spoilt
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.failure_kinds import KINDS
from vendor_verifier.values.model_names import same_model
from vendor_verifier.values.record import Exchange, Failure, Response, Timing
from vendor_verifier.wire.assembler import BUFFERED_CHARACTERS
from vendor_verifier.wire.payload import PayloadError, parse_json
from vendor_verifier.words import Sentence, english

# A stream has at least so many token moments, and they take some part of the whole time: a host that generates first
# and sends afterwards delivers everything within a moment that is tiny beside the wait.
MIN_MOMENTS = 3
MIN_SPREAD_SHARE = 0.03
MIN_SPREAD_MS = 4.0
_NS_PER_MS = 1e6
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")


def tools_check(case: Case) -> Check:
    """A tool may be offered, and the model calls it in the protocol's own way when asked to."""
    asked = case.about("tools")
    calling = [
        (answer, answer.response.tool_calls) for answer in asked if answer.response and answer.response.tool_calls
    ]
    for answer, calls in calling:
        flaw = _call_flaw(calls)
        arguments = calls[0].arguments or english("doctor_no_arguments")
        words = english("doctor_called", name=calls[0].name, arguments=arguments)
        if answer is not asked[0]:
            words = english("doctor_called_when", words=words, question=answer.question.name)
        if flaw is None:
            return Check("tools accepted", "ok", words)
        return Check("tools accepted", "warning", english("doctor_flawed", words=words, flaw=flaw))
    return _without_call(case, asked)


def _without_call(case: Case, asked: tuple[Answer, ...]) -> Check:
    refused = next((each.failure for each in asked if each.failure and KINDS[each.failure.kind].declines), None)
    if refused is not None and any(answer.succeeded for answer in case.about("text")):
        words = english("doctor_tools_refused", status=refused.status or "", message=refused.message)
        return Check("tools accepted", "failed", words)
    heard = [answer.response for answer in asked if answer.succeeded and answer.response is not None]
    if not heard:
        return Check("tools accepted", "not_measurable", english("doctor_tools_unanswered"))
    if any("markup_in_text" in response.anomalies for response in heard):
        return Check("tools accepted", "failed", english("doctor_markup"))
    if all(response.finish_reason == "length" for response in heard):
        return Check("tools accepted", "not_measurable", english("doctor_budget"))
    return Check("tools accepted", "warning", english("doctor_not_called", count=len(heard)))


def _call_flaw(calls: tuple[ToolCall, ...]) -> Sentence | None:
    call = calls[0]
    if call.name != TOOL_NAME:
        return english("doctor_other_tool", name=TOOL_NAME)
    try:
        arguments = parse_json(call.arguments)
    except PayloadError as error:
        return english("doctor_not_json", error=str(error))
    return None if isinstance(arguments, dict) and "city" in arguments else english("doctor_no_city")


def streams_check(case: Case) -> Check:
    """Tokens arrive as they are made: at several moments spread over time, not in one body or one burst."""
    answer = next((answer for answer in reversed(case.about("text")) if answer.succeeded), None)
    answer = answer or next((answer for answer in case.about("tools") if answer.succeeded), None)
    if answer is None or answer.response is None or answer.timing is None:
        return Check("streams", "not_measurable", english("doctor_no_answer"))
    if not answer.response.streamed:
        return Check("streams", "failed", english("doctor_one_body"))
    return _spread(answer.timing, answer.response)


def _spread(timing: Timing, response: Response) -> Check:
    if timing.first_token_ns is None or timing.last_token_ns is None:
        return Check("streams", "not_measurable", english("doctor_no_token"))
    moments = 1 + sum(gap_ns > 0 for gap_ns in timing.gaps_ns)
    first_ms = timing.first_token_ns / _NS_PER_MS
    spread_ms = (timing.last_token_ns - timing.first_token_ns) / _NS_PER_MS
    first = f"{first_ms:.0f}"
    words = english("doctor_moments", count=moments, spread=f"{spread_ms:.0f}", first=first)
    size = len(response.text) + len(response.reasoning)
    if size < BUFFERED_CHARACTERS and moments < MIN_MOMENTS:
        return Check("streams", "not_measurable", english("doctor_too_short", size=size))
    needed_ms = max(MIN_SPREAD_MS, MIN_SPREAD_SHARE * (first_ms + spread_ms))
    late_ns = timing.our_lateness_ns or 0
    late_ms = late_ns / _NS_PER_MS
    if is_spoilt(late_ns, 0) and spread_ms < needed_ms <= spread_ms + late_ms:
        # What we read late comes to us in one piece, however it was sent.
        return Check("streams", "not_measurable", english("doctor_late", ms=f"{late_ms:.0f}", words=words))
    if moments == 1:
        return Check("streams", "failed", english("doctor_at_once", size=size, first=first))
    if spread_ms < needed_ms:
        return Check("streams", "failed", english("doctor_burst", words=words))
    if moments < MIN_MOMENTS:
        return Check("streams", "warning", words)
    longest_ms = max(timing.gaps_ns) / _NS_PER_MS
    return Check("streams", "ok", english("doctor_with_pause", words=words, ms=f"{longest_ms:.0f}"))


def usage_check(case: Case) -> Check:
    """Every answer says how many tokens it took, and not zero."""
    whole = [answer for answer in case.answers if answer.succeeded and answer.response is not None]
    if not whole:
        return Check("usage reported", "not_measurable", english("doctor_no_answer"))
    texts: list[Sentence] = []
    flaws: list[Sentence] = []
    for answer in whole:
        usage = answer.response.usage if answer.response is not None else None
        given = usage.input if usage is not None else None
        got = usage.output if usage is not None else None
        texts.append(english("doctor_usage", question=answer.question.name, given=_number(given), got=_number(got)))
        if given is None or got is None:
            flaws.append(english("doctor_not_reported"))
        elif given == 0 or got == 0:
            flaws.append(english("doctor_zero"))
    words = english("doctor_together", words=tuple(texts))
    if not flaws:
        return Check("usage reported", "ok", words)
    return Check("usage reported", "warning", english("doctor_flaw", flaw=flaws[0], words=words))


def served_model_check(case: Case) -> Check:
    """The model that says it answered is the one asked for; a date or a folder more in its name is the same model."""
    asked = case.entry.endpoint.model_id
    served = _stated(case, "served_model")
    if not served:
        return Check("served model", "not_measurable", english("doctor_no_model_named"))
    strangers = [name for name in served if not same_model(asked, name)]
    if strangers:
        return Check("served model", "failed", english("doctor_other_model", asked=asked, served=", ".join(strangers)))
    return Check("served model", "ok", ", ".join(served))


def provider_check(case: Case) -> Check:
    """A router lets the pinned provider answer; without a pin the router is measured, not a vendor."""
    served = _stated(case, "served_provider")
    pinned = _pinned(case)
    is_router = case.entry.vendor == "openrouter" or case.reach.host.endswith("openrouter.ai")
    if pinned is None:
        if not is_router:
            return Check("served provider", "not_measurable", english("doctor_no_router"))
        words = english("doctor_unpinned")
        if served:
            words = english("doctor_unpinned_now", words=words, served=", ".join(served))
        return Check("served provider", "warning", words)
    if not served:
        return Check("served provider", "not_measurable", english("doctor_no_provider_named", pinned=pinned))
    strangers = [name for name in served if not _same_provider(pinned, name)]
    if strangers:
        return Check(
            "served provider", "failed", english("doctor_other_provider", pinned=pinned, served=", ".join(strangers))
        )
    return Check("served provider", "ok", english("doctor_as_pinned", served=", ".join(served)))


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


def _stated(case: Case, field: str) -> list[str]:
    """The distinct values of one field of the answers, in order."""
    values = [getattr(answer.response, field) for answer in case.answers if answer.response is not None]
    return list(dict.fromkeys(value for value in values if value))


def _number(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)


SOON_DAYS = 14
SKEW_S = 5.0
_NS_PER_US = 1000
_MODEL_WORDS = ("model", "endpoint", "deployment")
_MODEL_STATUS = (400, 404, 422)
_NO_CREDIT_STATUS = 402


def name_check(case: Case) -> Check:
    """The host's name has addresses."""
    reach = case.reach
    if reach.proxy is not None:
        return Check("name resolves", "not_measurable", english("doctor_proxy_resolves", proxy=reach.proxy))
    if reach.addresses:
        return Check("name resolves", "ok", f"{reach.host}: {', '.join(reach.addresses[:4])}")
    if _status(case) is not None:
        return Check("name resolves", "warning", english("doctor_once_unresolved", host=reach.host))
    return Check(
        "name resolves",
        "failed",
        english("doctor_unresolved", host=reach.host, error=reach.dns_error or english("doctor_no_address")),
    )


def tls_check(case: Case) -> Check:
    """The connection is encrypted, its certificate valid and not about to expire."""
    reach = case.reach
    if reach.scheme != "https":
        words = english("doctor_http_local" if reach.local else "doctor_http")
        return Check("tls", "not_measurable" if reach.local else "warning", words)
    refused = next((answer.failure for answer in case.answers if answer.failure and answer.failure.kind == "tls"), None)
    if refused is not None:
        return Check("tls", "failed", refused.message)
    if reach.tls_version is not None and reach.tls_days_left is not None:
        days = f"{reach.tls_days_left:.0f}"
        words = english("doctor_tls", version=reach.tls_version, days=days)
        return Check("tls", "ok" if reach.tls_days_left >= SOON_DAYS else "warning", words)
    if _status(case) is not None:
        shown = reach.tls_error or english("doctor_no_certificate")
        why = english("doctor_behind_proxy") if reach.proxy is not None else shown
        return Check("tls", "ok", english("doctor_tls_accepted", why=why))
    if reach.tls_error is not None:
        return Check("tls", "failed", reach.tls_error)
    return Check("tls", "not_measurable", english("doctor_no_connection"))


def key_check(case: Case) -> Check:
    """The vendor takes the key, and there is credit behind it."""
    if any(_shows_key_taken(answer) for answer in case.answers):
        has_key = case.entry.endpoint.key is not None or bool(case.entry.key_command)
        return Check("key accepted", "ok", english("doctor_key_sent" if has_key else "doctor_key_none"))
    for answer in case.answers:
        failure = answer.failure
        if failure is not None and failure.rules.charge == "account":
            no_credit = failure.kind == "no_credit" or failure.status == _NO_CREDIT_STATUS
            name = "doctor_no_credit" if no_credit else "doctor_key_refused"
            return Check("key accepted", "failed", english(name, failure=_with_status(failure)))
    return Check("key accepted", "not_measurable", _why_not(case))


def model_check(case: Case) -> Check:
    """The vendor knows the model by this name."""
    model = case.entry.endpoint.model_id
    if any(answer.accepted and answer.response is not None for answer in case.answers):
        return Check("model exists", "ok", model)
    for answer in case.answers:
        failure = answer.failure
        if failure is None or failure.kind == "auth":
            continue
        speaks_of_it = any(word in f"{failure.message} {failure.code or ''}".lower() for word in _MODEL_WORDS)
        if failure.kind == "not_found" or (failure.status in _MODEL_STATUS and speaks_of_it):
            return Check("model exists", "failed", english("doctor_flaw", flaw=model, words=_with_status(failure)))
    return Check("model exists", "not_measurable", _why_not(case))


def answer_check(case: Case) -> Check:
    """Questions are answered in full."""
    failed = [answer for answer in case.answers if answer.failure is not None]
    if not case.answers:
        return Check("answers", "failed", english("doctor_nothing_asked"))
    texts = english("doctor_together", words=tuple(map(_failed, failed)))
    if len(failed) == len(case.answers):
        return Check("answers", "failed", texts)
    if failed:
        return Check(
            "answers", "warning", english("doctor_some_failed", failed=len(failed), all=len(case.answers), words=texts)
        )
    return Check("answers", "ok", english("doctor_all_answered", all=len(case.answers)))


def clock_check(case: Case) -> Check:
    """The vendor's clock (its Date header) agrees with ours to five seconds."""
    dated = [(answer.exchange, date) for answer in case.answers if (date := _server_date(answer.exchange)) is not None]
    if not dated:
        return Check("clock", "not_measurable", english("doctor_no_date"))
    skew_s = min((_skew_s(exchange, date) for exchange, date in dated), key=abs)
    side = "doctor_clock_ahead" if skew_s > 0 else "doctor_clock_behind"
    words = english(side, seconds=f"{abs(skew_s):.0f}") if abs(skew_s) >= 1 else english("doctor_clock_agrees")
    return Check("clock", "ok" if abs(skew_s) <= SKEW_S else "warning", words)


def error_body(answers: Sequence[Answer]) -> str | None:
    """The body of the first refusal, as text; what is unreadable in it is replaced, nothing is cut or escaped here."""
    for answer in answers:
        if answer.exchange.status is not None and not answer.succeeded and answer.exchange.chunks:
            return answer.exchange.body.decode(errors="replace")
    return None


def _server_date(exchange: Exchange) -> datetime | None:
    stated = exchange.headers.get("date")
    if stated is None or exchange.headers_ns is None:
        return None
    try:
        date = parsedate_to_datetime(stated)
    except (TypeError, ValueError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _skew_s(exchange: Exchange, date: datetime) -> float:
    """Seconds the server is ahead of the time its answer was under way; the header has whole seconds only."""
    asked = datetime.fromisoformat(exchange.sent_at)
    under_way_ns = (exchange.connect_ns or 0) + (exchange.headers_ns or 0)
    answered = asked + timedelta(microseconds=under_way_ns / _NS_PER_US)
    if date > answered:
        return (date - answered).total_seconds()
    earliest = asked - timedelta(seconds=1)
    return min(0.0, (date - earliest).total_seconds())


def _shows_key_taken(answer: Answer) -> bool:
    """Whether the answer shows that the key was taken; a web server's page or an error in its place does not."""
    begun = answer.response is not None
    return answer.accepted and (begun or answer.failure is None or not KINDS[answer.failure.kind].no_answer)


def _status(case: Case) -> int | None:
    return next((answer.exchange.status for answer in case.answers if answer.exchange.status is not None), None)


def _why_not(case: Case) -> str:
    return _failure_words(case.answers[0]) if case.answers else english("doctor_nothing_asked")


def _failed(answer: Answer) -> Sentence:
    return english("doctor_flaw", flaw=answer.question.name, words=_failure_words(answer))


def _failure_words(answer: Answer) -> str:
    failure = answer.failure
    if failure is None:
        return english("wrong_no_answer")
    return f"{failure.kind}: {_with_status(failure)}"


def _with_status(failure: Failure) -> str:
    return failure.message if failure.status is None else f"{failure.status} {failure.message}"
