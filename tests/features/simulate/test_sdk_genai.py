"""The official google-genai SDK, a client that knows nothing of this project, reads what the personas send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from costs import PATIENCE_S
from sdk_bodies import ANSWERING, CONTENTS, Heard, content, expected, json_object, performed, question, uncut

from vendor_verifier.features.simulate.performance import first_refusals
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.server import SimulatedVendors

genai = pytest.importorskip("google.genai", reason="google-genai is not installed")
types = genai.types
FINISHES = {"STOP": "stop", "MAX_TOKENS": "length", "MALFORMED_FUNCTION_CALL": "malformed"}


@asynccontextmanager
async def _client(vendors: SimulatedVendors, persona: str, http: httpx2.AsyncClient) -> AsyncIterator[Any]:
    options = types.HttpOptions(
        base_url=vendors.base_url(persona).removesuffix("/v1"), api_version="v1beta", httpx_async_client=http
    )
    client = genai.Client(api_key="none", http_options=options)
    try:
        yield client.aio.models
    finally:
        client.close()


def _run(test: Callable[[SimulatedVendors, httpx2.AsyncClient], Awaitable[None]]) -> None:
    async def main() -> None:
        async with (
            SimulatedVendors(speed=20.0) as vendors,
            httpx2.AsyncClient(trust_env=False) as http,
            asyncio.timeout(PATIENCE_S),
        ):
            await test(vendors, http)

    asyncio.run(main())


def _config(chat_body: dict[str, Any]) -> Any:
    """Tools, choice and budget of the same question, as the SDK's documentation has them."""
    functions = [tool["function"] for tool in chat_body["tools"]]
    declarations = [
        types.FunctionDeclaration(
            name=tool["name"], description=tool.get("description"), parameters_json_schema=tool["parameters"]
        )
        for tool in functions
    ]
    choice = chat_body.get("tool_choice", "auto")
    mode = {"auto": "AUTO", "none": "NONE"}.get(choice, "ANY") if isinstance(choice, str) else "ANY"
    allowed = None if isinstance(choice, str) else [choice["function"]["name"]]
    calling = types.FunctionCallingConfig(mode=mode, allowed_function_names=allowed)
    return types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declarations)] if declarations else None,
        tool_config=types.ToolConfig(function_calling_config=calling) if declarations else None,
        max_output_tokens=chat_body.get("max_tokens"),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )


def _asked(chat_body: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": chat_body["model"],
        "contents": chat_body["messages"][0]["content"],
        "config": _config(chat_body),
    }


def _put_together(chunks: list[Any]) -> tuple[str, list[Any], str | None, str | None, tuple[int, int] | None]:
    text, calls, finish, tokens = "", [], None, None
    for chunk in chunks:
        candidate = chunk.candidates[0]
        for part in candidate.content.parts:
            text += part.text or ""
            if part.function_call is not None:
                calls.append((part.function_call.name, part.function_call.args))
        if candidate.finish_reason is not None:
            finish = FINISHES[candidate.finish_reason.value]
        if chunk.usage_metadata is not None:
            tokens = (chunk.usage_metadata.prompt_token_count, chunk.usage_metadata.candidates_token_count)
    return text, calls, finish, chunks[-1].model_version if chunks else None, tokens


def _in_geminis_words(heard: Heard) -> tuple[str, list[Any], str | None, str | None, tuple[int, int]]:
    """Calls are objects; one that is no JSON spoils the answer, unless the budget cut it off."""
    calls = [(name, json_object(arguments)) for name, arguments in heard.calls]
    broken = any(arguments is None for _, arguments in calls)
    finish = heard.finish if heard.finish == "length" else "malformed" if broken else "stop"
    kept = [call for call in calls if call[1] is not None] if finish != "malformed" else []
    return heard.text, kept, finish, heard.model, heard.tokens


@pytest.mark.parametrize("name", [name for name in ANSWERING if name != "bursty"])
def test_streams_are_read_as_they_were_meant(name: str) -> None:
    """Text, calls, finish, model and usage of every uncut answer are what the persona decided over chat."""

    async def check(vendors: SimulatedVendors, http: httpx2.AsyncClient) -> None:
        async with _client(vendors, name, http) as models:

            async def stream(chat_body: dict[str, Any]) -> list[Any]:
                return [chunk async for chunk in await models.generate_content_stream(**_asked(chat_body))]

            asked = uncut(name)
            heard = await asyncio.gather(*map(stream, asked))
            for chat_body, chunks in zip(asked, heard, strict=True):
                assert _put_together(chunks) == _in_geminis_words(expected(chat_body, name))

    _run(check)


