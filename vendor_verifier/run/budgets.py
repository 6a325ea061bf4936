"""The budgets of a run: requests and tokens per minute of an account, requests and cost of the whole. It only computes
waits.

Requests and tokens leave a bucket at an even pace (GCRA: one number, the moment at which it is empty). So no window of
60 s holds more than the budget and one request. Tokens are known only afterwards: a request is charged before it is
sent with a token for every four bytes of its body and the longest answer so far, or the limit that it states if that is
less. When the answer is there, its usage replaces the estimate.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import Attempt, Usage

MINUTE_S = 60.0
# How early a request may be because those before it were late, for instance because this machine was busy.
CATCH_UP_S = 0.01
# By how much two requests' ways from permit to vendor may differ: a busy loop, the network.
WAY_S = 0.2
_BYTES_PER_TOKEN_SENT = 4
# What an answer may need before any has come, where the request sets no limit.
_FIRST_ANSWER = 1024


class Ask(msgspec.Struct):
    """A request that wants to be sent. ``most_tokens`` is the limit it sets to its answer, ``charged`` what a budget
    of tokens has put by for it."""

    size: int
    most_tokens: int | None = None
    charged: float = 0.0


class _Thinking(msgspec.Struct, rename="camel"):
    max_output_tokens: int | None = None


class _Limited(msgspec.Struct):
    """The fields that limit an answer's length, in all protocols."""

    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    max_output_tokens: int | None = None
    generation: _Thinking | None = msgspec.field(default=None, name="generationConfig")


_decode_limit = msgspec.json.Decoder(_Limited).decode


def ask_for(body: bytes, *, reads_limit: bool) -> Ask:
    """The :class:`Ask` for ``body``. Reading its token limit costs some microseconds, so only those who count tokens
    do."""
    if not reads_limit:
        return Ask(len(body))
    stated: list[int] = []
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
        found = _decode_limit(body)
        inner = found.generation.max_output_tokens if found.generation is not None else None
        every = (found.max_tokens, found.max_completion_tokens, found.max_output_tokens, inner)
        stated = [each for each in every if each is not None]
    return Ask(len(body), min(stated, default=None))


class Bucket:
    """So many requests a minute. Call :meth:`wait_s` until it is not above 0, then :meth:`begin`."""

    def __init__(self, per_minute: float) -> None:
        self._interval_s = (MINUTE_S + WAY_S + CATCH_UP_S) / per_minute
        self._next = -math.inf

    def wait_s(self, now: float) -> float:
        """Seconds until the next request may begin."""
        return self._next - CATCH_UP_S - now

    def begin(self, now: float, ask: Ask) -> None:  # noqa: ARG002 only tokens differ by request
        """Charge ``ask``, which begins now."""
        self._next = max(now, self._next) + self._interval_s

    def settle(self, ask: Ask, attempt: Attempt) -> None:
        """Take the outcome of ``ask``."""


class TokenBucket(Bucket):
    """Tokens a minute, each request's estimated before and corrected after its answer."""

    def __init__(self, per_minute: float) -> None:
        super().__init__(per_minute)
        self._longest: int | None = None

    def begin(self, now: float, ask: Ask) -> None:
        """Charge ``ask``, which begins now, with the most that it and its answer may come to."""
        # Stated limits are often far above what answers need: held to them, requests would go one at a time.
        known = [each for each in (ask.most_tokens, self._longest) if each is not None]
        ask.charged = math.ceil(ask.size / _BYTES_PER_TOKEN_SENT) + min(known, default=_FIRST_ANSWER)
        self._next = max(now, self._next) + ask.charged * self._interval_s

    def settle(self, ask: Ask, attempt: Attempt) -> None:
        """Replace the estimate of ``ask`` by the usage the vendor reported; without an answer by the prompt alone."""
        used = ask.charged
        if attempt.response is None:
            used = min(used, math.ceil(ask.size / _BYTES_PER_TOKEN_SENT))
        elif attempt.response.usage is not None and attempt.response.usage.total is not None:
            used = attempt.response.usage.total
            self._longest = max(self._longest or 0, attempt.response.usage.output or 0)
        self._next += (used - ask.charged) * self._interval_s


# What an attempt cost in US dollars by the vendor's price, given its usage.
CostOf = Callable[[Usage], float | None]
# A request without reported usage is charged by length, at fewer bytes a token than text usually has: a guard that
# errs must err on the side of stopping early.
_BYTES_PER_TOKEN = 3


@dataclass(slots=True)
class Spending:
    """The requests and cost of one execution of a run. ``costs`` price an answer, by (model, label)."""

    max_requests: int | None = None
    max_cost_usd: float | None = None
    costs: Mapping[tuple[str, str], CostOf] = field(default_factory=dict)
    requests: int = 0
    cost_usd: float = 0.0
    refused: bool = False

    def take(self, *, is_open: bool = True) -> bool:
        """Whether one more request may be sent; counts it if so. A run that is closed already sends nothing."""
        if self.is_used_up or (self.max_requests is not None and self.requests >= self.max_requests):
            self.refused = True
            return False
        self.requests += is_open
        return is_open

    def pay(self, entry: Entry, attempt: Attempt, sent_bytes: int) -> None:
        """Add what one attempt cost: as reported, else by price and tokens, else by price and length.

        A sending that is to be sent again costs its prompt: whoever closed the connection may have read it before.
        """
        if self.max_cost_usd is None:
            return
        response = attempt.response
        usage = response.usage if response is not None else None
        if usage is not None and usage.cost_usd is not None:
            self.cost_usd += usage.cost_usd
            return
        if response is None and attempt.failure is not None and not attempt.resent:
            return  # refused or never answered: nobody charges for that
        cost_of = self.costs.get((entry.model, entry.label))
        if cost_of is None:
            return
        cost = cost_of(usage) if usage is not None else None
        if cost is None:
            cost = cost_of(_estimated(attempt, sent_bytes))
        self.cost_usd += cost or 0.0

    @property
    def is_used_up(self) -> bool:
        return self.max_cost_usd is not None and self.cost_usd >= self.max_cost_usd

    @property
    def reason(self) -> str | None:
        """The limit that kept something from being sent, in words; ``None`` when none did."""
        if not self.refused:
            return None
        if self.is_used_up:
            return f"--max-cost {self.max_cost_usd:g} was reached (about {self.cost_usd:.4f} US dollars spent)"
        return f"--max-requests {self.max_requests} was reached"


def _estimated(attempt: Attempt, sent_bytes: int) -> Usage:
    response = attempt.response
    characters = 0
    if response is not None:
        characters = (
            len(response.text) + len(response.reasoning) + sum(len(call.arguments) for call in response.tool_calls)
        )
    return Usage(input=sent_bytes // _BYTES_PER_TOKEN, output=characters // _BYTES_PER_TOKEN)
