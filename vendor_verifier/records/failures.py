"""Every kind of failure in one table: its phase, its treatment in a run, who answers for it, and its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

FailureKind = str  # a key of KINDS; a Failure of another kind cannot be made
Phase = Literal["plan", "dns", "connect", "tls", "send", "headers", "first_token", "stream", "parse"]
Retried = Literal["never", "once", "always"]
Charge = Literal["vendor", "question", "door", "network", "rate_limit", "account", "unasked", "us"]

CHARGES: Mapping[str, str] = {
    "vendor": "the vendor",
    "question": "the data set if a tool's schema or a parameter is unusable, else the vendor",
    "data": "the data set",
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
    ``pauses`` holds back the account, ``stops`` ends the entry. ``declines``: this request is refused.
    ``maybe_billed``: the vendor may have worked. ``no_answer``: a 2xx with something else. ``after_end``: it cannot
    spoil an answer that was whole.
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
    declines: bool = False
    maybe_billed: bool = False
    no_answer: bool = False
    after_end: bool = False


_ROWS = (
    Kind("dns", "dns", retried="always", charge="network",
        cause="The host name could not be resolved.",
        remedy="Check the address and this machine's name servers."),
    Kind("connect_refused", "connect", retried="always", charge="door",
        cause="Nothing listens at this address.",
        remedy="Check host and port; the vendor may be down."),
    Kind("connection_reset", "headers", retried="always", charge="door", maybe_billed=True,
        cause="The connection was closed before the answer. On a reused connection this counts only if it happened "
              "again on a new one.",
        remedy="Lower the concurrency; if that does not help, report it to the vendor."),
    Kind("connect", "connect", retried="always", charge="network",
        cause="Connecting failed in another way.",
        remedy="Read the message; check the routes and firewalls of this machine."),
    Kind("tls", "tls", charge="door",
        cause="No trusted TLS connection could be made.",
        remedy="Check the address, or name the host's certificate authority in SSL_CERT_FILE."),
    Kind("protocol", "headers", retried="always",
        cause="The answer is not valid HTTP.",
        remedy="Check that the address is an API; if it is, report it to the vendor."),
    Kind("redirect", "headers",
        cause="The vendor redirected the request. Redirects are not followed, because the key would go with them.",
        remedy="Put the new address into the config, if you trust it."),
    Kind("timeout_connect", "connect", retried="always", charge="network",
        cause="No connection was made within `run.connect_timeout`.",
        remedy="Check the network; raise the limit for a distant host."),
    Kind("timeout_first_token", "first_token", retried="always", maybe_billed=True,
        cause="No token came within `run.first_token_timeout`.",
        remedy="Raise the limit for a model that thinks for long, or lower the load."),
    Kind("timeout_idle", "stream", retried="always", maybe_billed=True, after_end=True,
        cause="The answer paused for longer than `run.idle_timeout`; pings do not count as data.",
        remedy="Raise the limit if this vendor often pauses."),
    Kind("timeout_total", "stream", maybe_billed=True, after_end=True,
        cause="The attempt took longer than `--timeout`.",
        remedy="Raise the limit, or ask for shorter answers."),
    Kind("auth", "headers", charge="account", statuses=(401, 403), stops=True,
        cause="401, 403, or a 400 that says so: the key is missing, wrong or not allowed.",
        remedy="Check the key and its permissions. A 401 stops the vendor, a 403 does not."),
    Kind("moderation", "headers", maybe_billed=True,
        cause="Moderation refused the prompt or blocked the answer (Gemini's `blockReason`, `SAFETY`, …).",
        remedy="Look at the sample; leave it out if it is not a fair question."),
    Kind("no_credit", "headers", charge="account", statuses=(402,), stops=True,
        cause="402, or a 400, 403, 412 or 429 that says so: the account has no credit.",
        remedy="Top up the account, then continue with `--incremental`."),
    Kind("bad_request", "headers", charge="question", statuses=(400,), declines=True,
        cause="400: the vendor rejected the request.",
        remedy="Read the message; remove the parameter it names, or fix the sample's schema."),
    Kind("not_found", "headers", statuses=(404,), declines=True,
        cause="404: usually the model name.",
        remedy="Check `model_id` and the address."),
    Kind("too_large", "headers", statuses=(413,),
        cause="413, or 400 and 422 with a message that the prompt exceeds the context length.",
        remedy="Use a model with a longer context, or leave the sample out."),
    Kind("unprocessable", "headers", charge="question", statuses=(422,), declines=True,
        cause="422: the vendor understood the request and rejected it.",
        remedy="Read the message; remove the parameter it names, or fix the sample's schema."),
    Kind("http_4xx", "headers", declines=True,
        cause="Another 4xx.",
        remedy="Read the message; it says what the vendor expects."),
    Kind("conflict", "headers", retried="always", statuses=(409,),
        cause="409: the request conflicts with something that the vendor is doing.",
        remedy="Try again later; if it persists, report it to the vendor."),
    Kind("request_timeout", "headers", retried="always", statuses=(408,),
        cause="408: the vendor gave up waiting for the request.",
        remedy="Try again later; if it persists, report it to the vendor."),
    Kind("rate_limited", "headers", retried="always", charge="rate_limit", statuses=(429,), pauses=True,
        cause="429, also after the retries.",
        remedy="Lower `--request-concurrency`, or set `rpm:` and `tpm:` to what your plan allows."),
    Kind("overloaded", "headers", retried="always", statuses=(503, 529), pauses=True,
        cause="503 or 529: the vendor is overloaded.",
        remedy="Run again at another time; if it persists, this is the vendor's service."),
    Kind("http_5xx", "headers", retried="always", statuses=(500,),
        cause="Another 5xx.",
        remedy="Report it to the vendor, with the `request_id`."),
    Kind("not_an_api_response", "parse", no_answer=True,
        cause="Status 200, but not an API answer (an HTML page, other JSON).",
        remedy="Check the address: it is often the vendor's website instead of the API."),
    Kind("api_error_in_200", "stream", statuses=(200,), maybe_billed=True, no_answer=True,
        cause="An error object, or the finish reason `error`, with status 200. It is treated like the status that it "
              "names.",
        remedy="Read the message."),
    Kind("empty_response", "stream", retried="once", maybe_billed=True,
        cause="Status 200 without any content.",
        remedy="Raise `max_tokens`; if that does not help, report it to the vendor."),
    Kind("truncated", "stream", retried="always", maybe_billed=True, after_end=True,
        cause="The answer broke off, or ended with neither a finish reason nor the end marker.",
        remedy="Report it to the vendor; a gateway in between may be the cause, too."),
    Kind("bad_payload", "parse", retried="once", maybe_billed=True,
        cause="The stream has no readable event, part of the answer was in an unreadable event, or the body "
              "is compressed in a way that was not asked for (br, zstd).",
        remedy="Report it to the vendor; `explain` shows what came."),
    Kind("limit_exceeded", "stream", maybe_billed=True,
        cause="The answer is larger than any honest one: 32 MB in all, 1 MiB as one body, 512 KiB in one event, a "
              "million characters, 250,000 events, 100,000 events without a token, or 1,000 header fields.",
        remedy="Set `max_tokens`; if that does not help, report it to the vendor."),
    Kind("untranslatable", "plan", charge="us",
        cause="This vendor's protocol cannot express the sample, so it was not sent.",
        remedy="Use another protocol of this vendor, if it has one."),
    Kind("skipped", "plan", charge="unasked", stops=True,
        cause="The request was not sent, because the vendor had been stopped earlier or the run had ended.",
        remedy="Fix what stopped the vendor, then continue with `--incremental`."),
    Kind("harness", "send", charge="us",
        cause="This program could not send the request or read the answer.",
        remedy="Read the message: the cause is a vendor plugin, an address, or a bug of this program."),
    Kind("tool_server", "send", charge="us",
        cause="The MCP server did not start, hung or died.",
        remedy="Fix the server, then continue with `--incremental`."),
    Kind("proxy_failed", "connect", retried="always", charge="us",
        cause="The proxy set in the environment made no connection, because of itself or of the host behind it.",
        remedy="Try again later; if it persists, ask those who run the proxy."),
    Kind("proxy", "connect", charge="us", stops=True,
        cause="The proxy set in the environment refused us or is not there. The vendor never got the request.",
        remedy="Fix or unset the variable that the message names."),
)  # fmt: skip

KINDS: Mapping[FailureKind, Kind] = {kind.name: kind for kind in _ROWS}
_OF_STATUS: Mapping[int, FailureKind] = {status: kind.name for kind in _ROWS for status in kind.statuses}


def kinds_where(chosen: Callable[[Kind], bool]) -> frozenset[FailureKind]:
    """The names of the kinds that ``chosen`` is true of."""
    return frozenset(kind.name for kind in _ROWS if chosen(kind))


# Charges that count in no figure: nothing was sent to the vendor. What failed on the way counts, or a vendor that drops
# connections would look better than one that answers with an error.
UNCOUNTED: tuple[Charge, ...] = ("us", "unasked")
# Failures that are ours: nothing was sent to the vendor, so nothing counts against it.
NOT_CHARGED = kinds_where(lambda kind: kind.charge == "us")
# Nothing was sent, or asking again would give the same result.
NOT_SENT = kinds_where(lambda kind: kind.charge in ("us", "unasked"))
# A host that could not be reached.
UNREACHED = kinds_where(lambda kind: kind.charge == "door")
# Refusals that a sample with an unusable tool schema or parameter brings upon itself.
QUESTION_REFUSED = kinds_where(lambda kind: kind.charge == "question")
# Answers to a question that may be refused: asking again would give the same.
SETTLED = QUESTION_REFUSED | {"not_found", "untranslatable"}


BAD_KEY = (
    r"(invalid|incorrect)[ _]?(x-)?api[ _-]?key|missing api[ -]key|api key is (missing|required)"
    r"|\bapi[ _]?key( you provided)?[ _](is |was |has )?(not valid|invalid|expired|not found)"
    r"|^(\S+ )?invalid token\W*($|\(request id)|token expired or incorrect|无效的令牌|no connected db"
)
NO_CREDIT = (
    r"(insufficient|not[ _]enough)[ _](user[ _])?(quota|balance|credit|funds)|balance is insufficient"
    r"|credit balance is too low|quota is not enough|exceeded_current_quota|arrearage|used all available credits"
)
# Words that say more about a refusal than its status: the statuses under which they count, and what they mean. The
# first match wins. 200 is an error inside a 200 that names no other status. A 400 may quote the question, so that only
# the plainest words count there. Alibaba's rate limits have the code and the words of an empty account.
_WORDS: Sequence[tuple[tuple[int, ...], str, FailureKind]] = (
    ((403,), r"moderat|flagged|guardrail|content.?policy|sensitive|safety", "moderation"),
    ((200, 400, 403), BAD_KEY, "auth"),
    ((429,), r"token-limit|allocated quota|rate limit|per (second|minute|day)", "rate_limited"),
    ((200, 400, 403, 412, 429), NO_CREDIT, "no_credit"),
    ((200, 403, 412, 429), r"spending limit|have any credits|余额不足|额度不足", "no_credit"),
    # A question longer than the model takes.
    ((400, 422), r"context.{0,20}(length|window|limit|exceed)|(length|window|exceed).{0,20}context", "too_large"),
    ((400, 422), r"maximum.{0,20}\btokens|(prompt|input) is too long|too many (input )?tokens", "too_large"),
)
# They are searched for in the first characters only, because some vendors repeat the question after them.
_TELLING = 500


def kind_of_status(status: int | None, words: str = "") -> FailureKind:
    """The kind of failure that a status means with the code and message in ``words``; 200 and None: an error inside a
    200 that names no other status."""
    status = 200 if status is None else status
    for statuses, telling, kind in _WORDS:
        if status in statuses and re.search(telling, words[:_TELLING], re.IGNORECASE):
            return kind
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if 300 <= status < 400:
        return "redirect"
    return "http_5xx" if status >= 500 else "http_4xx"
