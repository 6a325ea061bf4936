"""The same question over any protocol is the same question, and the same answer comes back over each."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protocols import PROTOCOLS, asked_over, heard_over, performed, read_whole, turn_of
from questions import shipped_bodies

from vendor_verifier.features.simulate.question import name_stem
from vendor_verifier.values.request import HttpRequest, Turn
from vendor_verifier.wire.assembler import Collected

OTHERS = [name for name in PROTOCOLS if name != "chat"]
SAMPLES = [turn_of(content) for content in shipped_bodies()]
OTHER_WORDS = {"gemini", "completions, glm"}
# The same wires in other settings; a part of the samples is enough.
VARIANTS = {"responses, system items", "completions, kimi", "completions, glm", "completions, deepseek"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def _said_calls(request: HttpRequest, heard: Collected) -> list[tuple[str, Any]]:
    calls = heard.response.tool_calls
    return [(request.tool_names.get(call.name, call.name), json.loads(call.arguments)) for call in calls]


@pytest.mark.parametrize("protocol", OTHERS)
def test_every_sample_is_answered_alike(protocol: str) -> None:
    """Digest, decision, tools, text and finish are those of chat for every shipped sample the wire can carry.

    So are the arguments, except where tools had to be put in Gemini's words (there they are valid against those) and
    where GLM's markup does not tell a number from a text. A Gemini call comes in one event, which is not called
    buffered.
    """
    carried = 0
    turns = SAMPLES[::4] if protocol in VARIANTS else SAMPLES
    for turn in turns:
        request, asked = asked_over(protocol, turn)
        if asked is None:
            continue
        carried += 1
        _, plain = asked_over("chat", turn)
        assert plain is not None
        assert asked.question.digest == plain.question.digest
        heard, expected = heard_over(protocol, turn, asked), heard_over("chat", turn, plain)
        assert (heard.fault, heard.complete) == (None, True)
        assert heard.response.anomalies == ()
        assert heard.response.text.strip() == expected.response.text
        assert heard.response.finish_reason == expected.response.finish_reason
        calls, due = (
            _said_calls(request, heard),
            [(c.name, json.loads(c.arguments)) for c in expected.response.tool_calls],
        )
        assert [name for name, _ in calls] == [name for name, _ in due]
        if protocol not in OTHER_WORDS:
            assert calls == due
        for call in heard.response.tool_calls:
            assert jsonschema_rs.is_valid(asked.question.tools[call.name] or {}, json.loads(call.arguments))
    assert carried >= 0.95 * len(turns)


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize("persona", ["faithful", "padded", "text-leaker"])
def test_whole_answers_and_bills_are_those_of_the_stream(protocol: str, persona: str) -> None:
    """Text, calls, finish and usage are the same streamed and whole, and the usage is what the persona bills."""
    for turn in SAMPLES[::16]:
        _, asked = asked_over(protocol, turn)
        if asked is None:
            continue
        stream, whole = heard_over(protocol, turn, asked, persona), read_whole(protocol, turn, asked, persona)
        answer = performed(asked, persona).answer
        assert stream.response.text == whole.response.text
        assert stream.response.tool_calls == whole.response.tool_calls
        assert stream.response.finish_reason == whole.response.finish_reason
        for heard in (stream, whole):
            assert heard.response.usage is not None
            usage = heard.response.usage
            assert (usage.input, usage.output) == (answer.prompt_tokens, answer.output_tokens)


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_the_prompt_weighs_the_same_over_every_protocol(protocol: str) -> None:
    """Prompt tokens follow the question and not its spelling; Gemini's own words for a schema may weigh otherwise."""
    for turn in SAMPLES[::3]:
        _, asked = asked_over(protocol, turn)
        _, plain = asked_over("chat", turn)
        if asked is not None and plain is not None and protocol != "gemini":
            assert abs(asked.question.prompt_tokens - plain.question.prompt_tokens) <= 3


_WORDS = st.text(st.sampled_from('ab <>/|\\_{}"\n é😀'), max_size=12) | st.sampled_from(
    [
        "<|im_end|>",
        "<tool_call>",
        "</tool_response>",
        "<tools>\n{}\n</tools>",
        "# Tools",
        '{"output": "x"}',
        "[1]",
        "{}",
    ]
)
_NAMES = ["get.weather", "get_weather", "get_weather_2", "7up", "a-b:c", "x" * 70, "x" * 69 + "y"]
_CONTENT = _WORDS | st.lists(_WORDS.map(lambda text: {"type": "text", "text": text}), max_size=3)
_ARGUMENTS = st.dictionaries(st.sampled_from("abc"), _WORDS | st.integers(-9, 9) | st.none(), max_size=2)


