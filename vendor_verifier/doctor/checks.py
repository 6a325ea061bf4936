"""Judges whether a vendor can be reached and used at all: name, TLS, key, model, a whole answer, clock; pure.

Each check is ok, warning, failed or not measurable, with what it rests on. A check says "not measurable" rather than
guess: a vendor that refuses everything shows neither that its key is good nor that its model exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from vendor_verifier.doctor.values import Answer, Case, Check
from vendor_verifier.values.exchange import Exchange
from vendor_verifier.values.record import Failure

SOON_DAYS = 14
SKEW_S = 5.0
_NS_PER_US = 1000
_MODEL_WORDS = ("model", "endpoint", "deployment")
_MODEL_STATUS = (400, 404, 422)
_NO_CREDIT_STATUS = 402
# Status 200 without an answer: a page of a web server, or an error in its place. Neither shows that the key was read.
_NO_ANSWER = ("not_an_api_response", "api_error_in_200")


def name_check(case: Case) -> Check:
    """The host's name has addresses."""
    reach = case.reach
    if reach.proxy is not None:
        return Check("name resolves", "not_measurable", f"the proxy {reach.proxy} resolves it")
    if reach.addresses:
        return Check("name resolves", "ok", f"{reach.host}: {', '.join(reach.addresses[:4])}")
    if _status(case) is not None:
        return Check("name resolves", "warning", f"{reach.host} answered, but once could not be resolved")
    return Check("name resolves", "failed", f"{reach.host}: {reach.dns_error or 'no address'}")


def tls_check(case: Case) -> Check:
    """The connection is encrypted, its certificate valid and not about to expire."""
    reach = case.reach
    if reach.scheme != "https":
        words = "plain http on this machine" if reach.local else "plain http: key and prompts travel unencrypted"
        return Check("tls", "not_measurable" if reach.local else "warning", words)
    refused = next((answer.failure for answer in case.answers if answer.failure and answer.failure.kind == "tls"), None)
    if refused is not None:
        return Check("tls", "failed", refused.message)
    if reach.tls_version is not None and reach.tls_days_left is not None:
        words = f"{reach.tls_version}, the certificate expires in {reach.tls_days_left:.0f} days"
        return Check("tls", "ok" if reach.tls_days_left >= SOON_DAYS else "warning", words)
    if _status(case) is not None:
        why = "behind a proxy" if reach.proxy is not None else reach.tls_error or "no certificate shown"
        return Check("tls", "ok", f"accepted by the HTTP client; version and expiry not read ({why})")
    if reach.tls_error is not None:
        return Check("tls", "failed", reach.tls_error)
    return Check("tls", "not_measurable", "no connection")


def key_check(case: Case) -> Check:
    """The vendor takes the key, and there is credit behind it."""
    if any(_shows_key_taken(answer) for answer in case.answers):
        has_key = case.entry.endpoint.key is not None or bool(case.entry.key_command)
        return Check("key accepted", "ok", "as sent" if has_key else "none is sent, none is asked for")
    for answer in case.answers:
        failure = answer.failure
        if failure is not None and (failure.kind in ("auth", "no_credit") or _refuses_key_in_200(failure)):
            no_credit = failure.kind == "no_credit" or failure.status == _NO_CREDIT_STATUS
            words = "the key is good, the account has no credit" if no_credit else "refused"
            return Check("key accepted", "failed", f"{words}: {_with_status(failure)}")
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
            return Check("model exists", "failed", f"{model}: {_with_status(failure)}")
    return Check("model exists", "not_measurable", _why_not(case))


def answer_check(case: Case) -> Check:
    """Questions are answered in full."""
    failed = [answer for answer in case.answers if answer.failure is not None]
    if not case.answers:
        return Check("answers", "failed", "nothing could be asked")
    told = "; ".join(f"{answer.question.name}: {_failure_words(answer)}" for answer in failed)
    if len(failed) == len(case.answers):
        return Check("answers", "failed", told)
    if failed:
        return Check("answers", "warning", f"{len(failed)} of {len(case.answers)} requests failed: {told}")
    return Check("answers", "ok", f"{len(case.answers)} of {len(case.answers)} requests, each to its end")


def clock_check(case: Case) -> Check:
    """The vendor's clock (its Date header) agrees with ours to five seconds."""
    dated = [(answer.exchange, date) for answer in case.answers if (date := _server_date(answer.exchange)) is not None]
    if not dated:
        return Check("clock", "not_measurable", "no Date header")
    skew_s = min((_skew_s(exchange, date) for exchange, date in dated), key=abs)
    side = "ahead of" if skew_s > 0 else "behind"
    words = f"{abs(skew_s):.0f} s {side} ours" if abs(skew_s) >= 1 else "agrees with ours"
    return Check("clock", "ok" if abs(skew_s) <= SKEW_S else "warning", f"the vendor's clock {words}")


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
    begun = answer.response is not None
    return answer.accepted and (begun or answer.failure is None or answer.failure.kind not in _NO_ANSWER)


def _refuses_key_in_200(failure: Failure) -> bool:
    return failure.kind == "api_error_in_200" and failure.status in (401, _NO_CREDIT_STATUS, 403)


def _status(case: Case) -> int | None:
    return next((answer.exchange.status for answer in case.answers if answer.exchange.status is not None), None)


def _why_not(case: Case) -> str:
    return _failure_words(case.answers[0]) if case.answers else "nothing could be asked"


def _failure_words(answer: Answer) -> str:
    failure = answer.failure
    if failure is None:
        return "no answer"
    return f"{failure.kind}: {_with_status(failure)}"


def _with_status(failure: Failure) -> str:
    return failure.message if failure.status is None else f"{failure.status} {failure.message}"
