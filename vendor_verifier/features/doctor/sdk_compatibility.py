"""The replay of recorded answers through official SDKs, and the comparison with our own reading.

The code here is meant to be what the SDKs' own guides show, so an attribute that is ``None`` where the guide uses it
raises here as it would there. Items are the SDK's objects, untyped because an SDK is imported only when asked for.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import anyio
import msgspec
from msgspec import structs

from vendor_verifier.features.doctor.values import Answer, SdkFinding, SdkPart
from vendor_verifier.transport.sdk_adapter import (
    SDK_OF_WIRE,
    arguments_for,
    open_stream,
    replaying_client,
    sdk_client,
    sdk_name,
)
from vendor_verifier.transport.sdk_client import named_error
from vendor_verifier.values.record import Exchange, Failure, Response
from vendor_verifier.wire.payload import PayloadError, parse_json
from vendor_verifier.words import Sentence, english


class SdkReading(msgspec.Struct):
    """The answer as an application on the SDK receives it; calls are (name, arguments as JSON text)."""

    text: str = ""
    calls: list[tuple[str, str]] = msgspec.field(default_factory=list)
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


_SHOWN = 60
# An honest answer to a tiny question is a tenth of it and takes milliseconds. Some that a hostile vendor may send take
# an SDK's helper minutes, because its work grows with the square of the calls.
MAX_REPLAYED_BYTES = 256 * 1024
MAX_REPLAY_S = 20.0
_PIECE_BYTES = 1024
_PARTS: Mapping[str, SdkPart] = {
    "sdk_text": "text",
    "sdk_calls": "calls",
    "sdk_call_name": "calls",
    "sdk_call_arguments": "calls",
    "sdk_finish": "finish",
    "sdk_usage_input": "usage",
    "sdk_usage_output": "usage",
    "sdk_no_exception": "failure",
}


def losses(reading: SdkReading, response: Response | None, failure: Failure | None, wire: str) -> tuple[Sentence, ...]:
    """The differences between the SDK's reading of an answer and ours; empty when both agree.

    A failure that the SDK did not raise is a loss too: the application takes a cut or refused answer for a whole one.
    Raw completions are compared by text alone, because calls in them are ours to find, not the SDK's.
    """
    return tuple(_losses(reading, response, failure, wire))


def _losses(reading: SdkReading, response: Response | None, failure: Failure | None, wire: str) -> Iterator[Sentence]:
    if failure is not None:
        yield english("sdk_no_exception", kind=failure.kind, message=failure.message[:_SHOWN])
    if response is None:
        return
    is_raw = wire == "openai_completions"
    if not is_raw and reading.text != response.text:
        yield english("sdk_text", held=_shown(reading.text), expected=_shown(response.text))
    if not is_raw:
        yield from _call_losses(reading.calls, [(call.name, call.arguments) for call in response.tool_calls])
    if response.finish_reason is not None and reading.finish is None:
        yield english("sdk_finish")
    usage = response.usage
    for name, expected, held in (
        ("input", usage.input if usage else None, reading.input_tokens),
        ("output", usage.output if usage else None, reading.output_tokens),
    ):
        if expected is not None and held != expected:
            held_words = english("sdk_none") if held is None else held
            yield english(f"sdk_usage_{name}", held=held_words, expected=expected)


def _call_losses(held: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]]) -> Iterator[Sentence]:
    if len(held) != len(expected):
        yield english("sdk_calls", held=len(held), expected=len(expected))
        return
    for number, ((held_name, held_arguments), (name, arguments)) in enumerate(zip(held, expected, strict=True), 1):
        if held_name != name:
            yield english("sdk_call_name", number=number, held=_shown(held_name), expected=_shown(name))
        if not _same_json(held_arguments, arguments):
            held_shown, shown = _shown(held_arguments), _shown(arguments)
            yield english("sdk_call_arguments", number=number, held=held_shown, expected=shown)


def _same_json(held: str, expected: str) -> bool:
    """Whether arguments are equal as JSON or as text; no arguments and an empty object are the same to a tool."""
    try:
        return bool(parse_json(held or "{}") == parse_json(expected or "{}"))
    except PayloadError:
        return held == expected


def _shown(text: str | None) -> str:
    if text is None:
        return english("sdk_nothing")
    return repr(text) if len(text) <= _SHOWN else english("sdk_cut", text=repr(text[:_SHOWN]), size=len(text))


_Body = dict[str, Any]
_Route = Callable[[Any, str, _Body], Awaitable[SdkReading]]


async def replay_answers(answers: Sequence[Answer], wire: str) -> tuple[SdkFinding, ...]:
    """Each accepted answer by every route an application has; none for a wire without an official SDK."""
    if wire not in SDK_OF_WIRE:
        return ()
    return tuple([
        await _replay(answer, wire, route, name)
        for answer in answers
        if answer.accepted
        for name, route in _routes(wire)
    ])  # fmt: skip


def _routes(wire: str) -> tuple[tuple[str, _Route], ...]:
    if wire == "openai":
        return (("create(stream=True)", _events), ("stream()", _chat_helper))
    if wire == "anthropic":
        return (("create(stream=True)", _events), ("stream()", _messages_helper))
    return (("create(stream=True)", _events),)


async def _replay(answer: Answer, wire: str, route: _Route, name: str) -> SdkFinding:
    body: _Body = json.loads(answer.request.body)
    size = sum(len(chunk) for _, chunk in answer.exchange.chunks)
    if size > MAX_REPLAYED_BYTES:
        words = english("sdk_not_read", size=size, most=MAX_REPLAYED_BYTES)
        return SdkFinding(answer.question.name, sdk_name(wire), name, "too_long", (words,))
    sdk = sdk_name(wire)
    async with replaying_client(_in_pieces(answer.exchange)) as http:
        try:
            with anyio.fail_after(MAX_REPLAY_S) as limit:
                reading = await route(sdk_client(wire, http), wire, body)
        except Exception as error:  # noqa: BLE001 whatever an SDK raises is the finding
            if limit.cancelled_caught:
                words = english("sdk_too_slow", seconds=f"{MAX_REPLAY_S:g}")
                return SdkFinding(answer.question.name, sdk, name, "too_long", (words,))
            return _raised(answer, sdk, name, error)
    lost = losses(reading, answer.response, answer.failure, wire)
    parts = tuple(dict.fromkeys(_PARTS[words.name] for words in lost))
    return SdkFinding(answer.question.name, sdk, name, "loses" if lost else "consistent", lost, parts)


def _in_pieces(exchange: Exchange) -> Exchange:
    """The same bytes in small pieces: between two of them an SDK that takes too long can be stopped."""
    whole = exchange.body
    pieces = [(0, whole[start : start + _PIECE_BYTES]) for start in range(0, len(whole), _PIECE_BYTES)]
    return structs.replace(exchange, chunks=pieces)


def _raised(answer: Answer, sdk: str, route: str, error: Exception) -> SdkFinding:
    """The finding for an exception of the SDK: expected for an answer that failed, a crash for a whole one."""
    words = named_error(error)
    if answer.failure is None:
        return SdkFinding(answer.question.name, sdk, route, "crashes", (words,))
    text = english("sdk_raises", error=words, kind=answer.failure.kind)
    return SdkFinding(answer.question.name, sdk, route, "consistent", (text,))


async def _events(client: Any, wire: str, body: _Body) -> SdkReading:
    stream = await open_stream(client, wire, body)
    return READERS[wire]([item async for item in stream])


async def _chat_helper(client: Any, _wire: str, body: _Body) -> SdkReading:
    """The helper takes only strict tools; what it makes of the answer does not depend on them."""
    stream = client.chat.completions.stream
    asked = {name: value for name, value in body.items() if name not in ("tools", "tool_choice", "stream")}
    async with stream(**arguments_for(stream, asked)) as events:
        return read_chat_completion(await events.get_final_completion())


async def _messages_helper(client: Any, _wire: str, body: _Body) -> SdkReading:
    stream = client.messages.stream
    asked = {name: value for name, value in body.items() if name != "stream"}
    async with stream(**arguments_for(stream, asked)) as events:
        return read_message(await events.get_final_message())
