"""Attempts as a run would record them."""

from __future__ import annotations

import json
from typing import Any

from vendor_verifier.records.record import Attempt, Failure, Response, ToolCall


def called(*calls: tuple[str, Any], text: str = "") -> Attempt:
    """An answer with these (name, arguments) calls; arguments that are text go out as they are."""
    made = tuple(
        ToolCall(name, given if isinstance(given, str) else json.dumps(given), f"id{place}")
        for place, (name, given) in enumerate(calls)
    )
    return Attempt(1, response=Response(text=text, tool_calls=made, finish_reason="tool_calls"))


def said(text: str) -> Attempt:
    """An answer in words."""
    return Attempt(1, response=Response(text=text, finish_reason="stop"))


def failed() -> Attempt:
    """No answer."""
    return Attempt(1, failure=Failure("http_5xx", "headers", "HTTP 503", 503))
