"""Replays recorded answers through the official SDKs, their transport stubbed; nothing is sent."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from vendor_verifier.doctor.sdk_losses import losses
from vendor_verifier.doctor.sdk_readings import READERS, SdkReading, read_chat_completion, read_message
from vendor_verifier.doctor.values import Answer, SdkFinding
from vendor_verifier.run.httpx2_seam import replaying_client
from vendor_verifier.run.sdk_calls import SDK_OF_WIRE, arguments_for, open_stream, sdk_client, sdk_name
from vendor_verifier.run.sdk_client import named_error

_Body = dict[str, Any]
_Route = Callable[[Any, str, _Body], Awaitable[SdkReading]]


async def replay_answers(answers: Sequence[Answer], wire: str) -> tuple[SdkFinding, ...]:
    """Each accepted answer by every route an application has; none for a wire without an official SDK.

    Raises:
        UsageError: the SDK is not installed.
    """
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
    async with replaying_client(answer.exchange) as http:
        sdk = sdk_name(wire)
        try:
            reading = await route(sdk_client(wire, http), wire, body)
        except Exception as error:  # noqa: BLE001 whatever an SDK raises is the finding
            return _raised(answer, sdk, name, error)
    lost = losses(reading, answer.response, answer.failure, wire)
    return SdkFinding(answer.question.name, sdk, name, "loses" if lost else "consistent", lost)


def _raised(answer: Answer, sdk: str, route: str, error: Exception) -> SdkFinding:
    """An exception for an answer that failed is as it should be; for a whole answer it is a crash."""
    words = named_error(error)
    if answer.failure is None:
        return SdkFinding(answer.question.name, sdk, route, "crashes", (words,))
    told = f"raises {words}, and the answer did fail ({answer.failure.kind})"
    return SdkFinding(answer.question.name, sdk, route, "consistent", (told,))


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
