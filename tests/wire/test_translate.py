"""The plain reading of a chat-completions turn that all foreign wires share."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire.base import Notes
from vendor_verifier.wire.history import (
    ImagePart,
    PastCall,
    PastMessage,
    TextPart,
    argument_object,
    read_messages,
    system_text,
)
from vendor_verifier.wire.request_support import (
    DeclaredTool,
    ToolChoice,
    names_back,
    note_leftovers,
    output_budget,
    read_tool_choice,
    read_tools,
    sent_names,
    stop_list,
)


def call(call_id: Any, name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(call_id: Any, content: Any = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_messages_in_plain_terms() -> None:
    """Roles, parts, calls and results come out as values, with the result pointing at its call."""
    notes = Notes()
    image = {"type": "image_url", "image_url": {"url": "https://x.test/a", "detail": "low"}}
    history = read_messages(
        [
            {"role": "developer", "content": "Be kind"},
            {"role": "user", "content": ["See", image]},
            assistant(call("a", arguments='{"x": 1}')),
            result("a"),
        ],
        notes,
    )
    made = PastCall("a", "f", '{"x": 1}')
    assert history == [
        PastMessage("system", (TextPart("Be kind"),)),
        PastMessage("user", (TextPart("See"), ImagePart(url="https://x.test/a", detail="low"))),
        PastMessage("assistant", (), (made,)),
        PastMessage("tool", (TextPart("ok"),), call=made),
    ]
    assert (notes.untranslatable, notes.rewritten) == ((), ())
    assert system_text(history, notes) == "Be kind"


def test_a_repeated_id_belongs_to_the_latest_turn() -> None:
    """The same id in two turns names two calls, and each result finds the call of its own turn."""
    history = read_messages([assistant(call("a", "f")), result("a"), assistant(call("a", "g")), result("a")], Notes())
    assert [said.call.name for said in history if said.call] == ["f", "g"]
    assert [said.call.id for said in history if said.call] == ["a", "a_2"]


def test_a_second_result_of_one_call_is_noted() -> None:
    """A call has one result; a second one answers nothing."""
    notes = Notes()
    read_messages([assistant(call("a")), result("a"), result("a")], notes)
    assert notes.untranslatable == ("tool result without a call",)


@given(st.lists(st.sampled_from(["a", "b", "a_2", "", None]), min_size=1, max_size=8))
def test_every_call_finds_its_result(ids: list[Any]) -> None:
    """Whatever ids a history uses from turn to turn, calls get different ids and every one its result."""
    notes = Notes()
    messages = [message for call_id in ids for message in (assistant(call(call_id)), result(call_id))]
    history = read_messages(messages, notes)
    made = [past.id for said in history for past in said.calls]
    assert len(set(made)) == len(ids)
    assert [said.call.id for said in history if said.call] == made
    assert notes.untranslatable == ()


def test_argument_objects() -> None:
    """Nothing is an empty object; what is not an object is noted and never raises."""
    notes = Notes()
    texts = ["", " ", '{"a":1}', "[1]", "{", "NaN", "[" * 5000]
    values = [argument_object(PastCall("a", "f", text), notes) for text in texts]
    assert values == [{}, {}, {"a": 1}, {}, {}, {}, {}]
    assert notes.untranslatable == ("tool-call arguments that are not a JSON object",)


def test_tools_and_choice() -> None:
    """The first of two tools of one name counts, flat tools are read too, and a choice must name a declared tool."""
    notes = Notes()
    flat = {"type": "function", "name": "g", "parameters": {}}
    tools = read_tools([{"function": {"name": "f", "description": "1"}}, {"function": {"name": "f"}}, flat], notes)
    assert tools == [DeclaredTool("f", "1"), DeclaredTool("g", None, {})]
    assert notes.rewritten == ("dropped:repeated_tool",)
    assert read_tool_choice({"type": "function", "name": "g"}, tools, notes) == ToolChoice("required", ("g",))
    assert read_tool_choice(None, tools, notes) is None
    assert notes.untranslatable == ()


@given(st.lists(st.text(max_size=12), max_size=20), st.integers(4, 9))
def test_sent_names_stay_apart(names: list[str], longest: int) -> None:
    """Narrowing never makes two names one, keeps to the length, and leaves legal names alone."""
    sent = sent_names(names, re.compile(r"[^a-z_0-9]"), longest)
    assert sent.keys() == set(names)
    assert len(set(sent.values())) == len(sent)
    for here, there in sent.items():
        assert re.fullmatch(r"[a-z_0-9]+", there)
        assert len(there) <= longest
        assert here == there or not re.fullmatch(rf"[a-z_0-9]{{1,{longest}}}", here)
    assert all(sent[here] == there for there, here in names_back(sent).items())


def test_parameters() -> None:
    """Budgets and stops are read in both spellings; of the rest, only what changes the answer stands in the way."""
    assert output_budget({"max_tokens": 1, "max_completion_tokens": 2}) == 2
    assert output_budget({"max_tokens": 1, "max_completion_tokens": None}) == 1
    assert output_budget({}) is None
    assert [stop_list(value) for value in ("a", ["a", 1], None)] == [["a"], ["a"], []]
    notes = Notes()
    note_leftovers({"temperature": 1, "n": 1, "user": "u", "top_logprobs": 3, "tools": None}, {"temperature"}, notes)
    assert (notes.untranslatable, notes.rewritten) == (("top_logprobs",), ("dropped:user",))
