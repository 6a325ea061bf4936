"""Token counts in the protocols' vocabularies; what is not reported stays ``None``, it estimates nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.values.event import Usage
from vendor_verifier.wire.payload import as_amount, as_count, as_dict


def chat_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in the chat-completions vocabulary and its common extensions."""
    cached = (
        as_dict(usage.get("prompt_tokens_details")).get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return Usage(
        input=as_count(usage.get("prompt_tokens")),
        output=as_count(usage.get("completion_tokens")),
        cached=next((count for count in map(as_count, cached) if count is not None), None),
        reasoning=as_count(as_dict(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cost_usd=as_amount(usage.get("cost")),
    )


def responses_usage(usage: Mapping[str, Any]) -> Usage:
    """Usage in the Responses vocabulary, or in that of chat completions where a gateway uses it."""
    if "input_tokens" not in usage and "output_tokens" not in usage:
        return chat_usage(usage)
    return Usage(
        input=as_count(usage.get("input_tokens")),
        output=as_count(usage.get("output_tokens")),
        cached=as_count(as_dict(usage.get("input_tokens_details")).get("cached_tokens")),
        reasoning=as_count(as_dict(usage.get("output_tokens_details")).get("reasoning_tokens")),
        cost_usd=as_amount(usage.get("cost")),
    )


def total(counts: Mapping[str, int], *keys: str) -> int | None:
    """The sum of the counts that were reported, ``None`` if none was."""
    found = [counts[key] for key in keys if key in counts]
    return sum(found) if found else None
