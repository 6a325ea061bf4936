"""The official OpenAI SDK reads Responses and raw completions as the personas mean them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import openai
import pytest
from costs import PATIENCE_S
from plain_template import plain_template
from sdk_bodies import ANSWERING, CONTENTS, Heard, content, expected, performed, question, uncut

from vendor_verifier.features.simulate.performance import first_refusals
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.server import SimulatedVendors
from vendor_verifier.features.simulate.wires.completions import written
from vendor_verifier.values.request import Turn

Client = Callable[..., openai.AsyncOpenAI]


def _run(test: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with (
            SimulatedVendors(speed=20.0) as vendors,
            httpx2.AsyncClient(trust_env=False) as http,
            asyncio.timeout(PATIENCE_S),
        ):

            def client(persona: str, retries: int = 0) -> openai.AsyncOpenAI:
                url = vendors.base_url(persona)
                return openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=retries, http_client=http)

            await test(client)

    asyncio.run(main())


def _responses_body(chat_body: dict[str, Any]) -> dict[str, Any]:
    """The same question in the words of Responses, as the SDK's documentation has them."""
    tools = [{"type": "function", **tool["function"]} for tool in chat_body["tools"]]
    choice = chat_body.get("tool_choice", "auto")
    return {
        "model": chat_body["model"],
        "input": chat_body["messages"][0]["content"],
        "tools": tools,
        "tool_choice": choice if isinstance(choice, str) else {"type": "function", **choice["function"]},
        "max_output_tokens": chat_body.get("max_tokens"),
    }


def _heard(response: Any) -> Heard:
    calls = [(item.name, item.arguments) for item in response.output if item.type == "function_call"]
    finish = {"completed": "tool_calls" if calls else "stop", "incomplete": "length"}.get(response.status)
    tokens = (response.usage.input_tokens, response.usage.output_tokens)
    return Heard(response.output_text, calls, finish, response.model, tokens)


@pytest.mark.parametrize("name", ANSWERING)
def test_responses_streams_are_read_as_they_were_meant(name: str) -> None:
    """The final response is what the persona decided over chat, and the deltas before it add up to the same."""

    async def ask(client: Client, chat_body: dict[str, Any]) -> None:
        text, arguments, numbers = "", {}, []
        response = None
        async for event in await client(name, 3).responses.create(**_responses_body(chat_body), stream=True):
            numbers.append(event.sequence_number)
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                arguments[event.output_index] = ""
            elif event.type == "response.function_call_arguments.delta":
                arguments[event.output_index] += event.delta
            elif event.type in ("response.completed", "response.incomplete"):
                response = event.response
        heard = _heard(response)
        assert heard == expected(chat_body, name)
        assert (text, list(arguments.values())) == (heard.text, [said for _, said in heard.calls])
        assert numbers == list(range(len(numbers)))

    async def check(client: Client) -> None:
        await asyncio.gather(*(ask(client, chat_body) for chat_body in uncut(name)))

    _run(check)


@pytest.mark.parametrize("name", ["faithful", "quantised", "substitute"])
def test_whole_responses_and_the_stream_helper_agree(name: str) -> None:
    """One response object, and the SDK's own accumulator over a stream, hold what the persona decided."""

    async def check(client: Client) -> None:
        for chat_body in CONTENTS[-9:]:
            asked = _responses_body(chat_body)
            assert _heard(await client(name).responses.create(**asked)) == expected(chat_body, name)
            if expected(chat_body, name).finish != "length":
                async with client(name).responses.stream(**asked) as stream:
                    assert _heard(await stream.get_final_response()) == expected(chat_body, name)

    _run(check)


@pytest.mark.parametrize(
    ("name", "family"), [(name, "hermes") for name in ANSWERING] + [("faithful", "kimi"), ("quantised", "glm")]
)
def test_completions_streams_are_read_as_they_were_meant(name: str, family: str) -> None:
    """The text is the answer in the markup of the family that the prompt asks for."""

    async def ask(client: Client, chat_body: dict[str, Any]) -> None:
        turn = Turn(tuple(chat_body["messages"]), tuple(chat_body["tools"]))
        stream = await client(name, 3).completions.create(
            model="m", prompt=plain_template(family)(turn), max_tokens=chat_body.get("max_tokens", 4096), stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        text, finish, usage = "", None, None
        async for chunk in stream:
            usage = chunk.usage or usage
            assert chunk.model == (PERSONAS[name].served_model or "m")
            for choice in chunk.choices:
                text += choice.text
                finish = choice.finish_reason or finish
        answer = performed(chat_body, name).answer
        assert text == written(answer, family)
        assert finish == ("length" if answer.finish == "length" else "stop")
        assert usage is not None
        assert (usage.prompt_tokens, usage.completion_tokens) == (answer.prompt_tokens, answer.output_tokens)

    async def check(client: Client) -> None:
        free = [chat_body for chat_body in uncut(name) if "tool_choice" not in chat_body]
        assert len(free) > 10
        await asyncio.gather(*(ask(client, chat_body) for chat_body in free))

    _run(check)


def test_refusals_are_the_sdks_own_errors_over_every_path() -> None:
    """Dead, locked and bursty vendors raise what the SDK has for them, and retries get past the bursty one."""

    async def check(client: Client) -> None:
        for name, error in (("down", openai.InternalServerError), ("locked", openai.AuthenticationError)):
            with pytest.raises(error):
                await client(name).responses.create(model="m", input="?")
            with pytest.raises(error):
                await client(name).completions.create(model="m", prompt="?")
        refused = [item for item in CONTENTS if first_refusals(question(item), PERSONAS["bursty"], 0)]
        assert refused
        with pytest.raises(openai.APIStatusError):
            await client("bursty").responses.create(**_responses_body(refused[0]))
        await client("bursty", 3).responses.create(**_responses_body(refused[0]))
        with pytest.raises(openai.BadRequestError) as caught:
            await client("faithful").responses.create(model="m", input="?", temperature=3)
        assert caught.value.param == "temperature"

    _run(check)


def test_a_cut_responses_stream_has_no_final_response() -> None:
    """A stream ended early never completes; a closed or reset one is an error."""

    async def events(client: Client, chat_body: dict[str, Any]) -> list[str]:
        stream = await client("cutter").responses.create(**_responses_body(chat_body), stream=True)
        return [event.type async for event in stream]

    async def check(client: Client) -> None:
        seen = set()
        for chat_body in (content(f"cut {number}") for number in range(200)):
            ending = performed(chat_body, "cutter").ending
            if ending == "complete" or ending in seen:
                continue
            seen.add(ending)
            if ending == "early_end":
                kinds = await events(client, chat_body)
                assert kinds[0] == "response.created"
                assert "response.completed" not in kinds
            else:
                with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
                    await events(client, chat_body)
        assert seen == {"early_end", "closed", "reset"}

    _run(check)
