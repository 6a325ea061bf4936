"""Reading calls: the normal form, JSON equality, extraction from text, and the assignment behind the pairing."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from costs import assert_linear
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.suites.tool_calls.calls import Call, read_call, read_expectation, read_native
from vendor_verifier.suites.tool_calls.matching import (
    Pair,
    best_assignment,
    heaviest_common,
    longest_common,
    pair_calls,
    same_value,
)
from vendor_verifier.suites.tool_calls.prompt import extract_calls
from vendor_verifier.values.event import ToolCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", max_size=1), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "spelled",
    [
        {"name": "a", "parameters": {"x": 1}}, {"name": "a", "arguments": {"x": 1}}, {"name": "a", "args": {"x": 1}},
        {"name": "a", "input": {"x": 1}}, {"name": "a", "arguments": '{"x": 1}'},
        {"name": "a", "parameters": None, "arguments": {"x": 1}},
        {"function": {"name": "a", "arguments": '{"x": 1}'}, "type": "function", "id": "1"},
        {"functionCall": {"name": "a", "args": {"x": 1}}}, {"function_call": {"name": "a", "arguments": '{"x": 1}'}},
    ],
)  # fmt: skip
def test_every_spelling_becomes_the_same_call(spelled: dict[str, Any]) -> None:
    """Aliases, wrappers and JSON text are forgotten."""
    assert read_call(spelled) == Call("a", {"x": 1})


@pytest.mark.parametrize("nothing", ["", "  ", "null", "{}"])
def test_no_arguments_are_no_parameters(nothing: str) -> None:
    """What vendors send for a tool without arguments is a sound call."""
    assert read_native(ToolCall("a", nothing)) == Call("a")


@pytest.mark.parametrize("broken", ['{"x": ', "[1]", '{}""', "NaN", "5"])
def test_arguments_that_are_no_object_make_the_call_malformed(broken: str) -> None:
    """The name is kept, the parameters are empty, the reason names the call."""
    call = read_native(ToolCall("a", broken))
    assert (call.name, call.parameters) == ("a", {})
    assert call.problem is not None
    assert call.problem.startswith("a: the parameters are")


def test_an_expectation_keeps_recorded_outputs_and_free_parameters() -> None:
    """An output stays with its call; a bare name takes any parameters; JSON text is read."""
    spelled = '[{"name": "a", "input": {}, "output": {"result": 1}}, "b"]'
    assert read_expectation(spelled).calls == (Call("a", output={"result": 1}), Call("b", any_parameters=True))
    assert read_expectation("[").problem is not None
    assert read_expectation(5).problem == "the expected calls are an array of objects, read a number"


@settings(deadline=None)  # the machine may be busy
@given(JSON)
def test_a_value_is_itself_and_survives_json(value: Any) -> None:
    """Equality is reflexive and sees no difference between a value and its JSON."""
    assert same_value(value, value)
    assert same_value(value, json.loads(json.dumps(value)))


@settings(deadline=None)  # the machine may be busy
@given(JSON, JSON)
def test_equality_is_symmetric_and_at_most_as_wide_as_pythons(one: Any, other: Any) -> None:
    """What differs for Python differs here; the reverse fails only for booleans."""
    assert same_value(one, other) == same_value(other, one)
    if same_value(one, other):
        assert one == other


def test_equality_costs_no_stack() -> None:
    """A hundred thousand levels are compared without recursion."""
    one: Any = 1
    other: Any = 1.0
    for _ in range(100_000):
        one, other = [one], [other]
    assert same_value(one, other)


@settings(deadline=None)  # the machine may be busy
@given(
    st.integers(0, 4).flatmap(
        lambda columns: st.lists(st.lists(st.integers(-5, 9), min_size=columns, max_size=columns), max_size=4)
    )
)
def test_the_assignment_is_the_best_of_all(weights: list[list[int]]) -> None:
    """Compared with every possible one-to-one pairing of the shorter side."""
    chosen = best_assignment(weights)
    rows, columns = len(weights), len(weights[0]) if weights else 0
    used = [column for column in chosen if column is not None]
    assert len(chosen) == rows
    assert len(set(used)) == len(used) == min(rows, columns)
    total = sum(weights[row][column] for row, column in enumerate(chosen) if column is not None)
    if rows <= columns:
        options = (list(enumerate(order)) for order in itertools.permutations(range(columns), rows))
    else:
        options = (
            [(row, column) for column, row in enumerate(order)]
            for order in itertools.permutations(range(rows), columns)
        )
    assert total == max(sum(weights[row][column] for row, column in option) for option in options)


def test_a_large_assignment_takes_no_time() -> None:
    """Two hundred identical calls a side are paired in order."""
    calls = [Call("a", {"x": 1})] * 200
    assert pair_calls(calls, calls) == tuple(Pair(at, at, 1) for at in range(200))


def test_equal_calls_are_paired_in_order_and_malformed_ones_not_at_all() -> None:
    """The tie goes to the earlier call; fewer superfluous parameters win before that."""
    expected = [Call("a", {"x": 1})]
    called = [Call("a", problem="?"), Call("a", {"x": 1, "y": 2}), Call("a", {"x": 1}), Call("a", {"x": 1})]
    assert pair_calls(expected, called) == (Pair(0, 2, 1),)


@settings(deadline=None)  # the machine may be busy
@given(st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.sampled_from("abc"), max_size=7))
def test_the_common_subsequence_is_the_longest(one: list[str], other: list[str]) -> None:
    """Compared with every subsequence of the shorter side."""
    parts = (part for size in range(len(one), -1, -1) for part in itertools.combinations(one, size))
    longest = next(len(part) for part in parts if _is_inside(part, other))
    assert longest_common(one, other) == longest


def _is_inside(part: tuple[str, ...], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(name in rest for name in part)


def test_a_weighted_subsequence_prefers_the_heavier_pair() -> None:
    """Two candidates for one place: the weight decides, not the position."""
    assert heaviest_common([1], [5, 9, 7], lambda _, got: got) == 9


CALL = '{"name": "a", "arguments": {"x": 1}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL, f"[{CALL}]", f'{{"tool_calls": [{CALL}]}}', f"```\n{CALL}\n```",
        f"```python\nprint()\n```\n~~~json\n{CALL}\n~~~",
        f"`````\n{CALL}\n`````", f"```json {CALL} ```", f"```json\n{CALL}", f"Text {CALL} text.", f"[1] says: {CALL}",
        f"<tool_call>\n{CALL}\n</tool_call>", f"<tool_call>{CALL}", f"```xml\n<tool_call>{CALL}</tool_call>\n```",
        f'{{"role": "assistant", "content": null, "tool_calls": [{CALL}]}}',
        f'[{{"role": "user", "content": "hi"}}, {{"role": "assistant", "tool_calls": [{CALL}]}}]',
    ],
)  # fmt: skip
def test_every_layout_gives_the_one_call(text: str) -> None:
    """Whole JSON, any fence, markup, prose, messages."""
    assert extract_calls(text).calls == (Call("a", {"x": 1}),)


@pytest.mark.parametrize(
    "text",
    [
        f"[{CALL}, {CALL}]", f"{CALL}\n{CALL}", f"{CALL}\r\n\r\n[{CALL}]",
        f"```json\n{CALL}\n```\nand\n```\n{CALL}\n```",
        f"```jsonl\n{CALL}\n{CALL}\n```", f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>",
        f"<tool_call>{CALL}\n{CALL}</tool_call>",
    ],
)  # fmt: skip
def test_every_layout_of_two_calls_gives_both(text: str) -> None:
    """Several blocks, lines and tags are one answer in order."""
    assert extract_calls(text).calls == (Call("a", {"x": 1}),) * 2


@pytest.mark.parametrize("text", ["", "   ", "none", "[]", "{}", "null", '"a"', "```json\n[]\n```", "see [1] and {x}"])
def test_no_calls_are_no_problem(text: str) -> None:
    """Nothing found is nothing called."""
    assert extract_calls(text) == extract_calls("")


def test_two_values_in_prose_are_ambiguous() -> None:
    """Nobody can say whether the first was a draft."""
    found = extract_calls(f"First {CALL}, no, rather {CALL}.")
    assert found.calls == ()
    assert found.problem == "2 JSON values in prose hold calls; which one is meant is not said"


def test_markup_without_json_is_a_malformed_call() -> None:
    """A tag says that a call was meant."""
    (call,) = extract_calls("<tool_call>get_weather(London)</tool_call>").calls
    assert call.problem == "a call is an object, read nothing"


@settings(deadline=None)  # the machine may be busy
@given(st.text('[]{}",:`~ \n\\a1<>/tol_c'))
def test_extraction_never_raises(text: str) -> None:
    """Whatever the text, there are calls or there are none."""
    for call in extract_calls(text).calls:
        assert call.name or call.problem


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 50_000, "`" * 100_000, "```\n[" * 20_000, "<tool_call>" * 20_000]
)
def test_extraction_from_monsters_ends_soon(text: str) -> None:
    """Unclosed brackets, fences and tags by the thousand cost neither time nor stack."""
    assert not any(call.name for call in extract_calls(text).calls)


TOOLS = ("get_stock_price", "now", "a.b-c")
PRICE = Call("get_stock_price", {"symbol": "AAPL"})


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('I would call get_stock_price(symbol="AAPL").', (PRICE,)),
        ("get_stock_price(symbol='AAPL'), so: get_stock_price(symbol=\"AAPL\")", (PRICE,)),
        ('First now(), then get_stock_price(symbol="AAPL")', (Call("now"), PRICE)),
        (
            'a.b-c(x=[1, {"k": -2.5}], y=true, z=None, s="f(\\")")',
            (Call("a.b-c", {"x": [1, {"k": -2.5}], "y": True, "z": None, "s": 'f(")'}),),
        ),
        ('my.get_stock_price(symbol="AAPL") and get_stock_prices(symbol="A")', ()),
        ("get_stock_price(", ()),
        ("get_stock_price (see below)", ()),
        ("get_stock_price(the symbol)", ()),
        ("other(symbol='AAPL')", ()),
    ],
)
def test_calls_of_known_tools_are_found_in_prose(text: str, calls: tuple[Call, ...]) -> None:
    """``name(key="value")`` with literals, each different call once, in order; of no other tool."""
    assert extract_calls(text, TOOLS).calls == calls
    assert extract_calls(text).calls == ()


@pytest.mark.parametrize("arguments", ['"AAPL"', "symbol=AAPL", "**{}", "symbol=(1, 2)", "symbol=1+1", "x={1: 2}"])
def test_a_call_in_prose_that_cannot_be_read_is_malformed(arguments: str) -> None:
    """It was made, so it is kept, and nothing in it is evaluated."""
    (call,) = extract_calls(f"get_stock_price({arguments})", TOOLS).calls
    assert (call.name, bool(call.problem)) == ("get_stock_price", True)


def test_json_goes_before_prose() -> None:
    """Where a text holds JSON with calls, what it says beside it is no call."""
    assert extract_calls(f"now() is not needed: {CALL}", TOOLS).calls == extract_calls(CALL).calls


@given(st.text(alphabet="now(){}[]'\"=,: \\x1", max_size=60))
def test_no_prose_raises(text: str) -> None:
    """Whatever stands there."""
    extract_calls(text, TOOLS)


def test_hostile_prose_costs_no_more_than_its_length() -> None:
    """Brackets that never close, and calls without end."""
    assert_linear(lambda size: lambda: extract_calls("now(" * size, TOOLS), 2_000)
    assert len(extract_calls("".join(f"now(x={n})" for n in range(1000)), TOOLS).calls) == 64
