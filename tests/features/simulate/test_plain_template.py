"""A prompt is read back into the turn it was rendered from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_template import plain_template
from questions import WEATHER

from vendor_verifier.features.simulate.question import question_of
from vendor_verifier.features.simulate.wires.completions import FAMILIES, read_prompt
from vendor_verifier.values.request import Turn

_TEXT = st.text(st.sampled_from("<|\\/ toolthinkim_end>ab\n")) | st.sampled_from(
    ["<|im_end|>", "<\\|im_end|>", "<tool_call>", "<\\\\tool>", "</think>", "<|im_start|>user\n", "</tools>"]
)

# As a well-known family's own template renders it.
FOREIGN = """<|im_start|>system
Be brief.

# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
<|im_start|>user
Weather?<|im_end|>
<|im_start|>assistant
<think>

</think>

<tool_call>
{"name": "get_weather", "arguments": {"city": "Bern"}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
grey
</tool_response>
<tool_response>
cold
</tool_response><|im_end|>
<|im_start|>assistant
"""


@given(_TEXT, _TEXT, _TEXT, st.sampled_from(sorted(FAMILIES)))
def test_marks_in_what_was_said_end_nothing(system: str, user: str, result: str, family: str) -> None:
    """Whatever was said, also by a tool or in arguments, is read back as it was."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": json.dumps({"x": user})}}
    said: tuple[dict[str, Any], ...] = (
        {"role": "system", "content": system},
        {"role": "user", "content": user},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": result},
    )
    turn, found = read_prompt(plain_template(family)(Turn(said, (WEATHER,))))
    assert found == family
    assert turn.tools == (WEATHER,)
    assert [message["content"] for message in turn.messages if message["role"] in ("system", "user", "tool")] == [
        system,
        user,
        result,
    ]
    assert turn.messages[2]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"x": user}}


def test_a_known_template_is_read_as_well() -> None:
    """A prompt of the family whose layout this is means the same question as the chat it was rendered from."""
    turn, family = read_prompt(FOREIGN)
    assert family == "hermes"
    call = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Bern"}'}}
    chat = Turn(
        (
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": "", "tool_calls": [call, {**call, "id": "2"}][:1]},
            {"role": "tool", "tool_call_id": "1", "content": "grey"},
            {"role": "tool", "tool_call_id": "2", "content": "cold"},
        ),
        ({"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}},),
    )
    assert question_of(turn).digest == question_of(chat).digest


@pytest.mark.parametrize("prompt", ["Once upon a time", "<|im_end|>", "def f():\n"])
def test_any_other_prompt_is_what_one_user_says(prompt: str) -> None:
    """Text without messages in it is answered without tools."""
    turn, _ = read_prompt(prompt)
    assert (turn.messages, turn.tools) == (({"role": "user", "content": prompt},), ())


@given(st.text())
def test_no_prompt_is_too_odd_to_read(prompt: str) -> None:
    """Reading a prompt never fails; whether it holds a question is decided elsewhere."""
    turn, family = read_prompt("<|im_start|>user\n" + prompt)
    assert isinstance(turn, Turn)
    assert family in FAMILIES