@st.composite
def _histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """System words, then talk with parallel calls whose results come in any order; the user or a result is last."""
    messages = [{"role": "system", "content": words} for words in draw(st.lists(_CONTENT, max_size=2))]
    messages.append({"role": "user", "content": [{"type": "text", "text": "Hello"}]})
    for number in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            calls = [
                {
                    "id": f"id {number} {place}",
                    "type": "function",
                    "function": {"name": draw(st.sampled_from(_NAMES)), "arguments": json.dumps(draw(_ARGUMENTS))},
                }
                for place in range(draw(st.integers(1, 3)))
            ]
            messages.append({"role": "assistant", "content": draw(_WORDS), "tool_calls": calls})
            for call in draw(st.permutations(calls)):
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": draw(_WORDS)})
        else:
            messages.append({"role": "assistant", "content": draw(_WORDS)})
            messages.append({"role": "user", "content": draw(_CONTENT)})
            messages.append({"role": "user", "content": "And?"})
    return messages


@settings(max_examples=60)
@given(_histories(), st.lists(st.sampled_from(_NAMES), unique=True, max_size=3), st.sampled_from(OTHERS))
def test_any_conversation_keeps_its_digest(messages: list[dict[str, Any]], names: list[str], protocol: str) -> None:
    """Odd texts, marks of templates, names that collide and parallel results change nothing between protocols."""
    tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]
    turn = Turn(tuple(messages), tuple(tools))
    _, asked = asked_over(protocol, turn)
    _, plain = asked_over("chat", turn)
    assert asked is not None
    assert plain is not None
    assert asked.question.digest == plain.question.digest
    assert asked.question.last_user_text == plain.question.last_user_text
    assert asked.question.after_tool_result == plain.question.after_tool_result


@pytest.mark.parametrize("protocol", ["responses", "anthropic", "gemini"])
def test_images_are_part_of_the_question(protocol: str) -> None:
    """An image survives every protocol that carries one, and another image is another question."""
    digests = []
    for image in (IMAGE, {**IMAGE, "image_url": {"url": "data:image/png;base64,AAAA"}}):
        content = [{"type": "text", "text": "What is this?"}, image]
        turn = Turn(({"role": "user", "content": content},))
        found = [asked_over(name, turn)[1] for name in ("chat", protocol)]
        digests += [asked.question.digest for asked in found if asked is not None]
    assert digests[0] == digests[1] != digests[2] == digests[3]


@pytest.mark.parametrize("other", [{"tool_choice": "required"}, {"tool_choice": "none"}])
def test_another_tool_choice_is_another_question(other: dict[str, Any]) -> None:
    """The tool choice is part of the digest; leaving it out is ``auto``."""
    turn = SAMPLES[0]
    digests = {
        choice: [
            asked_over(protocol, Turn(turn.messages, turn.tools, parameters))[1] for protocol in ("chat", "gemini")
        ]
        for choice, parameters in (("absent", {}), ("auto", {"tool_choice": "auto"}), ("other", other))
    }
    flat = {choice: {asked.question.digest for asked in found if asked} for choice, found in digests.items()}
    assert flat["absent"] == flat["auto"] != flat["other"]
    assert all(len(found) == 1 for found in flat.values())


def test_some_tools_allowed_are_the_only_ones_called() -> None:
    """A choice among several tools keeps to them over the protocols that can say so."""
    tools = [{"type": "function", "function": {"name": name}} for name in ("one", "two", "three")]
    allowed = {
        "mode": "required",
        "tools": [{"type": "function", "function": {"name": name}} for name in ("two", "three")],
    }
    called = set()
    for number in range(20):
        choice = {"type": "allowed_tools", "allowed_tools": allowed}
        turn = Turn(({"role": "user", "content": f"Number {number}"},), tuple(tools), {"tool_choice": choice})
        answers = []
        for protocol in ("chat", "responses", "gemini"):
            _, asked = asked_over(protocol, turn)
            assert asked is not None
            answers.append([call.name for call in performed(asked).answer.calls])
        assert answers[0] == answers[1] == answers[2] != []
        called.update(answers[0])
    assert called == {"two", "three"}


def test_stems_forget_what_protocols_change() -> None:
    """A name and what a narrower alphabet made of it have one stem; different words do not."""
    assert name_stem("get.weather-now") == name_stem("get_weather_now_2") != name_stem("get_time")
    assert name_stem("x" * 100) == name_stem("x" * 64)
