"""The official Anthropic SDK, a client that knows nothing of this project, reads what the personas send."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import httpx2
import pytest
from costs import PATIENCE_S
from sdk_bodies import ANSWERING, CONTENTS, Heard, content, expected, json_object, performed, question, uncut

from vendor_verifier.features.simulate.performance import first_refusals
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.server import SimulatedVendors

Client = Callable[..., anthropic.AsyncAnthropic]
FINISHES = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}


def _run(test: Callable[[SimulatedVendors, Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with (
            SimulatedVendors(speed=20.0) as vendors,
            httpx2.AsyncClient(trust_env=False) as http,
            asyncio.timeout(PATIENCE_S),
        ):

            def client(persona: str, retries: int = 0) -> anthropic.AsyncAnthropic:
                url = vendors.base_url(persona).removesuffix("/v1")
                return anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=retries, http_client=http)

            await test(vendors, client)

    asyncio.run(main())


def _messages_body(chat_body: dict[str, Any]) -> dict[str, Any]:
    """The same question in the words of Messages, as the SDK's documentation has them."""
    functions = [tool["function"] for tool in chat_body["tools"]]
    choice = chat_body.get("tool_choice")
    asked: dict[str, Any] = {
        "model": chat_body["model"],
        "max_tokens": chat_body.get("max_tokens", 1024),
        "messages": chat_body["messages"],
        "tools": [
            {"name": tool["name"], "description": tool.get("description", ""), "input_schema": tool["parameters"]}
            for tool in functions
        ],
    }
    if isinstance(choice, dict):
        asked["tool_choice"] = {"type": "tool", "name": choice["function"]["name"]}
    elif choice is not None:
        asked["tool_choice"] = {"type": {"required": "any"}.get(choice, choice)}
    return asked


async def _stream(client: anthropic.AsyncAnthropic, chat_body: dict[str, Any]) -> Heard:
    text, calls, finish, model, prompt, output = "", [], None, None, 0, 0
    async for event in await client.messages.create(**_messages_body(chat_body), stream=True):
        if event.type == "message_start":
            model, prompt = event.message.model, event.message.usage.input_tokens
        elif event.type == "content_block_start" and event.content_block.type == "tool_use":
            calls.append([event.content_block.name, ""])
        elif event.type == "content_block_delta" and event.delta.type == "text_delta":
            text += event.delta.text
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            calls[-1][1] += event.delta.partial_json
        elif event.type == "message_delta":
            finish, output = event.delta.stop_reason, event.usage.output_tokens
    said = [(name, arguments) for name, arguments in calls]
    return Heard(text, said, FINISHES.get(finish or ""), model, (prompt, output))


def _objects(heard: Heard) -> tuple[str, list[Any], str | None, str | None, tuple[int, int]]:
    """The same with arguments as objects, empty where they are no JSON."""
    calls = [(name, json_object(arguments) or {}) for name, arguments in heard.calls]
    return heard.text, calls, heard.finish, heard.model, heard.tokens


def _message(message: Any) -> tuple[str, list[Any], str | None, str | None, tuple[int, int]]:
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    tokens = (message.usage.input_tokens, message.usage.output_tokens)
    return text, calls, FINISHES.get(message.stop_reason), message.model, tokens


@pytest.mark.parametrize("name", ANSWERING)
def test_streams_are_read_as_they_were_meant(name: str) -> None:
    """Text, arguments, stop reason, model and usage of every uncut answer are what the persona decided over chat."""

    async def check(vendors: SimulatedVendors, client: Client) -> None:
        asked = uncut(name)
        heard = await asyncio.gather(*(_stream(client(name, 3), chat_body) for chat_body in asked))
        for chat_body, found in zip(asked, heard, strict=True):
            assert found == expected(chat_body, name)

    _run(check)


@pytest.mark.parametrize("name", ["faithful", "quantised", "substitute", "text-leaker"])
def test_whole_messages_are_read_as_they_were_meant(name: str) -> None:
    """Without streaming the same answer comes as one message; arguments that are no JSON are an empty object."""

    async def check(vendors: SimulatedVendors, client: Client) -> None:
        for chat_body in CONTENTS[-11:]:
            message = await client(name).messages.create(**_messages_body(chat_body))
            assert _message(message) == _objects(expected(chat_body, name))
            assert message.id.startswith("gen-" if name == "substitute" else "msg_")

    _run(check)


