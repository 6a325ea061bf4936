"""The official OpenAI SDK, a client that knows nothing of this project, reads what the personas send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
import openai
import pytest
from costs import PATIENCE_S
from questions import body
from sdk_bodies import ANSWERING

from vendor_verifier.features.simulate.performance import first_refusals, perform, persona_answer
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.question import Question, question_of
from vendor_verifier.features.simulate.server import SimulatedVendors
from vendor_verifier.values.request import Turn

BODIES = [body(f"What about place {number}?") for number in range(30)] + [
    body("Grüße aus 北京 😀, what now?"),
    body("no tools", tools=[]),
    body("short", max_tokens=3),
    body("named", tool_choice={"type": "function", "function": {"name": "clock.now-utc"}}),
]


def _question(content: dict[str, Any]) -> Question:
    parameters = {key: value for key, value in content.items() if key not in ("model", "messages", "tools")}
    return question_of(Turn(tuple(content["messages"]), tuple(content["tools"]), parameters))


@dataclass
class Heard:
    """What the SDK delivered of one answer."""

    text: str = ""
    calls: dict[int, list[str]] = field(default_factory=dict)
    finish: str | None = None
    models: set[str] = field(default_factory=set)
    usage: Any = None


async def _stream(client: openai.AsyncOpenAI, content: dict[str, Any]) -> Heard:
    heard = Heard()
    chunks = await client.chat.completions.create(**content, stream=True, stream_options={"include_usage": True})
    async for chunk in chunks:
        heard.models.add(chunk.model)
        heard.usage = chunk.usage or heard.usage
        for choice in chunk.choices:
            heard.text += choice.delta.content or ""
            heard.finish = choice.finish_reason or heard.finish
            for call in choice.delta.tool_calls or []:
                name_and_arguments = heard.calls.setdefault(call.index, ["", ""])
                name_and_arguments[0] += (call.function and call.function.name) or ""
                name_and_arguments[1] += (call.function and call.function.arguments) or ""
    return heard


def _run(test: Callable[[SimulatedVendors, Callable[..., openai.AsyncOpenAI]], Awaitable[None]]) -> None:
    async def main() -> None:
        async with (
            SimulatedVendors(speed=20.0) as vendors,
            httpx2.AsyncClient(trust_env=False) as http,
            asyncio.timeout(PATIENCE_S),
        ):

            def client(persona: str, retries: int = 0) -> openai.AsyncOpenAI:
                return openai.AsyncOpenAI(
                    base_url=vendors.base_url(persona), api_key="none", max_retries=retries, http_client=http
                )

            await test(vendors, client)

    asyncio.run(main())


@pytest.mark.parametrize("name", ANSWERING)
def test_streams_are_read_as_they_were_meant(name: str) -> None:
    """Text, reassembled calls, finish, model and usage of every uncut answer are what the persona decided to say."""

    async def check(vendors: SimulatedVendors, client: Callable[..., openai.AsyncOpenAI]) -> None:
        asked = [(content, _question(content)) for content in BODIES]
        whole = [pair for pair in asked if _is_complete(pair[1], name)]
        assert len(whole) > 20
        heard = await asyncio.gather(*(_stream(client(name, 3), content) for content, _ in whole))
        for (content, question), found in zip(whole, heard, strict=True):
            answer = persona_answer(question, PERSONAS[name], 0)
            assert found.text == answer.text
            assert [tuple(found.calls[index]) for index in sorted(found.calls)] == [
                (call.name, call.arguments) for call in answer.calls
            ]
            assert found.finish == answer.finish
            assert found.models == {PERSONAS[name].served_model or content["model"]}
            assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (
                answer.prompt_tokens,
                answer.output_tokens,
            )
            assert found.usage.total_tokens == answer.prompt_tokens + answer.output_tokens

    _run(check)


def _is_complete(question: Question, name: str) -> bool:
    outcome = perform(question, PERSONAS[name], 0, refused=9, asked=1)
    return getattr(outcome, "ending", None) == "complete"


@pytest.mark.parametrize("name", ["faithful", "quantised", "text-leaker", "substitute", "padded"])
def test_whole_answers_are_read_as_they_were_meant(name: str) -> None:
    """Without streaming the same answer comes as one object, with the same bill."""

    async def check(vendors: SimulatedVendors, client: Callable[..., openai.AsyncOpenAI]) -> None:
        for content in BODIES:
            answer = persona_answer(_question(content), PERSONAS[name], 0)
            found = await client(name).chat.completions.create(**content)
            message = found.choices[0].message
            assert (message.content or "") == answer.text
            calls: list[Any] = list(message.tool_calls or [])
            assert [(call.function.name, call.function.arguments) for call in calls] == [
                (call.name, call.arguments) for call in answer.calls
            ]
            assert found.choices[0].finish_reason == answer.finish
            assert found.usage is not None
            assert found.usage.prompt_tokens == answer.prompt_tokens

    _run(check)


def test_usage_comes_only_when_asked_for() -> None:
    """Without ``include_usage`` no chunk mentions usage."""

    async def check(vendors: SimulatedVendors, client: Callable[..., openai.AsyncOpenAI]) -> None:
        chunks = await client("faithful").chat.completions.create(**body("?"), stream=True)
        assert [chunk.usage async for chunk in chunks if chunk.usage] == []

    _run(check)


def test_bursty_is_refused_without_retries_and_answered_with_them() -> None:
    """The SDK sees rate limits and server errors when it may not retry, and none of them when it may."""

    async def check(vendors: SimulatedVendors, client: Callable[..., openai.AsyncOpenAI]) -> None:
        persona = PERSONAS["bursty"]
        refused = [content for content in BODIES if first_refusals(_question(content), persona, 0)]
        assert refused
        for content in refused[:3]:
            with pytest.raises(openai.APIStatusError):
                await client("bursty").chat.completions.create(**content)
        await client("bursty", 3).chat.completions.create(**refused[0])

    _run(check)


def test_cut_streams_end_without_a_finish() -> None:
    """A stream ended early is over without a finish reason or an error; a closed or reset one is an error."""

    async def check(vendors: SimulatedVendors, client: Callable[..., openai.AsyncOpenAI]) -> None:
        seen = set()
        for number in range(200):
            content = body(f"cut {number}")
            outcome = perform(_question(content), PERSONAS["cutter"], 0, refused=0, asked=1)
            ending = getattr(outcome, "ending", "complete")
            if ending == "complete" or ending in seen:
                continue
            seen.add(ending)
            if ending == "early_end":
                assert (await _stream(client("cutter"), content)).finish is None
            else:
                with pytest.raises((openai.APIConnectionError, httpx2.TransportError)):
                    await _stream(client("cutter"), content)
        assert seen == {"early_end", "closed", "reset"}

    _run(check)


@pytest.mark.parametrize(
    ("name", "error"), [("down", openai.InternalServerError), ("locked", openai.AuthenticationError)]
)
def test_refusals_are_the_sdks_own_errors(name: str, error: type[Exception]) -> None:
    """The dead and the locked vendor are recognised by the SDK for what they are."""

    async def check(vendors: SimulatedVendors, client: Callable[..., openai.AsyncOpenAI]) -> None:
        with pytest.raises(error):
            await client(name).chat.completions.create(**body("?"))

    _run(check)


def test_bad_requests_and_models() -> None:
    """A bad parameter is a bad request that names it, and the model list can be read."""

    async def check(vendors: SimulatedVendors, client: Callable[..., openai.AsyncOpenAI]) -> None:
        with pytest.raises(openai.BadRequestError) as caught:
            await client("faithful").chat.completions.create(**body("?", temperature=3))
        assert caught.value.param == "temperature"
        models = await client("faithful").models.list()
        assert [model.id for model in models.data] == ["simulated-model"]

    _run(check)


def test_two_servers_with_one_seed_say_the_same() -> None:
    """What is said depends on the seed and the question, not on the server, the order or the time."""

    async def answers(seed: int, order: int) -> list[str]:
        async with (
            SimulatedVendors(seed=seed, speed=50.0) as vendors,
            httpx2.AsyncClient(trust_env=False) as http,
            openai.AsyncOpenAI(base_url=vendors.base_url("quantised"), api_key="none", http_client=http) as client,
        ):
            said = {}
            for content in BODIES[::order]:
                found = await client.chat.completions.create(**content)
                said[json.dumps(content)] = found.model_dump_json(exclude={"created"})
            return [said[json.dumps(content)] for content in BODIES]

    first, again, other = (asyncio.run(answers(seed, order)) for seed, order in ((3, 1), (3, -1), (4, 1)))
    assert first == again
    assert first != other
