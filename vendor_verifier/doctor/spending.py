"""What an examination used up: tokens as reported, else estimated, and their cost where a price is known; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.doctor.values import Answer, Spending
from vendor_verifier.values.record import Response

CHARACTERS_PER_TOKEN = 4
_MILLION = 1_000_000


def spending(answers: Sequence[Answer], price: Mapping[str, Any] | None) -> Spending:
    """Sum over all requests that the vendor took; refused ones cost nothing.

    Cost in US dollars: what the vendor reports for each answer, else (input × price.input + output × price.output) per
    million tokens plus price.request, times price.rate. Without ``currency`` prices are US dollars; a foreign currency
    without a rate gives no cost.
    """
    taken = [answer for answer in answers if answer.accepted]
    tokens = [_tokens(answer) for answer in taken]
    costs = [_cost(answer, (given, got), price) for answer, (given, got, _) in zip(taken, tokens, strict=True)]
    return Spending(
        requests=sum(bool(answer.exchange.sent_at) for answer in answers),
        input_tokens=sum(given for given, _, _ in tokens),
        output_tokens=sum(got for _, got, _ in tokens),
        estimated=any(estimated for _, _, estimated in tokens),
        cost_usd=sum(cost for cost in costs if cost is not None) if None not in costs else None,
    )


def _tokens(answer: Answer) -> tuple[int, int, bool]:
    usage = answer.response.usage if answer.response is not None else None
    if usage is not None and usage.input is not None and usage.output is not None:
        return usage.input, usage.output, False
    said = _characters(answer.response) if answer.response is not None else 0
    return -(-len(answer.request.body) // CHARACTERS_PER_TOKEN), -(-said // CHARACTERS_PER_TOKEN), True


def _characters(response: Response) -> int:
    calls = sum(len(call.name) + len(call.arguments) for call in response.tool_calls)
    return len(response.text) + len(response.reasoning) + calls


def _cost(answer: Answer, tokens: tuple[int, int], price: Mapping[str, Any] | None) -> float | None:
    usage = answer.response.usage if answer.response is not None else None
    if usage is not None and usage.cost_usd is not None:
        return usage.cost_usd
    if price is None or price.get("input") is None or price.get("output") is None:
        return None
    rate = price.get("rate")
    if rate is None:
        if price.get("currency") not in (None, "USD"):
            return None
        rate = 1.0
    in_currency = (tokens[0] * price["input"] + tokens[1] * price["output"]) / _MILLION + (price.get("request") or 0.0)
    return float(in_currency * rate)
