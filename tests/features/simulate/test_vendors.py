"""The simulated vendors over a socket: the official SDK reads them, and each persona shows its trait."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from openai import APIConnectionError, APIStatusError, AsyncOpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

from vendor_verifier.features.simulate.answer_key import digest
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.server import Vendors

pytestmark = pytest.mark.anyio

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "maximum": 7}},
            "required": ["city", "days"],
        },
    },
}
Ask = Callable[..., Awaitable[Any]]


def asking(number: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"The weather in town {number}?"}], "tools": [WEATHER]}


KEY = {digest(asking(n)["messages"], [WEATHER]): [("get_weather", {"city": "x", "days": n % 7})] for n in range(80)}
ASKED = range(80)


@pytest.fixture
async def ask() -> AsyncIterator[Ask]:
    """Ask a persona something; a dict with text, calls, finish reason, model and usage, or the error."""
    vendors = Vendors(KEY, speed=20)  # type: ignore[arg-type]
    server = await asyncio.start_server(vendors.connection, "127.0.0.1", 0, backlog=512)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    clients = {
        name: AsyncOpenAI(base_url=f"{address}/{name}/v1", api_key="none", max_retries=0)
        for name in (*PERSONAS, "nobody")
    }

    async def one(persona: str, *, stream: bool = True, **body: Any) -> Any:
        said = {"model": "m", **body}
        create = clients[persona].chat.completions.create
        try:
            if not stream:
                answer = await create(**said)
            else:
                state = ChatCompletionStreamState()
                async for event in await create(**said, stream=True, stream_options={"include_usage": True}):
                    state.handle_chunk(event)
                answer = state.current_completion_snapshot
                assert answer.choices[0].finish_reason, "cut"
        except APIStatusError as error:
            return error.status_code
        except (APIConnectionError, AssertionError, OSError) as error:
            return error
        except Exception as error:  # noqa: BLE001 httpx's own, of a stream that breaks off
            return error
        choice = answer.choices[0]
        calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
        return {
            "text": choice.message.content or "",
            "calls": calls,
            "finish": choice.finish_reason,
            "model": answer.model,
            "usage": (answer.usage.prompt_tokens, answer.usage.completion_tokens),
        }

    yield one
    for client in clients.values():
        await client.close()
    server.close()


async def answers(ask: Ask, persona: str) -> list[Any]:
    return [await ask(persona, **asking(number)) for number in ASKED]


async def test_the_faithful_vendor_gives_the_known_answers(ask: Ask) -> None:
    """Streamed and whole, with the same bill."""
    for number in (0, 5):
        streamed = await ask("faithful", **asking(number))
        assert streamed["calls"] == [("get_weather", json.dumps({"city": "x", "days": number % 7}))]
        assert (streamed["finish"], streamed["model"]) == ("tool_calls", "m")
        assert await ask("faithful", stream=False, **asking(number)) == streamed


async def test_an_unknown_question_gets_a_valid_call_or_text(ask: Ask) -> None:
    """Both occur, and a question has one answer."""
    found = [await ask("faithful", **asking(number)) for number in range(100, 140)]
    calls = [json.loads(arguments) for each in found for _, arguments in each["calls"]]
    assert 0 < len(calls) < len(found)
    assert all(each["days"] <= 7 and isinstance(each["city"], str) for each in calls)
    assert found[:5] == [await ask("faithful", **asking(number)) for number in range(100, 105)]


async def test_calls_already_made_are_not_made_again(ask: Ask) -> None:
    """After the results the conversation ends in words."""
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    history = [*asking(1)["messages"], {"role": "assistant", "tool_calls": [call]}]
    history.append({"role": "tool", "tool_call_id": "c", "content": "rain"})
    answer = await ask("faithful", messages=history, tools=[WEATHER])
    assert (answer["calls"], answer["finish"]) == ([], "stop")


async def test_without_tools_known_calls_are_written_as_json(ask: Ask) -> None:
    """As the evaluations ask for it in text."""
    vendors = {digest(asking(0)["messages"], []): [("f", {"a": 1})]}
    KEY.update(vendors)  # type: ignore[arg-type]
    answer = await ask("faithful", messages=asking(0)["messages"])
    assert json.loads(answer["text"]) == [{"name": "f", "parameters": {"a": 1}}]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"tool_choice": "none"}, "stop"),
        ({"tool_choice": "required"}, "tool_calls"),
        ({"max_tokens": 3, "tool_choice": "none"}, "length"),
        ({"tool_choice": {"type": "function", "function": {"name": "get_weather"}}}, "tool_calls"),
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}}, 400),
        ({"temperature": 5}, 400),
        ({"n": 0}, 400),
        ({"messages": []}, 400),
    ],
)
async def test_parameters_are_kept_or_refused(ask: Ask, body: dict[str, Any], wanted: Any) -> None:
    answer = await ask("faithful", **{**asking(200), **body})
    assert (answer if isinstance(wanted, int) else answer["finish"]) == wanted


async def test_a_form_of_text_is_kept(ask: Ask) -> None:
    """JSON of a schema, and a text that ends before a stop word."""
    schema = WEATHER["function"]["parameters"]  # type: ignore[index]
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    answer = await ask("faithful", messages=asking(300)["messages"], response_format=form)
    assert json.loads(answer["text"]).keys() == {"city", "days"}
    answer = await ask("faithful", messages=asking(300)["messages"], stop=["."])
    assert "." not in answer["text"]


async def test_the_vendors_that_answer_nothing(ask: Ask) -> None:
    assert [await ask(name, **asking(0)) for name in ("down", "locked", "nobody")] == [500, 401, 404]


async def test_quantised_misses_and_breaks_calls(ask: Ask) -> None:
    made = [each["calls"] for each in await answers(ask, "quantised")]
    assert 2 <= made.count([]) <= 20
    wrong = [call for calls in made for call in calls if call[0] != "get_weather" or "unexpected" in call[1]]
    assert 1 <= len(wrong) <= 16


async def test_padded_bills_more(ask: Ask) -> None:
    honest, padded = await ask("faithful", **asking(1)), await ask("padded", **asking(1))
    assert padded["usage"][0] == pytest.approx(1.35 * honest["usage"][0] + 120, abs=2)
    assert padded["usage"][1] == honest["usage"][1]


async def test_bursty_refuses_first_and_again(ask: Ask) -> None:
    """A fifth of the questions, once or twice; whoever repeats the run is refused as often."""
    refused = [number for number in ASKED if isinstance(await ask("bursty", **asking(number)), int)]
    assert 6 <= len(refused) <= 28
    for number in refused:
        again = [await ask("bursty", **asking(number)) for _ in range(2)]
        assert isinstance(again[-1], dict) or isinstance(await ask("bursty", **asking(number)), dict)
    assert isinstance(await ask("bursty", **asking(refused[0])), (int, dict))


async def test_cutter_breaks_off_in_three_ways(ask: Ask) -> None:
    """Cleanly between events, by a close and by a reset."""
    cut = [each for each in await answers(ask, "cutter") if not isinstance(each, dict)]
    assert 2 <= len(cut) <= 20
    assert len(Counter(type(each).__name__ for each in cut)) >= 2


async def test_text_leaker_writes_calls_into_the_text(ask: Ask) -> None:
    leaked = [each for each in await answers(ask, "text-leaker") if "<tool_call>" in each["text"]]
    assert 25 <= len(leaked) <= 55
    assert not any(each["calls"] for each in leaked)


async def test_substitute_is_another_model(ask: Ask) -> None:
    found = await answers(ask, "substitute")
    assert {each["model"] for each in found} == {"simulated-mini-8b"}
    assert 4 <= sum(not each["calls"] for each in found) <= 24


async def test_slow_and_queueing_are_late(ask: Ask) -> None:
    """Slow always; queueing only beyond six requests in flight."""

    async def seconds(persona: str, at_once: int) -> float:
        began = time.monotonic()
        await asyncio.gather(*(ask(persona, **asking(number)) for number in range(at_once)))
        return time.monotonic() - began

    assert await seconds("slow", 1) > 0.020  # 300 ms and more at 20 times the speed; a busy machine only adds
    assert await seconds("queueing", 16) > 0.15  # ten beyond six, 0.4 s each, at 20 times the speed


async def test_crowded_and_throttled_give_way_beyond_six(ask: Ask) -> None:
    few = await asyncio.gather(*(ask("throttled", **asking(number)) for number in range(6)))
    many = await asyncio.gather(*(ask("throttled", **asking(number)) for number in range(30)))
    assert 429 not in few
    assert 429 in many
    crowd = await asyncio.gather(*(ask("crowded", **asking(number)) for number in range(40)))
    assert sum(not each["calls"] for each in crowd) >= 10
