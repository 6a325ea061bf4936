"""Counts what a run sends and what that costs, and says when a limit set for it is reached; it stops nothing itself.

A request is taken into account before it is sent, so ``max_requests`` is exact. Costs are known only after an answer:
what was in flight when ``max_cost_usd`` was reached is still paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vendor_verifier.values.event import Usage
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.record import Attempt

# What an attempt cost in US dollars by the vendor's price, given its usage.
CostOf = Callable[[Usage], float | None]
# A request whose usage nobody told is charged by length, at fewer bytes a token than text usually has: a guard that
# errs must err on the side of stopping early.
_BYTES_PER_TOKEN = 3


@dataclass(slots=True)
class Spending:
    """The account book of one sitting. ``costs`` price an answer, by (model, label)."""

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
        """Which limit kept something from being sent, in words; ``None`` when none did."""
        if not self.refused:
            return None
        if self.is_used_up:
            return f"--max-cost {self.max_cost_usd:g} was reached (about {self.cost_usd:.4f} US dollars spent)"
        return f"--max-requests {self.max_requests} was reached"


def _estimated(attempt: Attempt, sent_bytes: int) -> Usage:
    response = attempt.response
    said = 0
    if response is not None:
        said = len(response.text) + len(response.reasoning) + sum(len(call.arguments) for call in response.tool_calls)
    return Usage(input=sent_bytes // _BYTES_PER_TOKEN, output=said // _BYTES_PER_TOKEN)
