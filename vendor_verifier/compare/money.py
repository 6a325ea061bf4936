"""What answers cost: per request, per valid call, and for nothing; prices are given, never looked up here.

Of two price lists the break-even is in :mod:`vendor_verifier.compare.break_even`.

cost of an attempt = ((input − cached)·p_input + cached·p_cached + (output − reasoning)·p_output
                      + reasoning·p_reasoning) ÷ 10⁶ + p_request, times the currency's rate in US dollars.
Output includes reasoning and input includes cached tokens, whatever the wire's own convention.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from vendor_verifier.compare.ratios import RatioColumn, Unit, Units
from vendor_verifier.metrics.usage import reported_usage
from vendor_verifier.values.event import Usage
from vendor_verifier.values.judgement import Money, Price
from vendor_verifier.values.record import Attempt, Record

# Failures after which the vendor may have worked, and billed, although nothing usable came back.
_MAYBE_BILLED = frozenset(
    {"timeout_first_token", "timeout_idle", "timeout_total", "truncated", "empty_response", "bad_payload",
     "limit_exceeded", "connection_reset", "api_error_in_200", "moderation"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BilledAttempt:
    """One try that may be on the bill.

    ``useful``: it is part of what a record that succeeded ends in; ``retried``: another try of that record was.
    """

    unit: Unit
    usage: Usage
    useful: bool
    retried: bool = False


def billed_attempts(record: Record) -> Iterator[BilledAttempt]:
    """The attempts of a record that reached the model or may have; refusals (4xx, 5xx, no connection) cost nothing."""
    for turn in record.turns:
        for position, attempt in enumerate(turn.attempts, 1):
            if attempt.resent:
                # The first sending: whoever closed the connection may have read it before.
                yield BilledAttempt((record.sample, record.repetition), Usage(), useful=False)
            if _may_be_billed(attempt):
                useful = record.succeeded and position == len(turn.attempts)
                retried = record.succeeded and not useful
                yield BilledAttempt((record.sample, record.repetition), reported_usage(attempt), useful, retried)


def cost_usd(usage: Usage, price: Price) -> float | None:
    """US dollars of one attempt; ``None`` unless input and output tokens are known or neither is charged for."""
    cached, reasoning = usage.cached or 0, usage.reasoning or 0
    if (usage.input is None and price.input) or (usage.output is None and price.output):
        return None
    shown, hidden = max(0, (usage.output or 0) - reasoning), min(reasoning, usage.output or 0)
    fresh, reused = max(0, (usage.input or 0) - cached), min(cached, usage.input or 0)
    cached_price = price.input if price.cached is None else price.cached
    reasoning_price = price.output if price.reasoning is None else price.reasoning
    tokens = fresh * price.input + reused * cached_price + shown * price.output + hidden * reasoning_price
    return (tokens / 1e6 + price.request) * price.rate


def money(
    attempts: Iterable[BilledAttempt],
    price: Price,
    *,
    requests: int,
    valid_calls: int,
    duplicates: Iterable[BilledAttempt] = (),
) -> Money:
    """Sums over one vendor. ``requests`` are the records asked for, ``valid_calls`` the tool calls that are valid.

    wasted = what attempts cost that are part of no success: retries, cut answers, failed conversations.
    ``duplicates`` are attempts of records made twice by our own doing: in the total, and in no other figure.
    """
    twice = [cost for each in duplicates if (cost := cost_usd(each.usage, price)) is not None]
    total, wasted, retried, reported, comparable, undiscounted = [], [], [], [], [], []
    answered: set[Unit] = set()
    count = unpriced = 0
    for attempt in attempts:
        count += 1
        ours = cost_usd(attempt.usage, price)
        said = attempt.usage.cost_usd
        if said is not None:
            reported.append(said)
        if ours is None:
            unpriced += 1
            continue
        total.append(ours)
        if attempt.useful:
            answered.add(attempt.unit)
        else:
            wasted.append(ours)
        if attempt.retried:
            retried.append(ours)
        if said is not None:
            comparable.append((said, ours))
            undiscounted.append(cost_usd(replace(attempt.usage, cached=None), price) or 0.0)
    whole = math.fsum(total)
    said_too, ours_too = (math.fsum(each) for each in zip(*comparable, strict=True)) if comparable else (0.0, 0.0)
    full = math.fsum(undiscounted)
    return Money(
        total_usd=math.fsum([whole, *twice]),
        wasted_usd=math.fsum(wasted),
        per_1000_requests_usd=1000 * whole / requests if requests and total else None,
        per_valid_call_usd=whole / valid_calls if valid_calls and total else None,
        requests=requests,
        valid_calls=valid_calls,
        attempts=count,
        unpriced=unpriced,
        reported_usd=math.fsum(reported) if reported else None,
        reported_ratio=said_too / ours_too if ours_too else None,
        per_answer_usd=(whole - math.fsum(wasted)) / len(answered) if answered else None,
        wasted_on_retries_usd=math.fsum(retried),
        undiscounted_ratio=said_too / full if full > ours_too > 0 else None,
        duplicates_usd=math.fsum(twice) if twice else None,
    )


def cost_ratios(
    attempts: Iterable[BilledAttempt], price: Price, asked: Iterable[Unit], valid_calls: dict[Unit, int]
) -> dict[str, RatioColumn]:
    """The cost metrics as ratios of sums by unit, to join ``Trials.ratios``, so that they get intervals too.

    Units with an attempt that cannot be priced are left out of both: a partial sum would flatter.
    """
    known = dict.fromkeys(asked, 0.0)
    wasted: dict[Unit, float] = {}
    for attempt in attempts:
        ours = cost_usd(attempt.usage, price)
        if ours is None:
            known.pop(attempt.unit, None)
        elif attempt.unit in known:
            known[attempt.unit] += ours
            wasted[attempt.unit] = wasted.get(attempt.unit, 0.0) + (0.0 if attempt.useful else ours)
    units = Units()
    each_cost, each_waste, by_call = (RatioColumn(units) for _ in range(3))
    for unit, cost in known.items():
        place = units.place_of(unit)
        each_cost.add(place, 1000 * cost, 1.0)
        each_waste.add(place, 1000 * wasted.get(unit, 0.0), 1.0)
        by_call.add(place, cost, float(valid_calls.get(unit, 0)))
    return {
        "cost_per_1000_requests_usd": each_cost,
        "wasted_per_1000_requests_usd": each_waste,
        "cost_per_valid_call_usd": by_call,
    }


def _may_be_billed(attempt: Attempt) -> bool:
    if attempt.response is not None:
        return True
    return attempt.failure is not None and attempt.failure.kind in _MAYBE_BILLED
