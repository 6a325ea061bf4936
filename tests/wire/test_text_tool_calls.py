"""Tool calls in raw text: each family's markers, names that others mangle, cut calls, and nothing repaired."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from costs import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire.openai_completions.text_tool_calls import parse_text, read_value


def kimi(name: str, arguments: str, number: int = 0) -> str:
    return f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"


def hermes(name: str, arguments: str, number: int = 0) -> str:
    return f'<tool_call>\n{{"name": {json.dumps(name)}, "arguments": {arguments}}}\n</tool_call>\n'


def deepseek_v3(name: str, arguments: str, number: int = 0) -> str:
    return f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n```<｜tool▁call▁end｜>"


def deepseek_v31(name: str, arguments: str, number: int = 0) -> str:
    return f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>"


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def qwen_coder(name: str, arguments: str, number: int = 0) -> str:
    pairs = "".join(f"<parameter={k}>\n{written(v)}\n</parameter>\n" for k, v in json.loads(arguments).items())
    return f"<tool_call>\n<function={name}>\n{pairs}</function>\n</tool_call>"


def glm(name: str, arguments: str, number: int = 0) -> str:
    pairs = "".join(
        f"<arg_key>{k}</arg_key>\n<arg_value>{written(v)}</arg_value>\n" for k, v in json.loads(arguments).items()
    )
    return f"<tool_call>{name}\n{pairs}</tool_call>"


def dsml(name: str, arguments: str, number: int = 0) -> str:
    pairs = "".join(
        f'<｜DSML｜parameter name="{k}" string="{str(isinstance(v, str)).lower()}">{written(v)}</｜DSML｜parameter>\n'
        for k, v in json.loads(arguments).items()
    )
    return f'<｜DSML｜invoke name="{name}">\n{pairs}</｜DSML｜invoke>\n'


def minimax(name: str, arguments: str, number: int = 0) -> str:
    pairs = "".join(f'<parameter name="{k}">{written(v)}</parameter>\n' for k, v in json.loads(arguments).items())
    return f'<invoke name="{name}">\n{pairs}</invoke>\n'


FAMILIES = {
    "kimi": ("<|tool_calls_section_begin|>", kimi, "<|tool_calls_section_end|>"),
    "hermes": ("", hermes, ""),
    "qwen-coder": ("", qwen_coder, ""),
    "glm": ("", glm, ""),
    "deepseek-v3": ("<｜tool▁calls▁begin｜>", deepseek_v3, "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"),
    "deepseek-v3.1": ("<｜tool▁calls▁begin｜>", deepseek_v31, "<｜tool▁calls▁end｜>"),
    "dsml": ("<｜DSML｜function_calls>\n", dsml, "</｜DSML｜function_calls>"),
    "minimax": ("<minimax:tool_call>\n", minimax, "</minimax:tool_call>"),
}
ARGUMENTS = '{"city": "Zürich <1>", "days": 3, "tags": ["a", "b"], "deep": {"x": null}}'
every_family = pytest.mark.parametrize("family", FAMILIES)


def section(family: str, *calls: tuple[str, str]) -> str:
    begin, write, end = FAMILIES[family]
    return begin + "".join(write(name, arguments, number) for number, (name, arguments) in enumerate(calls)) + end


def found(text: str, **options: Any) -> list[tuple[str | None, Any]]:
    calls = parse_text(text, **options).tool_calls
    return [(call.name, json.loads(str(call.arguments))) for call in calls]


@every_family
@pytest.mark.parametrize("name", ["get_weather", "get-weather", "maps.search.v2", "a-b.c_d", "f", "search:2x"])
def test_one_call(family: str, name: str) -> None:
    """Each family's call is read, names with dashes, dots and colons included, and no markup stays in the text."""
    parsed = parse_text("Let me see.\n" + section(family, (name, ARGUMENTS)))
    assert [(call.name, json.loads(str(call.arguments))) for call in parsed.tool_calls] == [
        (name, json.loads(ARGUMENTS))
    ]
    assert parsed.text == "Let me see."


@every_family
def test_parallel_calls(family: str) -> None:
    """Several calls are read in order."""
    parsed = parse_text(section(family, ("f", '{"a": 1}'), ("g", '{"b": "x"}'), ("f", '{"a": 2}')))
    assert [call.name for call in parsed.tool_calls] == ["f", "g", "f"]
    assert [json.loads(str(call.arguments)) for call in parsed.tool_calls] == [{"a": 1}, {"b": "x"}, {"a": 2}]
    assert parsed.text == ""


