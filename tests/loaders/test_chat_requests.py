"""Sample files: what is read, what is refused, and in which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.errors import DataError
from vendor_verifier.loaders import LoadedSamples, read_dataset_file

FILE = Path("samples.jsonl")
USER = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "a", "parameters": {}}}


def line(**body: Any) -> bytes:
    return json.dumps({"messages": [USER], **body}).encode() + b"\n"


def read(*lines: bytes, skip_bad: bool = False) -> LoadedSamples:
    return read_dataset_file(lines, dataset="mine", file=FILE, skip_bad=skip_bad, format="chat")


def refusal(*lines: bytes) -> list[str]:
    with pytest.raises(DataError) as caught:
        read(*lines)
    return [str(problem) for problem in caught.value.problems]


def test_body_is_split_into_what_is_asked_and_what_is_not() -> None:
    """Messages, tools and parameters are kept; the run's own keys and nulls go."""
    [sample] = read(
        line(tools=[TOOL], model="m", stream=True, stream_options={}, temperature=0.6, tool_choice="auto", seed=None)
    ).samples
    assert sample.turn.messages == (USER,)
    assert sample.turn.tools == (TOOL,)
    assert sample.turn.parameters == {"temperature": 0.6, "tool_choice": "auto"}
    assert sample.source is not None
    assert (sample.source.dataset, sample.source.line) == ("mine", 1)


@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("temperature", "hot", "float"),
        ("temperature", 2.5, "<= 2.0"),
        ("top_p", True, "float"),
        ("max_tokens", 0, ">= 1"),
        ("stop", ["a", 1], "str"),
        ("parallel_tool_calls", "no", "bool"),
        ("tool_choice", 3, "str | object"),
    ],
)
def test_a_parameter_that_nobody_can_take_is_a_defect_of_the_row(name: str, wrong: Any, words: str) -> None:
    """It is named with its line and key, and sent as it is: the row may mean to be refused."""
    good = {"temperature": 0, "top_p": 0.9, "max_tokens": 5, "stop": "x", "tool_choice": "auto", "own_key": "hot"}
    loaded = read(line(**good), line(**{name: wrong}))
    [defect] = loaded.defects
    assert defect.startswith(f"line 2: {name}: read ")
    assert words in defect
    assert loaded.samples[1].turn.parameters == {name: wrong}


def test_the_input_role_becomes_system() -> None:
    """`_input` is another project's word for system; null content and odd keys pass untouched."""
    odd = {"role": "assistant", "content": None, "tool_calls": [{"id": "read:0"}], "reasoning": "…"}
    [sample] = read(line(messages=[{"role": "_input", "content": "S"}, odd])).samples
    assert sample.turn.messages == ({"role": "system", "content": "S"}, odd)
    assert sample.id == read(line(messages=[{"role": "system", "content": "S"}, odd])).samples[0].id


def test_control_keys_become_tags_and_are_never_parameters() -> None:
    """A MiniMax row's keys describe it; those that state the answer are also what is expected."""
    controls = {"check_type": ["tool_calls"], "expected_tool_call": False, "scenario_check": {"x": 1}, "id": 7}
    [sample] = read(line(**controls, tags={"category": "c", "language": "en"}, language="fr")).samples
    assert sample.turn.parameters == {}
    assert sample.tags == {**controls, "category": "c", "language": "fr"}
    assert sample.expected == {"expected_tool_call": False, "scenario_check": {"x": 1}}


def test_a_request_inside_a_row_is_read() -> None:
    """Kimi rows put the body under `request`, batch rows under `body`; their own keys are outside."""
    row = {"id": "case-1", "description": "d", "request": json.loads(line(top_p=1)), "expected_prompt_tokens": 99}
    [sample] = read(json.dumps(row).encode()).samples
    assert sample.turn.parameters == {"top_p": 1}
    assert sample.tags == {"id": "case-1", "description": "d", "expected_prompt_tokens": 99}
    batch = {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [USER]}}
    [sample] = read(json.dumps(batch).encode()).samples
    assert (sample.turn.messages, sample.tags["id"]) == ((USER,), "r1")


