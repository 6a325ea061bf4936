"""Every kind of failure in one table: its phase, its treatment in a run, who answers for it, and its words.

A kind is added by adding one row. Retries, limits, bills, causes, the doctor, the reports and the table in
docs/reliability.md read the columns; code that has to treat a kind apart names that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

FailureKind = str  # a key of KINDS; a Failure of another kind cannot be made
Phase = Literal["plan", "dns", "connect", "tls", "send", "headers", "first_token", "stream", "parse"]
Retried = Literal["never", "once", "always"]
Charge = Literal["vendor", "question", "door", "network", "rate_limit", "account", "unasked", "us"]

CHARGES: Mapping[Charge, str] = {
    "vendor": "the vendor",
    "question": "the data where a tool's schema or a parameter is unusable, else the vendor",
    "door": "the vendor; the network where another vendor had trouble on the same sample",
    "network": "the network",
    "rate_limit": "the rate limit",
    "account": "us (key or credit): as a failed sample, and where a vendor refused everything so, as none",
    "unasked": "us, as a sample never asked",
    "us": "us: nothing was asked of the vendor",
}


class Kind(msgspec.Struct, frozen=True):
    """One kind of failure.

    ``phase`` is where it usually happens. ``retried``: whether an attempt is worth repeating, ``once`` where one more
    try settles it. ``pauses`` holds back the whole account, ``stops`` makes every further request of the entry
    pointless. ``charge``: who answers for it. ``statuses`` are the HTTP statuses that mean it. ``hopeless``: another
    question would get the same. ``declines``: the request as it stands is refused. ``maybe_billed``: the vendor may
    have worked. ``no_answer``: a 2xx with something else in the answer's place. ``after_end``: it cannot spoil an
    answer that had been given whole.
    """

    name: FailureKind
    phase: Phase
    cause: str
    remedy: str
    retried: Retried = "never"
    charge: Charge = "vendor"
    statuses: tuple[int, ...] = ()
    pauses: bool = False
    stops: bool = False
    hopeless: bool = False
    declines: bool = False
    maybe_billed: bool = False
    no_answer: bool = False
    after_end: bool = False

    @property
    def unreachable(self) -> bool:
        """Whether nobody was there to answer, as with a vendor that is down."""
        return self.charge in ("network", "door")


_ROWS = (
    Kind(
        "dns", "dns", "The host name could not be resolved.",
        "Check the address and this machine's name servers.",
        retried="always", charge="network", hopeless=True,
    ),
    Kind(
        "connect_refused", "connect", "Nobody listens at the address.",
        "Check host and port; ask the vendor whether it is down.",
        retried="always", charge="door", hopeless=True,
    ),
    Kind(
        "connection_reset", "headers",
        "The connection was closed before the answer; a kept one that ended at once counts only if the second sending, "
        "over a new one, ended so too.",
        "If it goes on, lower the concurrency; otherwise it is the vendor's to mend.",
        retried="always", charge="door", maybe_billed=True,
    ),
    Kind(
        "connect", "connect", "Connecting failed in another way.",
        "Read the message; check routes and firewalls of this machine.",
        retried="always", charge="network", hopeless=True,
    ),
    Kind(
        "tls", "tls", "There is no trusted encrypted connection.",
        "Check the address, or trust the host's authority by SSL_CERT_FILE.",
        charge="door", hopeless=True,
    ),
    Kind(
        "protocol", "headers", "The answer is not HTTP as it should be.",
        "Check that the address is that of an API; otherwise it is the vendor's to mend.",
        retried="always",
    ),
    Kind(
        "redirect", "headers",
        "The vendor redirected; redirects are never followed, as the key would travel along.",
        "Write the address that it names into the config, if you trust it.",
        hopeless=True,
    ),
    Kind(
        "timeout_connect", "connect", "There was no connection within `run.connect_timeout`.",
        "Check the way there; raise the limit for a host that is far away.",
        retried="always", charge="network", hopeless=True,
    ),
    Kind(
        "timeout_first_token", "first_token", "No token came within `run.first_token_timeout`.",
        "Raise the limit for a model that thinks long in silence, or lower the load.",
        retried="always", maybe_billed=True,
    ),
    Kind(
        "timeout_idle", "stream",
        "No data came within `run.idle_timeout` in the middle of the answer; pings are not data.",
        "Raise the limit if such pauses are the vendor's habit.",
        retried="always", maybe_billed=True, after_end=True,
    ),
    Kind(
        "timeout_total", "stream", "The attempt took longer than `--timeout`.",
        "Raise the limit, or ask for shorter answers.",
        maybe_billed=True, after_end=True,
    ),
    Kind(
        "auth", "headers", "401 or 403: the key is missing, wrong or not allowed.",
        "Check the key and what it is allowed to use; a refused key stops the vendor, a 403 does not.",
        charge="account", statuses=(401, 403), stops=True, hopeless=True,
    ),
    Kind(
        "moderation", "headers",
        "The prompt was refused by moderation, or the answer was blocked before a word of it was said (Gemini's "
        "`blockReason`, `SAFETY`, …).",
        "Look at the sample; leave it out where it is no fair question.",
        maybe_billed=True,
    ),
    Kind(
        "no_credit", "headers", "402 or its like: the account cannot pay.",
        "Top up the account and go on with `--incremental`.",
        charge="account", statuses=(402,), stops=True, hopeless=True,
    ),
    Kind(
        "bad_request", "headers", "400: the vendor takes no request like this.",
        "Read the message; drop the parameter it names, or mend the sample's schema.",
        charge="question", statuses=(400,), declines=True,
    ),
    Kind(
        "not_found", "headers", "404: usually the model name.",
        "Check `model_id` and the address.",
        statuses=(404,), declines=True,
    ),
    Kind(
        "too_large", "headers", "413, or 400 and 422 that say the question is longer than the context.",
        "Ask a model with a longer context, or leave the sample out.",
        statuses=(413,),
    ),
    Kind(
        "unprocessable", "headers", "422: the request was understood and refused.",
        "Read the message; drop the parameter it names, or mend the sample's schema.",
        charge="question", statuses=(422,), declines=True,
    ),
    Kind(
        "http_4xx", "headers", "Another 4xx.",
        "Read the message; the vendor says what it wants.",
        declines=True,
    ),
    Kind(
        "conflict", "headers", "409: the vendor was busy with something that contradicts the request.",
        "It passes by itself, or is the vendor's to mend.",
        retried="always", statuses=(409,),
    ),
    Kind(
        "request_timeout", "headers", "408: the vendor gave up waiting for the request.",
        "It passes by itself, or is the vendor's to mend.",
        retried="always", statuses=(408,),
    ),
    Kind(
        "rate_limited", "headers", "429, still there after the retries.",
        "Lower `--concurrency`, or set `rpm:` and `tpm:` to what the plan allows.",
        retried="always", charge="rate_limit", statuses=(429,), pauses=True,
    ),
    Kind(
        "overloaded", "headers", "503 or 529: the vendor has no room for the request.",
        "Run at another hour; if it goes on, it is what the vendor sells.",
        retried="always", statuses=(503, 529), pauses=True,
    ),
    Kind(
        "http_5xx", "headers", "Another 5xx.",
        "It is the vendor's to mend; `request_id` tells its support which request it was.",
        retried="always", statuses=(500,),
    ),
    Kind(
        "not_an_api_response", "parse", "A 200 that is no API answer (an HTML page, another JSON).",
        "Check the address: it is often the website instead of the API.",
        no_answer=True,
    ),
    Kind(
        "api_error_in_200", "stream",
        "An error object, or the finish reason `error`, inside a 200; it is treated by the code it names.",
        "Read the message: it is what the status should have said.",
        maybe_billed=True, no_answer=True,
    ),
    Kind(
        "empty_response", "stream", "A 200 that says nothing at all.",
        "Ask with more tokens for the answer; otherwise it is the vendor's to mend.",
        retried="once", maybe_billed=True,
    ),
    Kind(
        "truncated", "stream", "The answer broke off, or ended with neither a finish reason nor the end marker.",
        "It is the vendor's to mend, or that of a gateway before it.",
        retried="always", maybe_billed=True, after_end=True,
    ),
    Kind(
        "bad_payload", "parse",
        "No event of the stream could be read, one before its end broke off and took a piece of the answer with it, or "
        "the body is packed in a way nobody asked for (br, zstd).",
        "It is the vendor's to mend; `explain` shows what came.",
        retried="once", maybe_billed=True,
    ),
    Kind(
        "limit_exceeded", "stream",
        "The answer is larger than any honest one: 32 MB in all, 1 MiB as one body, 512 KiB in one event, a million "
        "characters, 250,000 events, or 100,000 without a token.",
        "Set `max_tokens`; otherwise it is the vendor's to mend.",
        maybe_billed=True,
    ),
    Kind(
        "untranslatable", "plan", "The sample cannot be said in this vendor's protocol; it was not sent.",
        "Ask over another protocol of this vendor, if it has one.",
        charge="us",
    ),
    Kind(
        "skipped", "plan", "It was not sent, because the vendor was stopped earlier in the run.",
        "Mend what stopped the vendor and go on with `--incremental`.",
        charge="unasked", stops=True,
    ),
    Kind(
        "harness", "send", "This product could not send the request or read the answer.",
        "Read the message: a vendor plugin or an address is at fault; else report it to us.",
        charge="us", hopeless=True,
    ),
    Kind(
        "tool_server", "send",
        "The MCP server whose tools the model was to call did not start, hung or died.",
        "Mend the server and go on with `--incremental`.",
        charge="us",
    ),
    Kind(
        "proxy", "connect",
        "The proxy that the environment prescribes did not let us through (a refusing CONNECT, a wrong password, "
        "nobody there); the vendor never heard the question.",
        "Mend or unset the variable that the message names.",
        charge="us", stops=True, hopeless=True,
    ),
)  # fmt: skip

KINDS: Mapping[FailureKind, Kind] = {kind.name: kind for kind in _ROWS}
_OF_STATUS: Mapping[int, FailureKind] = {status: kind.name for kind in _ROWS for status in kind.statuses}


def kinds_where(chosen: Callable[[Kind], bool]) -> frozenset[FailureKind]:
    """The names of the kinds that ``chosen`` is true of."""
    return frozenset(kind.name for kind in _ROWS if chosen(kind))


# Failures that are ours: nothing was asked of the vendor, so nothing is held against it.
NOT_CHARGED = kinds_where(lambda kind: kind.charge == "us")
# Our key or our credit was refused.
DENIED = kinds_where(lambda kind: kind.charge == "account")
# Nothing was sent, or asking again would give the same result.
NOT_SENT = kinds_where(lambda kind: kind.charge in ("us", "unasked"))
# Refusals that a sample with an unusable tool schema or parameter brings upon itself.
QUESTION_REFUSED = kinds_where(lambda kind: kind.charge == "question")
# Answers to a question that may be refused: asking again would give the same.
SETTLED = QUESTION_REFUSED | {"not_found", "untranslatable"}


def kind_of_status(status: int) -> FailureKind:
    """The kind that a status other than 2xx stands for."""
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if 300 <= status < 400:
        return "redirect"
    return "http_5xx" if status >= 500 else "http_4xx"
