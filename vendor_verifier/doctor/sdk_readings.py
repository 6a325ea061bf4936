"""Reads an answer from the items an official SDK yields, as an application would; it neither defends nor repairs.

The code here is meant to be what the SDKs' own guides show, so an attribute that is ``None`` where the guide uses it
raises here as it would there. Items are the SDK's objects, untyped because an SDK is imported only when asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SdkReading:
    """What the application holds in the end; calls are (name, arguments as JSON text)."""

    text: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    finish: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


def read_chat(chunks: Iterable[Any]) -> SdkReading:
    """Chat-completion chunks: text joined, calls gathered by their index, usage from the chunk that has it."""
    reading = SdkReading()
    calls: dict[int, list[str]] = {}
    for chunk in chunks:
        _take_usage(reading, chunk.usage, "prompt_tokens", "completion_tokens")
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        reading.text += choice.delta.content or ""
        for call in choice.delta.tool_calls or []:
            if call.index not in calls:
                calls[call.index] = [call.function.name, ""]
            calls[call.index][1] += call.function.arguments or ""
        reading.finish = choice.finish_reason or reading.finish
    reading.calls = [(name, arguments) for name, arguments in calls.values()]
    return reading


def read_chat_completion(completion: Any) -> SdkReading:
    """The completion that the SDK's own streaming helper put together."""
    choice = completion.choices[0]
    reading = SdkReading(choice.message.content or "", finish=choice.finish_reason)
    reading.calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or []]
    _take_usage(reading, completion.usage, "prompt_tokens", "completion_tokens")
    return reading


def read_completions(chunks: Iterable[Any]) -> SdkReading:
    """Raw completions: text only."""
    reading = SdkReading()
    for chunk in chunks:
        _take_usage(reading, getattr(chunk, "usage", None), "prompt_tokens", "completion_tokens")
        if chunk.choices:
            reading.text += chunk.choices[0].text
            reading.finish = chunk.choices[0].finish_reason or reading.finish
    return reading


def read_responses(events: Iterable[Any]) -> SdkReading:
    """Responses events: text from its deltas, calls and usage from the response that the last event holds."""
    reading = SdkReading()
    for event in events:
        if event.type == "response.output_text.delta":
            reading.text += event.delta
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            reading.finish = event.response.status
            items = event.response.output
            reading.calls = [(item.name, item.arguments) for item in items if item.type == "function_call"]
            _take_usage(reading, event.response.usage, "input_tokens", "output_tokens")
    return reading


def read_messages(events: Iterable[Any]) -> SdkReading:
    """Messages events: blocks by index, usage from the first and the last event that have it."""
    reading = SdkReading()
    calls: dict[int, list[str]] = {}
    usage: dict[str, int] = {}
    for event in events:
        if event.type == "message_start":
            usage.update(_counts(event.message.usage))
        elif event.type == "content_block_start" and event.content_block.type == "tool_use":
            calls[event.index] = [event.content_block.name, ""]
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            reading.text += event.delta.text
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            calls[event.index][1] += event.delta.partial_json
        elif event.type == "message_delta":
            reading.finish = event.delta.stop_reason
            usage.update({name: count for name, count in _counts(event.usage).items() if count})
    reading.calls = [(name, arguments or "{}") for name, arguments in calls.values()]
    _take_message_usage(reading, usage)
    return reading


def read_message(message: Any) -> SdkReading:
    """The message that the SDK's own streaming helper put together."""
    text = "".join(block.text for block in message.content if block.type == "text")
    reading = SdkReading(text, finish=message.stop_reason)
    reading.calls = [(block.name, json.dumps(block.input)) for block in message.content if block.type == "tool_use"]
    _take_message_usage(reading, _counts(message.usage))
    return reading


READERS: Mapping[str, Callable[[Iterable[Any]], SdkReading]] = {
    "openai": read_chat,
    "openai_completions": read_completions,
    "openai_responses": read_responses,
    "anthropic": read_messages,
}


def _take_usage(reading: SdkReading, usage: Any, given: str, got: str) -> None:
    if usage is not None:
        reading.input_tokens = getattr(usage, given)
        reading.output_tokens = getattr(usage, got)


def _counts(usage: Any) -> dict[str, int]:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = {name: getattr(usage, name, None) for name in names}
    return {name: count for name, count in counts.items() if count is not None}


def _take_message_usage(reading: SdkReading, usage: Mapping[str, int]) -> None:
    """Input counts cached tokens too, as the product counts them everywhere."""
    given = [count for name, count in usage.items() if name != "output_tokens"]
    reading.input_tokens = sum(given) if given else None
    reading.output_tokens = usage.get("output_tokens")