def test_repeated_content_is_told_apart_by_occurrence() -> None:
    """The same question twice is two samples, whatever their parameters; other questions do not shift them."""
    loaded = read(line(temperature=0), line(tools=[TOOL]), line(temperature=1))
    digest = loaded.samples[0].id.partition("-")[0]
    assert [sample.id for sample in loaded.samples] == [f"{digest}-1", loaded.samples[1].id, f"{digest}-2"]
    assert "1 sample repeats" in loaded.defects[0]
    assert "(line 3)" in loaded.defects[0]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"messages": [}', "column 15"),
        (b"[1]", "expected a JSON object, read an array"),
        (b'{"messages": NaN}', "NaN is not JSON"),
        (b'{"a": 1, "a": 2}', "occurs twice"),
        (b'{"a": ' + b"[" * 500 + b"]" * 500 + b"}", "nested deeper"),
        (b'{"a": "\\ud83d"}', "half a character"),
        (b'{"messages": "[{\\"role\\": \\"u\\", \\"content\\": \\"\\\\ud83d\\"}]"}', "half a character"),
        (b"\xff\xfe{\x00", "UTF-16"),
        (b'{"a": "\xe9"}', "byte 0xe9 at position 8"),
        (b"{}", "no `messages`"),
        (b'{"prompt": "x"}', "rewritten as messages"),
        (b'{"messages": {}}', "expected an array of messages, read an object"),
        (b'{"messages": []}', "at least one message"),
        (b'{"messages": ["x"]}', "messages[1]: expected an object"),
        (b'{"messages": [{"content": "x"}]}', "expected a `role`"),
        (b'{"messages": [{"role": "user"}], "tools": {}}', "put it in brackets"),
        (b'{"messages": "[{"}', "not JSON"),
        (b'{"request": {}, "response": {}}', "`import`"),
        (b'"' + b"x" * (16 * 2**20) + b'"', "longer than 16 MB"),
    ],
)
def test_bad_line_is_named_with_file_line_and_cause(bad: bytes, said: str) -> None:
    [message] = refusal(line(), bad, line(tools=[TOOL]))
    assert message.startswith("samples.jsonl:2: ")
    assert said in message


def test_skip_bad_keeps_the_good_and_counts_the_bad() -> None:
    """At the user's wish a bad line costs only itself; physical line numbers stay."""
    loaded = read(b"x", line(), b"{}", skip_bad=True)
    assert [sample.source.line for sample in loaded.samples if sample.source] == [2]
    assert [problem.line for problem in loaded.skipped] == [1, 3]


def test_defects_of_tools_are_reported() -> None:
    """What is wrong in the data set is reported with its line, and is nobody else's fault."""
    loaded = read(line(tools=[TOOL, TOOL, "x", {"type": "web"}]))
    assert loaded.samples[0].turn.tools == (TOOL, TOOL, {"type": "web"})
    text = "\n".join(loaded.defects)
    for said in ("'a' is declared twice", "tool 3 is not an object but a string", "tool 4 has no name"):
        assert said in text
    assert all(defect.startswith("line 1: ") for defect in loaded.defects)


@pytest.mark.parametrize("key", ["parameters", "input_schema", "inputSchema"])
def test_bare_tools_are_read_as_functions(key: str) -> None:
    """A tool without ``function`` around it would never be offered; the report says that it was added."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    bare = {"name": "weather", key: schema}
    loaded = read(line(tools=[bare]), line(tools=[{"type": "builtin_function", "name": "search"}]))
    [tool] = loaded.samples[0].turn.tools
    assert tool == {"type": "function", "function": {"name": "weather", "parameters": schema}}
    assert loaded.defects[0].startswith("line 1: tool 1 has no")
    assert loaded.samples[1].turn.tools == ({"type": "builtin_function", "name": "search"},)
