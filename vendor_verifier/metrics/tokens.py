"""input_tokens, output_tokens and total_tokens, by usage that can be believed.

A zero where something was certainly sent or received reads as "not reported": hosts without token counting send zeros,
and taken at their word they would win every comparison of cost.
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, total_over_turns
from vendor_verifier.values.event import Usage
from vendor_verifier.values.record import Attempt, Record, Response

NOTHING_REPORTED = Usage()


def reported_usage(attempt: Attempt) -> Usage:
    """The attempt's usage with impossible zeros taken as absent; all ``None`` when there was none."""
    response = attempt.response
    if response is None or response.usage is None:
        return NOTHING_REPORTED
    usage = response.usage
    if usage.input != 0 and (usage.output != 0 or not said_something(response)):
        return usage
    output = None if usage.output == 0 and said_something(response) else usage.output
    return Usage(usage.input or None, output, usage.cached, usage.reasoning, usage.cost_usd)


def zero_usage(attempt: Attempt) -> bool:
    """Whether a count was refused because it was an impossible zero."""
    usage = None if attempt.response is None else attempt.response.usage
    if usage is None:
        return False
    believed = reported_usage(attempt)
    return (believed.input, believed.output) != (usage.input, usage.output)


def said_something(response: Response) -> bool:
    """Whether the answer holds anything that costs output tokens."""
    return bool(response.text or response.reasoning or response.tool_calls)


def input_tokens(record: Record) -> float | None:
    """Tokens; ``None`` unless every turn's answer reported them."""
    return total_over_turns(record, lambda attempt: reported_usage(attempt).input)


INPUT_TOKENS = Metric("input_tokens", "lower", "tokens", input_tokens)


def output_tokens(record: Record) -> float | None:
    """Tokens; ``None`` unless every turn's answer reported them."""
    return total_over_turns(record, lambda attempt: reported_usage(attempt).output)


OUTPUT_TOKENS = Metric("output_tokens", "lower", "tokens", output_tokens)


def total_tokens(record: Record) -> float | None:
    """Tokens; ``None`` unless every turn's answer reported them."""
    return total_over_turns(record, lambda attempt: reported_usage(attempt).total)


TOTAL_TOKENS = Metric("total_tokens", "lower", "tokens", total_tokens)
