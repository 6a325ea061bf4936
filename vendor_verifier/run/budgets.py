"""The budgets of a run: requests and tokens per minute of an account, requests and cost of the whole. It only computes
waits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from vendor_verifier.records.plan import Entry
from vendor_verifier.records.record import Attempt, Response, Usage
from vendor_verifier.records.request import BUDGETS
from vendor_verifier.scoring.money import cost_usd
from vendor_verifier.wire.payload import parse_json

MINUTE_S = 60.0
# How early a request may be because those before it were late, for instance because this machine was busy.
CATCH_UP_S = 0.01
# By how much two requests' ways from permit to vendor may differ (busy event loop, network).
WAY_S = 0.2
_BYTES_PER_TOKEN = 4
# What an answer may need before any has come, where the request sets no limit.
_FIRST_ANSWER = 1024
# A cost limit must err on the side of stopping early: usual text has more bytes a token.
_BYTES_PER_PAID_TOKEN = 3
# What a vendor may add to a prompt or think in secret, which nobody can count: more than any model gives at once.
_MOST_HIDDEN_TOKENS = 2**17


class Ask(msgspec.Struct):
    """A request of ``size`` bytes that wants to be sent. ``most_tokens`` is the limit it sets to its answer,
    ``charged`` what a budget of tokens has put by for it."""

    size: int
    most_tokens: int | None = None
    charged: float = 0.0


def most_tokens_of(body: bytes) -> int | None:
    """The limit that a request sets to its answer, on any protocol; None where it sets none."""
    found = parse_json(body)
    stated = [found.get(name) for name in BUDGETS]
    stated.append(found.get("generationConfig", {}).get("maxOutputTokens"))
    return min((each for each in stated if isinstance(each, int)), default=None)


class Bucket:
    """A budget per minute, of requests or of ``tokens``, used at an even pace (GCRA): call :meth:`wait_s` until it is
    not above 0, then :meth:`begin`.

    No window of 60 s holds more than the budget and one request. A request's tokens are estimated (a token for every
    four bytes of its body, and the longest answer so far or its own limit), until :meth:`settle`.
    None counts for more than the budget, whatever a vendor claims.
    """

    def __init__(self, per_minute: float, *, tokens: bool = False) -> None:
        self._per_minute = per_minute
        self._interval_s = (MINUTE_S + WAY_S + CATCH_UP_S) / per_minute
        # The moment at which the bucket is empty.
        self._next = -math.inf
        self._counts_tokens = tokens
        self._longest: int | None = None

    def wait_s(self, now: float) -> float:
        """Seconds until the next request may begin."""
        return self._next - CATCH_UP_S - now

    def begin(self, now: float, ask: Ask) -> None:
        """Charge ``ask``, which begins now."""
        units = 1.0
        if self._counts_tokens:
            # Stated limits are often far above what answers need: held to them, requests would go one at a time.
            known = [each for each in (ask.most_tokens, self._longest) if each is not None]
            units = math.ceil(ask.size / _BYTES_PER_TOKEN) + min(known, default=_FIRST_ANSWER)
            units = ask.charged = min(units, self._per_minute)
        self._next = max(now, self._next) + units * self._interval_s

    def settle(self, ask: Ask, attempt: Attempt) -> None:
        """Replace the estimate of ``ask`` by the usage the vendor reported; without an answer by the prompt alone."""
        if not self._counts_tokens:
            return
        used = ask.charged
        if attempt.response is None:
            used = min(used, math.ceil(ask.size / _BYTES_PER_TOKEN))
        elif attempt.response.usage is not None and attempt.response.usage.total is not None:
            used = min(attempt.response.usage.total, self._per_minute)
            self._longest = max(self._longest or 0, min(attempt.response.usage.output or 0, _MOST_HIDDEN_TOKENS))
        self._next += (used - ask.charged) * self._interval_s


@dataclass(slots=True)
class Spending:
    """The requests and cost of one execution of a run."""

    max_requests: int | None = None
    max_cost_usd: float | None = None
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
        """Add what one attempt cost: as reported, else by price and tokens, else by price and length; with a
        price never more than the bytes and hidden tokens of one answer can.

        A sending that is to be sent again costs its prompt: the vendor may have read it before closing.
        """
        answer, price = attempt.response or Response(), entry.price
        usage, characters, hidden = answer.usage or Usage(), answer.characters, _MOST_HIDDEN_TOKENS
        most = price and cost_usd(Usage(sent_bytes + hidden, characters + hidden), price)
        if usage.cost_usd is not None:
            self.cost_usd += min(usage.cost_usd, most or usage.cost_usd)
            return
        # No vendor charges for a request that was refused or never answered.
        is_free = attempt.response is None and attempt.failure is not None and not attempt.resent
        if self.max_cost_usd is None or price is None or is_free:
            return
        cost = cost_usd(usage, price)
        if cost is None:
            usage = Usage(sent_bytes // _BYTES_PER_PAID_TOKEN, characters // _BYTES_PER_PAID_TOKEN)
            cost = cost_usd(usage, price)
        self.cost_usd += min(cost or 0.0, most or 0.0)

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
