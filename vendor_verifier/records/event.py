"""The events of a vendor's answer, normalised: independent of how the wire spelled them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

FinishReason = Literal["tool_calls", "stop", "length", "content_filter", "error", "unknown"]

# Beyond it JSON's readers disagree on what a number is; as nanoseconds it is a hundred days.
MAX_NUMBER = 2**53
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=MAX_NUMBER)]


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer's text."""

    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    """A piece of the model's visible reasoning."""

    text: str


class ToolCallDelta(msgspec.Struct, frozen=True):
    """A piece of a tool call as the vendor sent it; ``None`` where the vendor sent nothing.

    ``arguments`` is a JSON fragment to append, or a whole mapping from vendors that send objects. ``id`` is ``""`` only
    where a call began under an empty one. ``is_legacy``: it stood in the old ``function_call`` field. ``is_whole``: the
    protocol gives calls in one piece only.
    """

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | Mapping[str, Any] | None = None
    is_legacy: bool = False
    is_whole: bool = False


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


class Finish(msgspec.Struct, frozen=True):
    """The end of the model's answer. ``raw`` is the vendor's own word, ``reason`` the field's."""

    reason: FinishReason
    raw: str | None = None


class StreamEnd(msgspec.Struct, frozen=True):
    """The protocol's end marker (``[DONE]``, ``message_stop`` …)."""


class Identity(msgspec.Struct, frozen=True):
    """The identity of the answering host; later non-empty values win. ``native_finish_reason`` is a router's upstream
    word."""

    model: str | None = None
    provider: str | None = None
    fingerprint: str | None = None
    response_id: str | None = None
    native_finish_reason: str | None = None


class Fault(msgspec.Struct, frozen=True):
    """An error inside a 200 answer. ``code`` is the vendor's, ``status`` the HTTP status it stands for if known."""

    message: str
    code: str | None = None
    status: int | None = None


class Anomaly(msgspec.Struct, frozen=True):
    """A departure from the standard that did not stop the reading, by name (see docs/metrics.md)."""

    name: str


class Lost(msgspec.Struct, frozen=True):
    """An event that cannot be read although it started as JSON: a piece of the answer is missing; ``why`` in words."""

    why: str


class Parsed(msgspec.Struct, frozen=True):
    """The meaning of raw text once it was whole (raw completions, where the markup is the protocol).

    Replaces all text, reasoning and calls so far. It brings no tokens: those came as deltas.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()


StreamEvent = (
    TextDelta | ReasoningDelta | ToolCallDelta | Usage | Finish | StreamEnd | Identity | Fault | Anomaly | Lost | Parsed
)


class SseEvent(msgspec.Struct, frozen=True):
    """One server-sent event: its ``event:`` name ("" when absent) and its joined ``data:`` lines."""

    data: str
    name: str = ""


class ToolCall(msgspec.Struct, frozen=True):
    """A finished tool call. ``arguments`` is the JSON text exactly as received ("" when none was sent)."""

    name: str
    arguments: str
    id: str | None = None
    anomalies: tuple[str, ...] = ()
