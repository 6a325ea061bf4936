"""What a vendor's answers cost.

cost of an attempt = ((input − cached)·p_input + cached·p_cached + (output − reasoning)·p_output
                      + reasoning·p_reasoning) ÷ 10⁶ + p_request, times the currency's rate in US dollars.
Output includes reasoning and input includes cached tokens, whatever the wire's own convention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from vendor_verifier.records.manifest import SchemaPolicy
from vendor_verifier.records.plan import Price
from vendor_verifier.records.record import Usage
from vendor_verifier.scoring.answer import MOST_DISCARDED

if TYPE_CHECKING:
    # Prices are known while requests are sent, which must not wait for pandas.
    import pandas as pd


class Money(msgspec.Struct, frozen=True):
    """The cost of a vendor's answers, in US dollars.

    ``wasted_usd`` is what attempts cost that are part of no success: retries and failures. ``per_answer_usd`` is the
    cost of a record without them, the price by the list; ``per_valid_call_usd`` divides everything by the valid tool
    calls; they are None where the cost of more than 20 % of the answers is unknown. ``requests`` counts the records of
    known cost, ``unpriced`` the attempts whose tokens are unknown: they may have been billed and are in no sum.
    ``reported_ratio`` = the vendor's own cost ÷ ours, over the ``reported`` answers and attempts with both.
    """

    total_usd: float | None
    wasted_usd: float | None
    per_1000_requests_usd: float | None
    per_valid_call_usd: float | None
    requests: int
    unpriced: int
    reported_ratio: float | None = None
    reported: int = 0
    per_answer_usd: float | None = None


def input_price_usd(price: Price | None, cached_share: float | None) -> float | None:
    """US dollars for a million input tokens with this share of cached ones; None without a price."""
    if price is None:
        return None
    cached = price.input if price.cached is None else price.cached
    share = cached_share or 0.0
    return price.rate * (price.input * (1 - share) + cached * share)


def cost_usd(usage: Usage, price: Price, requests: int = 1) -> float | None:
    """US dollars of ``requests`` with this usage together; None unless the tokens that are charged for are known."""
    if (usage.input is None and price.input) or (usage.output is None and price.output):
        return None
    took, gave = usage.input or 0, usage.output or 0
    return float(_cost(took, min(usage.cached or 0, took), gave, min(usage.reasoning or 0, gave), price, requests))


def costs_usd(frame: pd.DataFrame, price: Price) -> pd.Series[Any]:
    """The same of every row of attempts, or of answers of ``turns`` requests; NaN where it is unknown."""
    took = frame["input_tokens"] if price.input else frame["input_tokens"].fillna(0)
    gave = frame["output_tokens"] if price.output else frame["output_tokens"].fillna(0)
    cached = frame["cached_tokens"].fillna(0).clip(upper=took)
    thought = frame["reasoning_tokens"].fillna(0).clip(upper=gave)
    found: pd.Series[Any] = _cost(took, cached, gave, thought, price, frame.get("turns", 1))
    return found


def _cost(took: Any, cached: Any, gave: Any, thought: Any, price: Price, requests: Any) -> Any:
    cached_price = price.input if price.cached is None else price.cached
    reasoning_price = price.output if price.reasoning is None else price.reasoning
    tokens = (took - cached) * price.input + cached * cached_price
    tokens += (gave - thought) * price.output + thought * reasoning_price
    return (tokens / 1e6 + price.request * requests) * price.rate


def money(records: pd.DataFrame, attempts: pd.DataFrame, price: Price, *, policy: SchemaPolicy = "lenient") -> Money:
    """The cost of one vendor's records and spent attempts, rows of the frames.

    An answer without token counts has an unknown cost, so that what is paid for a request or a call leaves it out.
    """
    import pandas as pd

    from vendor_verifier.scoring.table import judged_calls

    useful, wasted = records[records["ok"]], attempts[attempts["billed"]]
    answers, rest = costs_usd(useful, price), costs_usd(wasted, price)
    cost, said = pd.concat([answers, rest]), pd.concat([useful["reported_usd"], wasted["reported_usd"]])
    both = (cost.notna() & said.notna()).to_numpy()
    whole, ours, known = float(cost.sum()), float(cost[both].sum()), records.drop(index=answers.index[answers.isna()])
    calls = int(judged_calls(known["classes"], policy)[0].sum())
    is_priced = answers.isna().mean() <= MOST_DISCARDED if len(answers) else bool(rest.notna().any())
    return Money(
        total_usd=None if len(cost) and cost.isna().all() else whole,
        wasted_usd=None if len(rest) and rest.isna().all() else float(rest.sum()),
        per_1000_requests_usd=1000 * (whole / len(known)) if is_priced else None,
        per_valid_call_usd=whole / calls if is_priced and calls else None,
        requests=len(known),
        # A request that was sent twice may have been billed twice.
        unpriced=int(useful["turns"][answers.isna()].sum() + rest.isna().sum() + records["resent"].sum()),
        reported_ratio=float(said[both].sum()) / ours if ours else None,
        reported=int(both.sum()),
        per_answer_usd=float(answers.mean()) if is_priced and len(answers) else None,
    )


def costs_of_vendors(
    records: pd.DataFrame, attempts: pd.DataFrame, prices: Mapping[tuple[str, str], Price], policy: SchemaPolicy
) -> dict[tuple[str, str], Money]:
    """The cost of every vendor that has a price and records, by (model, label)."""
    found = {}
    for (model, label), price in prices.items():
        own, spent_on = (part[(part["model"] == model) & (part["label"] == label)] for part in (records, attempts))
        if len(own):
            found[model, label] = money(own, spent_on, price, policy=policy)
    return found
