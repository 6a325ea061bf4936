"""The budgets of a run: requests and tokens per minute of an account, requests and cost of the whole. It only computes
waits.

Requests follow GCRA: they begin at even distances, and one that was late lets the next be early by no more than
``CATCH_UP_S``. So no window of 60 s holds more than the budget and one.

Tokens are known only afterwards. A request is taken into account before it is sent with what it may need at the most: a
token for every four bytes of its body (or as many as this vendor has counted), and the answer's limit that it states;
without one the longest answer seen so far. When the answer is there its real usage takes the place of the estimate. A
request begins when the last minute has room for its estimate, or is empty: then it is larger than the whole budget and
goes alone. So no window of 60 s holds more than the budget and one request's tokens, unless a vendor counts more than
was estimated; what it counted is then made up for. Within the minute requests begin at distances of their mean usage.

Both windows are a little longer than a minute, because the way from here to the vendor is not always equally long.
"""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from vendor_verifier.records.event import Usage
from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import Attempt

MINUTE_S = 60.0
# How early a request may be because those before it were late, for instance because this machine was busy.
CATCH_UP_S = 0.01
# By how much two requests' ways from permit to vendor may differ: a worker's messages, a busy loop, the network.
WAY_S = 0.2
_TOKENS_PER_BYTE = 0.25
# What an answer may need before any has come, where the request sets no limit.
_FIRST_ANSWER = 1024


class Ask(msgspec.Struct, frozen=True, eq=False):
    """A request that wants to be sent, compared by identity. ``most_tokens`` is the limit it sets to its answer."""

    size: int
    most_tokens: int | None = None


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


class RequestBudget:
    """A budget of requests per minute. Call :meth:`wait_s` until it is not above 0, then :meth:`take`."""

    def __init__(self, per_minute: float) -> None:
        self._interval_s = (MINUTE_S + WAY_S + CATCH_UP_S) / per_minute
        self._due = -math.inf

    def wait_s(self, now: float) -> float:
        """Seconds until the next request may begin."""
        return self._due - CATCH_UP_S - now

    def take(self, now: float) -> None:
        """Count one request that begins now."""
        self._due = max(now, self._due) + self._interval_s


@dataclass(slots=True)
class _Charge:
    at: float
    tokens: float
    is_over: bool = False


@dataclass(slots=True)
class TokenBudget:
    """A budget of tokens per minute, by the moments at which requests begin; used like :class:`RequestBudget`."""

    per_minute: float
    _charges: deque[_Charge] = field(default_factory=deque)
    _sum: float = 0.0
    _open: dict[Ask, _Charge] = field(default_factory=dict)
    _longest: int | None = None
    _per_byte: float = _TOKENS_PER_BYTE
    _settled: int = 0
    _mean: float = 0.0
    _began: float = -math.inf
    _due: float = -math.inf

    def estimate(self, ask: Ask) -> float:
        """The most tokens that a request and its answer may come to."""
        answer = ask.most_tokens if ask.most_tokens is not None else self._longest
        return math.ceil(ask.size * self._per_byte) + (_FIRST_ANSWER if answer is None else answer)

    def wait_s(self, now: float, ask: Ask) -> float:
        """Seconds until ``ask`` may begin as far as is known; an answer that comes meanwhile may make it fewer."""
        return max(self._due - CATCH_UP_S - now, self._room_in_s(now, self.estimate(ask)))

    def take(self, now: float, ask: Ask) -> None:
        """Count ``ask``, which begins now, with its estimate."""
        tokens = self.estimate(ask)
        charge = _Charge(now, tokens)
        self._charges.append(charge)
        self._sum += tokens
        self._open[ask] = charge
        self._began = max(now, self._due)
        self._due = self._began + self._interval_s(tokens)

    def settle(self, ask: Ask, attempt: Attempt) -> None:
        """Replace the estimate of ``ask`` by the usage the vendor reported; without an answer by the prompt alone."""
        charge = self._open.pop(ask, None)
        if charge is None:
            return
        usage = attempt.response.usage if attempt.response is not None else None
        if attempt.response is None:
            self._correct(charge, min(charge.tokens, math.ceil(ask.size * self._per_byte)))
            return
        if usage is not None and usage.total is not None:
            self._learn(ask, usage)
            self._correct(charge, usage.total)
            self._settled += 1
            self._mean += (usage.total - self._mean) / self._settled
            self._due = min(self._due, self._began + self._interval_s(self._mean))

    def _learn(self, ask: Ask, usage: Usage) -> None:
        self._longest = max(self._longest or 0, usage.output or 0)
        if ask.size:
            self._per_byte = max(self._per_byte, (usage.input or 0) / ask.size)

    def _correct(self, charge: _Charge, tokens: float) -> None:
        if not charge.is_over:
            self._sum += tokens - charge.tokens
            charge.tokens = tokens

    def _interval_s(self, tokens: float) -> float:
        """Seconds from one request to the next at an even pace."""
        return (self._mean if self._settled else tokens) * MINUTE_S / self.per_minute

    def _room_in_s(self, now: float, tokens: float) -> float:
        """Seconds until the last minute has room for so many tokens."""
        begun = now - MINUTE_S - WAY_S
        while self._charges and self._charges[0].at <= begun:
            over = self._charges.popleft()
            over.is_over = True
            self._sum -= over.tokens
        if not self._charges:
            self._sum = 0.0
            self._open.clear()
            return 0.0
        left = self._sum + tokens - self.per_minute
        if left <= 0:
            return 0.0
        for charge in self._charges:
            left -= charge.tokens
            if left <= 0:
                break
        return charge.at - begun


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

    def books(self) -> dict[str, Any]:
        """The counts so far; for :meth:`take_over` where the limits are."""
        return {"requests": self.requests, "cost_usd": self.cost_usd, "refused": self.refused}

    def take_over(self, books: Mapping[str, Any]) -> None:
        """Go on from what a copy of these books counted elsewhere."""
        for name in self.books():
            setattr(self, name, books[name])

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