@every_family
def test_call_without_arguments(family: str) -> None:
    """An empty object is an empty object in every family."""
    assert found(section(family, ("now", "{}"))) == [("now", {})]


@every_family
def test_thinking_comes_off(family: str) -> None:
    """Thinking before the call is reasoning, also when its begin marker stands in the prompt."""
    for thought in ("<think>\nhm <b>\n</think>\n\n", "hm <b></think>"):
        parsed = parse_text(thought + "Yes. " + section(family, ("f", "{}")))
        assert (parsed.reasoning, parsed.text, len(parsed.tool_calls)) == ("hm <b>", "Yes.", 1)


@every_family
def test_a_call_inside_thinking_is_not_made(family: str) -> None:
    """What a model only thinks of calling is not a call."""
    parsed = parse_text(f"<think>I could {section(family, ('f', '{}'))}</think>No.")
    assert (parsed.text, parsed.tool_calls) == ("No.", ())


@every_family
def test_end_marker_cut_off_as_a_stop_word(family: str) -> None:
    """A last call without its end marker is whole when the model stopped by itself."""
    _, write, _ = FAMILIES[family]
    call = write("f", '{"a": 1}').rstrip()
    open_call = call[: call.rindex("<")]
    parsed = parse_text("Hi " + open_call)
    assert [(call.name, json.loads(str(call.arguments))) for call in parsed.tool_calls] == [("f", {"a": 1})]
    assert parsed.text == "Hi"


@every_family
def test_call_cut_by_the_budget_stays_open(family: str) -> None:
    """However early the budget ran out, the cut call's arguments never read as complete JSON, and no markup is left."""
    begin, write, _ = FAMILIES[family]
    call = begin + write("f", '{"a": "xyz", "b": [1, 2]}')
    made = 0
    for length in range(len(begin) + 12, call.index("2]")):
        for cut in parse_text(call[:length], is_cut=True).tool_calls:
            made += 1
            with pytest.raises(json.JSONDecodeError):
                json.loads(str(cut.arguments))
    assert made > 10


def test_kimi_ids_are_kept() -> None:
    """Kimi's own id is the call's id; other families give none."""
    assert parse_text(kimi("get-weather.v2", "{}", 3)).tool_calls[0].id == "functions.get-weather.v2:3"
    assert parse_text(hermes("f", "{}")).tool_calls[0].id is None


@pytest.mark.parametrize("call_id", ["functions.f:0", "f:0", "functions.f", "f", " functions.f:12 "])
def test_kimi_id_forms(call_id: str) -> None:
    """With or without prefix and number, the name is the name."""
    text = f"<|tool_call_begin|>{call_id}<|tool_call_argument_begin|>{{}}<|tool_call_end|>"
    assert found(text) == [("f", {})]


def test_arguments_are_kept_as_written() -> None:
    """Families that write JSON keep their text, broken or repeated as it is."""
    for broken in ('{"a": 1,}', '{"a": 1, "a": 2}', "{'a': 1}", "", "[1]"):
        assert parse_text(kimi("f", broken)).tool_calls[0].arguments == broken
        assert parse_text(deepseek_v31("f", broken)).tool_calls[0].arguments == broken


def test_broken_hermes_call_is_a_call_with_broken_arguments() -> None:
    """A call that is not JSON is counted and left for the judge, not hidden."""
    (call,) = parse_text(hermes("f", '{"a": 1,}')).tool_calls
    assert (call.name, call.arguments) == ("f", '{"a": 1,}')
    (call,) = parse_text('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>').tool_calls
    assert call.arguments == '{"a": 1}'
    (call,) = parse_text('<tool_call>{"name": "f"}</tool_call>').tool_calls
    assert call.arguments == ""


@pytest.mark.parametrize(
    "text",
    [
        "<|tool_call_begin|>functions.f:0{}<|tool_call_end|>",
        "<|tool_call_begin|><|tool_call_argument_begin|>{}<|tool_call_end|>",
        "<tool_call>{}</tool_call>",
        "<tool_call>{broken}</tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>two words</tool_call>",
        "<tool_call><function=f</tool_call>",
        "<｜tool▁call▁begin｜>f{}<｜tool▁call▁end｜>",
        '<invoke name="f</invoke>',
    ],
)
def test_senseless_markup_stays_in_the_text(text: str) -> None:
    """What is no call in its own family's terms is left where it can be seen."""
    parsed = parse_text(text)
    assert (parsed.text, parsed.tool_calls) == (text, ())