def test_the_stream_helper_puts_a_message_together() -> None:
    """The SDK's own accumulator gives the message that would have come whole."""

    async def check(vendors: SimulatedVendors, client: Client) -> None:
        for chat_body in CONTENTS[-11:]:
            if chat_body.get("max_tokens"):
                continue  # it refuses to guess at arguments that were cut off
            async with client("faithful").messages.stream(**_messages_body(chat_body)) as stream:
                assert _message(await stream.get_final_message()) == _objects(expected(chat_body, "faithful"))

    _run(check)


def test_a_talk_with_tools_goes_on() -> None:
    """What the vendor called can be sent back with its results, and a stop sequence is named when it ends the text."""

    async def check(vendors: SimulatedVendors, client: Client) -> None:
        asked = _messages_body(content("must", tool_choice="required"))
        first = await client("faithful").messages.create(**asked)
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "grey"}
            for block in first.content
            if block.type == "tool_use"
        ]
        more = [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
        asked = {**asked, "messages": [*asked["messages"], *more], "tool_choice": {"type": "none"}}
        second = await client("faithful").messages.create(**asked, stop_sequences=["."])
        assert (second.stop_reason, second.stop_sequence) == ("stop_sequence", ".")
        asked["messages"] = asked["messages"][:-1]
        with pytest.raises(anthropic.BadRequestError, match="tool_result"):
            await client("faithful").messages.create(**asked)

    _run(check)


def test_refusals_are_the_sdks_own_errors() -> None:
    """Dead, locked, overloaded and rate-limiting vendors raise what the SDK has for each; retries get past them."""

    async def check(vendors: SimulatedVendors, client: Client) -> None:
        asked = _messages_body(CONTENTS[0])
        with pytest.raises(anthropic.InternalServerError):
            await client("down").messages.create(**asked)
        with pytest.raises(anthropic.AuthenticationError) as locked:
            await client("locked").messages.create(**asked)
        assert locked.value.body["error"]["type"] == "authentication_error"
        seen = set()
        for chat_body in (content(f"burst {number}") for number in range(60)):
            if not first_refusals(question(chat_body), PERSONAS["bursty"], 0):
                continue
            with pytest.raises(anthropic.APIStatusError) as refused:
                await client("bursty").messages.create(**_messages_body(chat_body))
            seen.add((refused.value.status_code, refused.value.body["error"]["type"]))
        assert seen == {(429, "rate_limit_error"), (529, "overloaded_error"), (500, "api_error")}
        await client("bursty", 3).messages.create(**asked)

    _run(check)


def test_a_cut_stream_has_no_stop_reason() -> None:
    """A stream ended early is over without a stop reason or an error; a closed or reset one is an error."""

    async def check(vendors: SimulatedVendors, client: Client) -> None:
        seen = set()
        for chat_body in (content(f"cut {number}") for number in range(200)):
            ending = performed(chat_body, "cutter").ending
            if ending == "complete" or ending in seen:
                continue
            seen.add(ending)
            if ending == "early_end":
                assert (await _stream(client("cutter"), chat_body)).finish is None
            else:
                with pytest.raises((anthropic.APIConnectionError, httpx2.TransportError)):
                    await _stream(client("cutter"), chat_body)
        assert seen == {"early_end", "closed", "reset"}

    _run(check)


def test_either_way_of_giving_the_key_is_taken() -> None:
    """The key comes as a bearer token or in ``x-api-key``, as the client has it; the model list can be read."""

    async def check(vendors: SimulatedVendors, client: Client) -> None:
        url = vendors.base_url("faithful").removesuffix("/v1")
        async with httpx2.AsyncClient(trust_env=False) as http:
            for headers in ({"x-api-key": "none"}, {"authorization": "Bearer none"}):
                body = _messages_body(CONTENTS[0])
                assert (await http.post(f"{url}/v1/messages", json=body, headers=headers)).status_code == 200
        assert [model.id async for model in client("faithful").models.list()] == ["simulated-model"]

    _run(check)
