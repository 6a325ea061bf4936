"""The product's five wires beside the simulated ones: what one asks, the other reads, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from plain_template import plain_template

from vendor_verifier.features.simulate.answer import NOTHING_KNOWN, AnswerKey
from vendor_verifier.features.simulate.performance import Performance, perform
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.server import WIRES
from vendor_verifier.features.simulate.wires import Asked, SimulatedWire
from vendor_verifier.values.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.assembler import Assembler, Collected, collect
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.gemini import Gemini
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.openai_responses import OpenAIResponses
from vendor_verifier.wire.sse import SseDecoder

EVENT_INTERVAL_NS = 10_000_000
HOST = "http://127.0.0.1:1/faithful"
PROTOCOLS: Mapping[str, Wire] = {
    "chat": OpenAIChat(),
    "responses": OpenAIResponses(),
    "responses, system items": OpenAIResponses(system="developer", explicit_strict=True),
    "completions": OpenAICompletions(render=plain_template()),
    "completions, kimi": OpenAICompletions(render=plain_template("kimi")),
    "completions, glm": OpenAICompletions(render=plain_template("glm")),
    "completions, deepseek": OpenAICompletions(render=plain_template("deepseek")),
    "anthropic": AnthropicMessages(),
    "gemini": Gemini(),
    "gemini, json schema": Gemini(schema="json_schema"),
}
SIMULATED: Mapping[str, SimulatedWire] = {wire.name: wire for wire in WIRES}


def turn_of(content: Mapping[str, Any]) -> Turn:
    """A sample or a chat body as a turn."""
    parameters = {key: content[key] for key in ("tool_choice", "parallel_tool_calls") if key in content}
    return Turn(tuple(content["messages"]), tuple(content["tools"]), parameters)


def asked_over(protocol: str, turn: Turn) -> tuple[HttpRequest, Asked | None]:
    """The request of the product's wire, and what the simulated one reads in it (``None``: untranslatable)."""
    wire = PROTOCOLS[protocol]
    version = "v1beta" if wire.name == "gemini" else "v1"
    request = wire.request(turn, Endpoint(f"{HOST}/{version}", "some-model", "some-key"))
    if request.untranslatable:
        return request, None
    target = request.url.removeprefix(HOST)
    simulated = SIMULATED[wire.name]
    assert simulated.serves(target.partition("?")[0])
    return request, simulated.read(request.body, target)


def performed(asked: Asked, persona: str = "faithful", key: AnswerKey = NOTHING_KNOWN) -> Performance:
    """What the persona does, refusals aside."""
    performance = perform(asked.question, PERSONAS[persona], 0, refused=9, asked=1, key=key)
    assert isinstance(performance, Performance)
    return performance


def heard_over(
    protocol: str, turn: Turn, asked: Asked, persona: str = "faithful", key: AnswerKey = NOTHING_KNOWN
) -> Collected:
    """The streamed answer as the product's reader puts it together."""
    wire = PROTOCOLS[protocol]
    told = SIMULATED[wire.name].stream(asked, performed(asked, persona, key), 0)
    decoder, reader = SseDecoder(), wire.reader(turn.tools)
    data = told.opening + b"".join(told.pieces) + told.closing
    heard = Assembler()
    for number, item in enumerate([*decoder.feed(data), *decoder.close()]):
        for event in reader.read(item):
            heard.add(event, at_ns=number * EVENT_INTERVAL_NS)
    return heard.collected()


def read_whole(protocol: str, turn: Turn, asked: Asked, persona: str = "faithful") -> Collected:
    """The same of the answer as one object."""
    wire = PROTOCOLS[protocol]
    body = SIMULATED[wire.name].whole(asked, performed(asked, persona), 0)
    return collect(wire.reader(turn.tools).read_body(json.loads(body)))
