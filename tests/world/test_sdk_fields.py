"""What a run reads of an answer is what the official SDKs of OpenAI and Anthropic read of the same one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from anthropic import Anthropic
from openai import OpenAI
from workbench import ONCE, TOOL, Bench, simulated
from world_servers import litellm, llama

pytestmark = pytest.mark.world

MODEL = "simulated-model"
MOST_TOKENS = 24
FUNCTION = TOOL["function"]
VALIDATORS = {"chat": "openai", "responses": "openai_responses", "messages": "anthropic"}


class Read(NamedTuple):
    """The fields that all readers of an answer know."""

    text: str
    calls: list[tuple[str, Any]]
    tokens: tuple[int, int]


def chat(url: str, messages: list[Any], body: dict[str, Any]) -> Read:
    """Ask by the openai SDK's chat completions and join the chunks of the stream."""
    text, calls, tokens = "", dict[int, tuple[str, str]](), (0, 0)
    tools: Any = [TOOL]
    with OpenAI(base_url=url, api_key="none") as client:
        for chunk in client.chat.completions.create(
            model=MODEL, messages=messages, tools=tools, max_tokens=MOST_TOKENS, extra_body=body, stream=True,
            stream_options={"include_usage": True},
        ):  # fmt: skip
            if chunk.usage:
                tokens = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for call in choice.delta.tool_calls or ():
                    name, arguments = calls.get(call.index, ("", ""))
                    piece: Any = call.function
                    calls[call.index] = (name + (piece.name or ""), arguments + (piece.arguments or ""))
    return Read(text, [(name, json.loads(arguments)) for name, arguments in calls.values()], tokens)


def responses(url: str, messages: list[Any], body: dict[str, Any]) -> Read:
    """Ask by the openai SDK's Responses and take the response that ends the stream."""
    tools: Any = [{"type": "function", **FUNCTION}]
    with OpenAI(base_url=url, api_key="none") as client:
        *_, last = client.responses.create(
            model=MODEL, input=messages, tools=tools, max_output_tokens=MOST_TOKENS, extra_body=body, stream=True
        )
    done: Any = last
    calls = [(item.name, json.loads(item.arguments)) for item in done.response.output if item.type == "function_call"]
    usage = done.response.usage
    return Read(done.response.output_text, calls, (usage.input_tokens, usage.output_tokens))


def messages(url: str, messages: list[Any], body: dict[str, Any]) -> Read:
    """Ask by the anthropic SDK, which joins the stream itself."""
    tools: Any = [
        {"name": FUNCTION["name"], "description": FUNCTION["description"], "input_schema": FUNCTION["parameters"]}
    ]
    with (
        Anthropic(base_url=url.removesuffix("/v1"), api_key="none") as client,
        client.messages.stream(
            model=MODEL, messages=messages, tools=tools, max_tokens=MOST_TOKENS, extra_body=body
        ) as stream,
    ):
        done = stream.get_final_message()
    text = "".join(block.text for block in done.content if block.type == "text")
    calls = [(block.name, block.input) for block in done.content if block.type == "tool_use"]
    cached = done.usage.cache_read_input_tokens or 0
    return Read(text, calls, (done.usage.input_tokens + cached, done.usage.output_tokens))


ASKED_BY = {"chat": chat, "responses": responses, "messages": messages}


@pytest.fixture(scope="module", params=["llama", "LiteLLM"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Name and address of llama.cpp with a model of its own, or of LiteLLM before the simulated vendors."""
    folder: Path = tmp_path_factory.mktemp("server")
    if request.param == "llama":
        with llama(folder) as one:
            yield "llama", f"{one.address}/v1"
    else:
        with simulated(20) as behind, litellm(folder, behind) as one:
            yield "LiteLLM", f"{one.address}/v1"


@pytest.mark.parametrize("wire", ASKED_BY)
def test_fields(bench: Bench, server: tuple[str, str], wire: str) -> None:
    """Text, calls and tokens of twelve answers, one by one."""
    name, url = server
    if (name, wire) == ("LiteLLM", "responses"):
        pytest.skip("LiteLLM hands Responses on, and the simulated vendors speak chat completions only")
    # Both answer the same each time then, llama.cpp without its cache.
    body = {"temperature": 0} | ({"cache_prompt": False, "ignore_eos": True} if name == "llama" else {})
    bench.samples(12)
    wanted = {"validator": VALIDATORS[wire], "max_tokens": MOST_TOKENS, "extra_body": body}
    bench.configure(f"{name}: {url}", extra=ONCE, **wanted)
    code, printed = bench.program("--request-concurrency", "1")
    assert (bench.failures(), code) == ({}, 0), printed
    ours, theirs = {}, {}
    for record in bench.records():
        found = record["turns"][-1]["attempts"][-1]["response"]
        calls = [(call["name"], json.loads(call["arguments"])) for call in found["tool_calls"]]
        tokens = (found["usage"]["input"], found["usage"]["output"])
        ours[record["sample"]] = Read(found["text"], calls, tokens)
    for line in (bench.folder / "run" / "samples" / "trigger.jsonl").read_bytes().splitlines():
        sample = json.loads(line)
        theirs[sample["id"]] = ASKED_BY[wire](url, sample["turn"]["messages"], body)
    assert len(ours) == 12
    assert any(read.calls or read.text for read in ours.values())
    assert ours == theirs
