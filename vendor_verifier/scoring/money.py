"""What a vendor's answers cost.

cost of an attempt = ((input − cached)·p_input + cached·p_cached + (output − reasoning)·p_output
                      + reasoning·p_reasoning) ÷ 10⁶ + p_request, times the currency's rate in US dollars.
Output includes reasoning and input includes cached tokens, whatever the wire's own convention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from vendor_verifier.records.manifest import SchemaPolicy
from vendor_verifier.records.record import Usage

if TYPE_CHECKING:
    # Prices are known while requests are sent, which must not wait for pandas.
    import pandas as pd


class Price(msgspec.Struct, frozen=True):
    """A vendor's prices per million tokens and per request, in ``currency``; ``rate`` is US dollars for one of it.

    ``cached`` falls back to ``input`` and ``reasoning`` to ``output``, as vendors bill them. ``source`` is where the
    price comes from.
    """

    input: float
    output: float
    cached: float | None = None
    reasoning: float | None = None
    request: float = 0.0
    currency: str = "USD"
    rate: float = 1.0
    source: str = "config"


class Money(msgspec.Struct, frozen=True):
    """The cost of a vendor's answers, in US dollars.

    ``wasted_usd`` is what attempts cost that are part of no success: retries and failures. ``per_answer_usd`` is the
    cost of a record without them, the price by the list; ``per_valid_call_usd`` divides everything by the valid tool
    calls. ``unpriced`` counts attempts whose tokens are unknown: they may have been billed and are in no sum.
    ``reported_ratio`` = the vendor's own cost ÷ ours, over attempts with both; ``undiscounted_ratio`` the same with no
    token cached, None unless some were. ``tokens`` are those of all priced attempts. ``monthly_usd`` is the cost of the
    buyer's own monthly volume, where it is known.
    """

    total_usd: float
    wasted_usd: float
    per_1000_requests_usd: float | None
    per_valid_call_usd: float | None
    requests: int
    valid_calls: int
    attempts: int
    unpriced: int
    reported_usd: float | None = None
    reported_ratio: float | None = None
    per_answer_usd: float | None = None
    undiscounted_ratio: float | None = None
    tokens: int = 0
    monthly_usd: float | None = None


def input_price_usd(price: Price, cached_share: float | None) -> float:
    """US dollars for a million input tokens with this share of cached ones."""
    cached = price.input if price.cached is None else price.cached
    share = cached_share or 0.0
    return price.rate * (price.input * (1 - share) + cached * share)


def cost_usd(usage: Usage, price: Price) -> float | None:
    """US dollars of one attempt; None unless input and output tokens are known or neither is charged for."""
    if (usage.input is None and price.input) or (usage.output is None and price.output):
        return None
    took, gave = usage.input or 0, usage.output or 0
    return float(_cost(took, min(usage.cached or 0, took), gave, min(usage.reasoning or 0, gave), price, 1))


def costs_usd(frame: pd.DataFrame, price: Price, *, discounted: bool = True) -> pd.Series[Any]:
    """The same of every row of attempts, or of answers of ``turns`` requests; NaN where it is unknown.

    Not ``discounted``: as if no token had been cached.
    """
    took = frame["input_tokens"] if price.input else frame["input_tokens"].fillna(0)
    gave = frame["output_tokens"] if price.output else frame["output_tokens"].fillna(0)
    cached = frame["cached_tokens"].fillna(0).clip(upper=took) * discounted
    thought = frame["reasoning_tokens"].fillna(0).clip(upper=gave)
    found: pd.Series[Any] = _cost(took, cached, gave, thought, price, frame.get("turns", 1))
    return found


def _cost(took: Any, cached: Any, gave: Any, thought: Any, price: Price, requests: Any) -> Any:
    cached_price = price.input if price.cached is None else price.cached
    reasoning_price = price.output if price.reasoning is None else price.reasoning
    tokens = (took - cached) * price.input + cached * cached_price
    tokens += (gave - thought) * price.output + thought * reasoning_price
    return (tokens / 1e6 + price.request * requests) * price.rate


def money(
    records: pd.DataFrame,
    attempts: pd.DataFrame,
    price: Price,
    *,
    policy: SchemaPolicy = "lenient",
    monthly_requests: int | None = None,
    monthly_tokens: int | None = None,
) -> Money | None:
    """The cost of one vendor's records and spent attempts, rows of the frames; None of a vendor without records.

    A month costs what this run did on average: a request with its retries and failures; a token in the run's own mix.
    """
    from vendor_verifier.scoring.columns import valid_calls

    if not len(records):
        return None
    useful, wasted = records[records["ok"]], attempts[attempts["billed"]]
    ours = [costs_usd(part, price) for part in (useful, wasted)]
    full = [costs_usd(part, price, discounted=False) for part in (useful, wasted)]
    stated = [part["reported_usd"] for part in (useful, wasted)]
    both = [mine.notna() & said.notna() for mine, said in zip(ours, stated, strict=True)]
    resent = int(records["resent"].sum())
    whole, answers = _sum(ours), int(ours[0].count())
    is_priced = answers + ours[1].count() > 0
    ours_too, said_too, full_too = (
        _sum([part[there] for part, there in zip(parts, both, strict=True)]) for parts in (ours, stated, full)
    )
    tokens = [part["input_tokens"].fillna(0) + part["output_tokens"].fillna(0) for part in (useful, wasted)]
    priced_tokens = int(_sum([part[mine.notna()] for part, mine in zip(tokens, ours, strict=True)]))
    calls = int(valid_calls(records["classes"], policy).sum())
    per_request = whole / len(records) if is_priced else None
    monthly = None
    if monthly_requests is not None:
        monthly = None if per_request is None else monthly_requests * per_request
    elif monthly_tokens is not None and priced_tokens:
        monthly = monthly_tokens * whole / priced_tokens
    return Money(
        total_usd=whole,
        wasted_usd=float(ours[1].sum()),
        per_1000_requests_usd=None if per_request is None else 1000 * per_request,
        per_valid_call_usd=whole / calls if calls and is_priced else None,
        requests=len(records),
        valid_calls=calls,
        attempts=int(useful["turns"].sum()) + len(wasted) + resent,
        unpriced=int(useful["turns"][ours[0].isna()].sum() + ours[1].isna().sum()) + resent,
        reported_usd=_sum(stated) if any(part.notna().any() for part in stated) else None,
        reported_ratio=said_too / ours_too if ours_too else None,
        per_answer_usd=float(ours[0].sum()) / answers if answers else None,
        undiscounted_ratio=said_too / full_too if full_too > ours_too > 0 else None,
        tokens=priced_tokens,
        monthly_usd=monthly,
    )


def _sum(parts: list[pd.Series[Any]]) -> float:
    return float(sum(part.sum() for part in parts))