@pytest.mark.parametrize("text", ["", "Hello", "a < b", "  two\n\n lines ", "<b>bold</b>", "Use <think> tags</think>?"])
def test_ordinary_text_is_untouched(text: str) -> None:
    """Text without markers is what it was."""
    parsed = parse_text(text)
    assert (parsed.text, parsed.reasoning, parsed.tool_calls) == (text, "", ())


@pytest.mark.parametrize(
    "marker", ["<|im_end|>", "<｜end▁of▁sentence｜>", "<|user|>", "</s>", "<|im_end|>\n<|endoftext|>"]
)
def test_end_of_turn_comes_off(marker: str) -> None:
    """Special tokens that end the turn are no text, at the end only."""
    assert parse_text(f"Hi{marker}").text == "Hi"
    assert parse_text(f"Hi{marker}there").text == f"Hi{marker}there"


def test_unfinished_thinking() -> None:
    """Thinking that never ended is reasoning, not an answer."""
    parsed = parse_text("<think>hm, <tool_call>{")
    assert (parsed.reasoning, parsed.text, parsed.tool_calls) == ("hm, <tool_call>{", "", ())


@pytest.mark.parametrize("write", [glm, qwen_coder, minimax])
def test_declared_strings_stay_text(write: Any) -> None:
    """Where values have no quotes, the tool's declaration decides; without one, JSON is JSON."""
    properties = {"zip": {"type": "string"}, "unit": {"enum": ["1", "2"]}, "n": {"type": "integer"}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": properties}}}]
    text = write("f", '{"zip": "8001", "unit": "1", "n": 3, "other": "true"}')
    assert found(text, tools=tools) == [("f", {"zip": "8001", "unit": "1", "n": 3, "other": True})]
    assert found(text) == [("f", {"zip": 8001, "unit": 1, "n": 3, "other": True})]


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("null", {"type": ["string", "null"]}, None),
        ("7", {"type": ["string", "null"]}, "7"),
        ("null", {"type": "string"}, "null"),
        ("x", {"type": "integer"}, "x"),
        ("NaN", {"type": "number"}, "NaN"),
        ("[1, 2]", {"type": "array"}, [1, 2]),
        ("true", None, True),
        ("true", {"type": 7}, True),
        ("true", {"enum": []}, True),
    ],
)
def test_values(text: str, schema: Any, value: Any) -> None:
    """Declared text stays text, JSON is read, what is neither stays text."""
    assert read_value(text, schema) == value


MARKS = ["<tool_call>", "</tool_call>", "<|tool_call_begin|>", "<|tool_call_end|>", "<|tool_call_argument_begin|>"]
MARKS += ["functions.f:0", '{"name": "f", "arguments": {"a": 1}}', "{", "}", '"', "<function=", "<parameter=", ">"]
MARKS += ["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "\n"]
MARKS += [
    "<｜tool▁call▁end｜>",
    '<｜DSML｜invoke name="',
    '">',
    "</｜DSML｜invoke>",
    "<think>",
    "</think>",
    "```json",
    "f",
]


@given(st.lists(st.sampled_from(MARKS) | st.text(max_size=3), max_size=25).map("".join), st.booleans())
def test_any_mixture_of_markers_is_read(text: str, is_cut: bool) -> None:
    """No text raises; every call has a name and its arguments are text; without calls nothing of the answer is lost."""
    parsed = parse_text(text, is_cut=is_cut)
    for call in parsed.tool_calls:
        assert call.name
        assert isinstance(call.arguments, str)
    assert len(parsed.text) + len(parsed.reasoning) <= len(text)


@pytest.mark.parametrize(
    "mark", ["<tool_call>", "<|tool_call_begin|>", "</tool_call>", "<tool_call>{</tool_call>", "<think>"]
)
def test_floods_of_markers_cost_linear_time(mark: str) -> None:
    """Twice as many markers take twice as long, up to a megabyte of them."""
    assert_linear(lambda size: partial(parse_text, mark * (size // len(mark))), 250_000)
