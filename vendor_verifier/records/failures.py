"""Every kind of failure in one table: its phase, its treatment in a run, who answers for it, and its words."""

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
    "question": "the data set if a tool's schema or a parameter is unusable, else the vendor",
    "door": "the vendor, or the network if another vendor had trouble on the same sample",
    "network": "the network",
    "rate_limit": "the rate limit",
    "account": "us (key or credit)",
    "unasked": "us: not sent",
    "us": "us: the vendor was not asked",
}


class Kind(msgspec.Struct, frozen=True):
    """One kind of failure.

    ``phase`` is where it usually happens, ``charge`` who answers for it, ``statuses`` the HTTP statuses that mean it.
    ``pauses`` holds back the account, ``stops`` ends the entry. ``hopeless``: another question would get the same.
    ``declines``: this request is refused. ``maybe_billed``: the vendor may have worked. ``no_answer``: a 2xx with
    something else. ``after_end``: it cannot spoil an answer that was whole.
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
        "connect_refused", "connect", "Nothing listens at this address.",
        "Check host and port; the vendor may be down.",
        retried="always", charge="door", hopeless=True,
    ),
    Kind(
        "connection_reset", "headers",
        "The connection was closed before the answer. On a reused connection this counts only if it happened again on "
        "a new one.",
        "Lower the concurrency; if that does not help, report it to the vendor.",
        retried="always", charge="door", maybe_billed=True,
    ),
    Kind(
        "connect", "connect", "Connecting failed in another way.",
        "Read the message; check the routes and firewalls of this machine.",
        retried="always", charge="network", hopeless=True,
    ),
    Kind(
        "tls", "tls", "No trusted TLS connection could be made.",
        "Check the address, or name the host's certificate authority in SSL_CERT_FILE.",
        charge="door", hopeless=True,
    ),
    Kind(
        "protocol", "headers", "The answer is not valid HTTP.",
        "Check that the address is an API; if it is, report it to the vendor.",
        retried="always",
    ),
    Kind(
        "redirect", "headers",
        "The vendor redirected the request. Redirects are not followed, because the key would go with them.",
        "Put the new address into the config, if you trust it.",
        hopeless=True,
    ),
    Kind(
        "timeout_connect", "connect", "No connection was made within `run.connect_timeout`.",
        "Check the network; raise the limit for a distant host.",
        retried="always", charge="network", hopeless=True,
    ),
    Kind(
        "timeout_first_token", "first_token", "No token came within `run.first_token_timeout`.",
        "Raise the limit for a model that thinks for long, or lower the load.",
        retried="always", maybe_billed=True,
    ),
    Kind(
        "timeout_idle", "stream",
        "The answer paused for longer than `run.idle_timeout`; pings do not count as data.",
        "Raise the limit if this vendor often pauses.",
        retried="always", maybe_billed=True, after_end=True,
    ),
    Kind(
        "timeout_total", "stream", "The attempt took longer than `--timeout`.",
        "Raise the limit, or ask for shorter answers.",
        maybe_billed=True, after_end=True,
    ),
    Kind(
        "auth", "headers", "401 or 403: the key is missing, wrong or not allowed.",
        "Check the key and its permissions. A 401 stops the vendor, a 403 does not.",
        charge="account", statuses=(401, 403), stops=True, hopeless=True,
    ),
    Kind(
        "moderation", "headers",
        "Moderation refused the prompt or blocked the answer (Gemini's `blockReason`, `SAFETY`, …).",
        "Look at the sample; leave it out if it is not a fair question.",
        maybe_billed=True,
    ),
    Kind(
        "no_credit", "headers", "402 or similar: the account has no credit.",
        "Top up the account, then continue with `--incremental`.",
        charge="account", statuses=(402,), stops=True, hopeless=True,
    ),
    Kind(
        "bad_request", "headers", "400: the vendor rejected the request.",
        "Read the message; remove the parameter it names, or fix the sample's schema.",
        charge="question", statuses=(400,), declines=True,
    ),
    Kind(
        "not_found", "headers", "404: usually the model name.",
        "Check `model_id` and the address.",
        statuses=(404,), declines=True,
    ),
    Kind(
        "too_large", "headers", "413, or 400 and 422 with a message that the prompt exceeds the context length.",
        "Use a model with a longer context, or leave the sample out.",
        statuses=(413,),
    ),
    Kind(
        "unprocessable", "headers", "422: the vendor understood the request and rejected it.",
        "Read the message; remove the parameter it names, or fix the sample's schema.",
        charge="question", statuses=(422,), declines=True,
    ),
    Kind(
        "http_4xx", "headers", "Another 4xx.",
        "Read the message; it says what the vendor expects.",
        declines=True,
    ),
    Kind(
        "conflict", "headers", "409: the request conflicts with something that the vendor is doing.",
        "Try again later; if it persists, report it to the vendor.",
        retried="always", statuses=(409,),
    ),
    Kind(
        "request_timeout", "headers", "408: the vendor gave up waiting for the request.",
        "Try again later; if it persists, report it to the vendor.",
        retried="always", statuses=(408,),
    ),
    Kind(
        "rate_limited", "headers", "429, also after the retries.",
        "Lower `--request-concurrency`, or set `rpm:` and `tpm:` to what your plan allows.",
        retried="always", charge="rate_limit", statuses=(429,), pauses=True,
    ),
    Kind(
        "overloaded", "headers", "503 or 529: the vendor is overloaded.",
        "Run again at another time; if it persists, this is the vendor's service.",
        retried="always", statuses=(503, 529), pauses=True,
    ),
    Kind(
        "http_5xx", "headers", "Another 5xx.",
        "Report it to the vendor, with the `request_id`.",
        retried="always", statuses=(500,),
    ),
    Kind(
        "not_an_api_response", "parse", "Status 200, but not an API answer (an HTML page, other JSON).",
        "Check the address: it is often the vendor's website instead of the API.",
        no_answer=True,
    ),
    Kind(
        "api_error_in_200", "stream",
        "An error object, or the finish reason `error`, with status 200. It is treated like the status that it names.",
        "Read the message.",
        maybe_billed=True, no_answer=True,
    ),
    Kind(
        "empty_response", "stream", "Status 200 without any content.",
        "Raise `max_tokens`; if that does not help, report it to the vendor.",
        retried="once", maybe_billed=True,
    ),
    Kind(
        "truncated", "stream", "The answer broke off, or ended with neither a finish reason nor the end marker.",
        "Report it to the vendor; a gateway in between may be the cause, too.",
        retried="always", maybe_billed=True, after_end=True,
    ),
    Kind(
        "bad_payload", "parse",
        "The stream has no readable event, an unreadable event took a part of the answer with it, or the body is "
        "compressed in a way that was not asked for (br, zstd).",
        "Report it to the vendor; `explain` shows what came.",
        retried="once", maybe_billed=True,
    ),
    Kind(
        "limit_exceeded", "stream",
        "The answer is larger than any honest one: 32 MB in all, 1 MiB as one body, 512 KiB in one event, a million "
        "characters, 250,000 events, 100,000 events without a token, or 1,000 header fields.",
        "Set `max_tokens`; if that does not help, report it to the vendor.",
        maybe_billed=True,
    ),
    Kind(
        "untranslatable", "plan", "This vendor's protocol cannot express the sample, so it was not sent.",
        "Use another protocol of this vendor, if it has one.",
        charge="us",
    ),
    Kind(
        "skipped", "plan", "The request was not sent, because the vendor had been stopped earlier in the run.",
        "Fix what stopped the vendor, then continue with `--incremental`.",
        charge="unasked", stops=True,
    ),
    Kind(
        "harness", "send", "This program could not send the request or read the answer.",
        "Read the message: the cause is a vendor plugin, an address, or a bug of this program.",
        charge="us", hopeless=True,
    ),
    Kind(
        "tool_server", "send",
        "The MCP server did not start, hung or died.",
        "Fix the server, then continue with `--incremental`.",
        charge="us",
    ),
    Kind(
        "proxy", "connect",
        "The proxy set in the environment did not connect (refused, wrong password, not there). The vendor never got "
        "the request.",
        "Fix or unset the variable that the message names.",
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
# Nothing was sent, or asking again would give the same result.
NOT_SENT = kinds_where(lambda kind: kind.charge in ("us", "unasked"))
# Refusals that a sample with an unusable tool schema or parameter brings upon itself.
QUESTION_REFUSED = kinds_where(lambda kind: kind.charge == "question")
# Answers to a question that may be refused: asking again would give the same.
SETTLED = QUESTION_REFUSED | {"not_found", "untranslatable"}


def kind_of_status(status: int) -> FailureKind:
    """The kind of failure that a status other than 2xx means."""
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if 300 <= status < 400:
        return "redirect"
    return "http_5xx" if status >= 500 else "http_4xx"
