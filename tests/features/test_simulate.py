"""The simulated vendors over a socket: the official SDK reads them, and each persona shows its trait."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from openai import APIConnectionError, APIStatusError, AsyncOpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState

from vendor_verifier.features.simulate.answer_key import digest, known_answers
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.schema_values import value_for
from vendor_verifier.features.simulate.server import Vendors
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.records.plan import Task
from vendor_verifier.resources import shipped

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


async def test_the_vendors_that_answer_nothing(ask: Ask) -> None:
    assert [await ask(name, **asking(0)) for name in ("down", "locked", "nobody")] == [500, 401, 404]


async def test_cutter_breaks_off_in_three_ways(ask: Ask) -> None:
    """Cleanly between events, by a close and by a reset."""
    cut = [each for each in await answers(ask, "cutter") if not isinstance(each, dict)]
    assert 2 <= len(cut) <= 20
    assert len(Counter(type(each).__name__ for each in cut)) >= 2


async def test_slow_and_queueing_are_late(ask: Ask) -> None:
    """Slow always; queueing only beyond six requests in flight."""

    async def seconds(persona: str, at_once: int) -> float:
        began = time.monotonic()
        await asyncio.gather(*(ask(persona, **asking(number)) for number in range(at_once)))
        return time.monotonic() - began

    assert await seconds("slow", 1) > 0.020  # 300 ms and more at 20 times the speed; a busy machine only adds
    assert await seconds("queueing", 16) > 0.15  # ten beyond six, 0.4 s each, at 20 times the speed


TOOL = {"name": "look_up", "description": "Looks up.", "parameters": {"type": "object", "properties": {"id": {}}}}
DECLARED = [{"type": "function", "function": TOOL}]
PROMPT = '{problem_statement}\n\nOutput your answer as a JSON array. Each has "name" and "parameters".'


def own_row(number: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"Record {number} of my own, please."}]
    calls = [{"name": "look_up", "parameters": {"id": number}}]
    return {"messages": messages, "tools": DECLARED, "expected": {"calls": calls}}


def toolbench_row(number: int) -> dict[str, Any]:
    truth = [{"name": "look_up", "parameters": {"id": number}}]
    return {"id": number, "query": f"Own toolbench row {number}.", "tools": [TOOL], "ground_truth": truth}


def mcp_row(number: int) -> dict[str, Any]:
    label = [{"name": "look_up", "parameters": {"id": number}}]
    row = {"uuid": f"u{number}", "category": "search", "call_type": "single", "tools": [TOOL]}
    return {**row, "query": f"Own MCP row {number}.", "function_call_label": label}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("suite", ["toolbench", "mcptoolbench", "tool_correctness"])
@pytest.mark.parametrize("row", [own_row, toolbench_row, mcp_row])
@pytest.mark.parametrize("options", [{}, {"agent_prompt": PROMPT}, {"answer_format": "text"}])
def test_own_rows_are_known(tmp_path: Path, suite: str, row: Any, options: dict[str, Any]) -> None:
    """In every format and wording."""
    samples = tuple(load_dataset(write(tmp_path / "own.jsonl", map(row, range(3)))).samples)
    key = known_answers([Task(suite, samples, options)])
    assert sorted(key.values(), key=str) == [[("look_up", {"id": number})] for number in range(3)]


@pytest.mark.parametrize("suite", ["toolbench", "mcptoolbench", "tool_correctness", "bfcl", "contract"])
def test_the_faithful_vendor_scores_one(bench: Any, suite: str) -> None:
    """On all shipped rows."""
    bench.configure("official: faithful", "twin: faithful")
    code, scores = bench.run("--suite", suite, "--request-concurrency", "40")
    assert code == 0
    for vendor in scores["models"]["simulated-model"]["vendors"].values():
        assert set(vendor["suites"][suite]["values"].values()) == {1}


def test_another_wire_is_refused(bench: Any) -> None:
    """Simulated vendors speak chat completions only."""
    bench.configure("official: faithful")
    path = bench.folder / "config.yaml"
    path.write_text(path.read_text().replace("validator: openai", "validator: anthropic"))
    code, _, err = bench("--test-file-path", bench.samples(2), "-o", "run")
    assert code == 2
    assert "chat completions" in err


FILES = ("samples", "toolbench", "mcp_toolbench", "tool_correctness")
WORDS = "report north blue seven".split()


@pytest.mark.parametrize("name", FILES)
def test_values_fit_every_shipped_schema(name: str) -> None:
    """Of each tool, from three seeds."""
    rows = map(json.loads, Path(shipped(f"datasets/{name}.jsonl")).read_text("utf-8").splitlines())
    for tool in (tool["function"] for row in rows for tool in row["tools"]):
        schema = {"type": "object", **tool.get("parameters", {})}
        for seed in range(3):
            value = value_for(schema, schema, random.Random(seed), WORDS)
            jsonschema_rs.validate(schema, value)
