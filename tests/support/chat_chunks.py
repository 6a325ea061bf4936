"""Chunks of chat completions, and what their reader makes of them."""

from __future__ import annotations

from typing import Any

from listening import told

from vendor_verifier.records.event import (
    StreamEvent,
)
from vendor_verifier.wire.assembler import Collected, collect
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader


def stream(*payloads: Any, name: str = "") -> list[StreamEvent]:
    return told(OpenAIChatReader(), *payloads, name=name)


def answer(*payloads: Any) -> Collected:
    return collect(stream(*payloads), streamed=True)


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


def call(index: Any = 0, id: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