@pytest.mark.parametrize("name", ["faithful", "quantised", "substitute"])
def test_whole_answers_are_read_as_they_were_meant(name: str) -> None:
    """Without streaming the same answer comes as one object."""

    async def check(vendors: SimulatedVendors, http: httpx2.AsyncClient) -> None:
        async with _client(vendors, name, http) as models:
            for chat_body in CONTENTS[-11:]:
                found = await models.generate_content(**_asked(chat_body))
                assert _put_together([found]) == _in_geminis_words(expected(chat_body, name))
            assert [model.name async for model in await models.list()] == [
                f"models/{PERSONAS[name].served_model or 'simulated-model'}"
            ]

    _run(check)


def test_a_call_that_is_no_json_is_malformed() -> None:
    """The quantised vendor's broken arguments are Gemini's ``MALFORMED_FUNCTION_CALL``, without any call."""

    async def check(vendors: SimulatedVendors, http: httpx2.AsyncClient) -> None:
        async with _client(vendors, "quantised", http) as models:
            for chat_body in (content(f"spoilt {number}") for number in range(400)):
                calls = performed(chat_body, "quantised").answer.calls
                if all(json_object(call.arguments) is not None for call in calls):
                    continue
                found = await models.generate_content(**_asked(chat_body))
                assert found.candidates[0].finish_reason.value == "MALFORMED_FUNCTION_CALL"
                assert not found.function_calls
                return
        raise AssertionError("no broken arguments in 400 questions")

    _run(check)


def test_a_chat_with_tools_goes_on() -> None:
    """What the vendor called can be sent back with its results, also with a schema in the SDK's own type."""

    async def check(vendors: SimulatedVendors, http: httpx2.AsyncClient) -> None:
        schema = types.Schema(
            type="OBJECT",
            properties={"city": types.Schema(type="STRING", nullable=True), "days": types.Schema(type="INTEGER")},
            required=["city", "days"],
        )
        tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="get_weather", parameters=schema)])
        config = _config(content("must", tool_choice="required")).model_copy(update={"tools": [tool]})
        async with _client(vendors, "faithful", http) as models:
            talk = [types.Content(role="user", parts=[types.Part(text="How is it?")])]
            first = await models.generate_content(model="m", contents=talk, config=config)
            assert [set(call.args) for call in first.function_calls] in ([{"city", "days"}], [{"city", "days"}] * 2)
            results = [
                types.Part.from_function_response(name=call.name, response={"sky": "grey"})
                for call in first.function_calls
            ]
            talk += [first.candidates[0].content, types.Content(role="user", parts=results)]
            second = await models.generate_content(model="m", contents=talk, config=config)
            assert second.function_calls
            with pytest.raises(genai.errors.ClientError, match="function response"):
                await models.generate_content(model="m", contents=talk[:-1], config=config)

    _run(check)


def test_refusals_are_the_sdks_own_errors() -> None:
    """Dead, locked and bursty vendors raise what the SDK has for them, with Google's word for the status."""

    async def check(vendors: SimulatedVendors, http: httpx2.AsyncClient) -> None:
        refused = [item for item in CONTENTS if first_refusals(question(item), PERSONAS["bursty"], 0)]
        words = {"down": {"INTERNAL"}, "locked": {"UNAUTHENTICATED"}}
        words["bursty"] = {"RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL"}
        for name, statuses in words.items():
            async with _client(vendors, name, http) as models:
                with pytest.raises(genai.errors.APIError) as caught:
                    await models.generate_content(**_asked(refused[0]))
                assert caught.value.status in statuses

    _run(check)


def test_a_cut_stream_has_no_finish_reason() -> None:
    """A stream ended early is over without a finish reason or an error; a closed or reset one is an error."""

    async def check(vendors: SimulatedVendors, http: httpx2.AsyncClient) -> None:
        seen = set()
        async with _client(vendors, "cutter", http) as models:
            for chat_body in (content(f"cut {number}") for number in range(200)):
                ending = performed(chat_body, "cutter").ending
                if ending == "complete" or ending in seen:
                    continue
                seen.add(ending)
                chunks = []
                if ending == "early_end":
                    chunks += [chunk async for chunk in await models.generate_content_stream(**_asked(chat_body))]
                    assert _put_together(chunks)[2] is None
                else:
                    with pytest.raises((httpx2.TransportError, genai.errors.APIError)):
                        chunks += [chunk async for chunk in await models.generate_content_stream(**_asked(chat_body))]
        assert seen == {"early_end", "closed", "reset"}

    _run(check)
