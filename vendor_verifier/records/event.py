"""What an answer consists of, whatever protocol it came over: calls, usage and why it ended."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

FinishReason = Literal["tool_calls", "stop", "length", "content_filter", "error", "unknown"]

# Beyond it JSON's readers disagree on what a number is; as nanoseconds it is a hundred days.
MAX_NUMBER = 2**53
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=MAX_NUMBER)]


class Usage(msgspec.Struct, frozen=True):
    """Tokens as the vendor reports them; ``None`` is "not reported", never zero.

    ``input`` includes cached tokens and ``output`` includes reasoning tokens whatever the wire's own convention.
    ``cost_usd`` is the vendor's own statement of its charge.
    """

    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    reasoning: Count | None = None
    cost_usd: Amount | None = None

    @property
    def total(self) -> int | None:
        """Input plus output tokens, or ``None`` unless both were reported."""
        return None if self.input is None or self.output is None else self.input + self.output


class ToolCall(msgspec.Struct, frozen=True):
    """A finished tool call. ``arguments`` is the JSON text exactly as received ("" when none was sent)."""

    name: str
    arguments: str
    id: str | None = None
    anomalies: tuple[str, ...] = ()
