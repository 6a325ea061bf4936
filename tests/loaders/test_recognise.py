"""Data sets of every known format: recognised by a row, read to the same question, refused in words that help."""

from __future__ import annotations

import gzip
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.loaders import LOADERS, LoadedSamples
from vendor_verifier.loaders.recognise import read_dataset_file, recognise
from vendor_verifier.loaders.tool_calls_jsonl import row_of
from vendor_verifier.pipeline.converting import load_dataset
from vendor_verifier.values.sample import Sample

FILE = Path("set.json")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather.", "parameters": SCHEMA}}
CALL = {"name": "weather", "parameters": {"city": "Oslo"}}
QUERY = "Weather in Oslo?"
FUNCTIONS = [
    {"name": "weather", "description": "It's hot\\d", "parameters": SCHEMA, "required": None, "strict": True},
    {"name": "Finish", "description": "End.", "parameters": {"type": "object", "properties": {}}},
]
SAID = [
    ("system", f"Follow the format.\nSpecifically, you have access to the following APIs: {FUNCTIONS!r}"),
    ("user", f"\n{QUERY}\nBegin!\n"),
    ("assistant", '\nThought: look\nAction: weather\nAction Input: {\n  "city": "Oslo"\n}'),
    ("function", '{"error": "", "response": "cold"}'),
    ("assistant", '\nThought: done\nAction: Finish\nAction Input: {"return_type": "give_answer"}'),
]
API = {
    "category_name": "Weather",
    "tool_name": "Sky Watch",
    "api_name": "Current (v2)",
    "api_description": "Weather now.",
    "required_parameters": [{"name": "city", "type": "STRING", "description": "City", "default": "Rome"}],
    "optional_parameters": [{"name": "days", "type": "NUMBER", "description": "", "default": ""}],
}
ROWS: dict[str, dict[str, Any]] = {
    "tool_calls": {
        "messages": [{"role": "user", "content": QUERY}],
        "tools": [TOOL],
        "temperature": 0,
        "expected": {"calls": [CALL], "similar": [["sky"]]},
        "tags": {"category": "weather", "difficulty": "easy"},
    },
    "chat": {"messages": [{"role": "user", "content": QUERY}], "tools": [TOOL], "expected_tool_call": True},
    "toolbench": {"id": 7, "query": QUERY, "tools": [TOOL], "ground_truth": [CALL], "difficulty": "hard"},
    "mcp_toolbench_pp": {
        "uuid": "u-1",
        "category": "weather",
        "call_type": "single",
        "tools": [{"name": "weather", "description": "Weather.", "input_schema": SCHEMA}],
        "mcp_tools_dict": {"sky": ["weather"]},
        "query": QUERY,
        "function_call_label": [
            {
                "name": "weather",
                "step": "1",
                "mcp_server": "sky",
                "similar_tools": [{"name": "forecast", "mcp_server": "sky"}],
                "input": {"city": "Oslo"},
                "output": {"status_code": 200, "result": {}},
            }
        ],
    },
    "toolbench_conversations": {"id": "c-1", "conversations": [{"from": who, "value": what} for who, what in SAID]},
    "openbmb": {
        "api_list": [API],
        "query": QUERY,
        "relevant APIs": [["Sky Watch", "Current (v2)"]],
        "query_id": 12,
    },
}


def read(*rows: Any, format: str | None = None, skip_bad: bool = False, array: bool = False) -> LoadedSamples:
    text = json.dumps(rows, indent=1) if array else "\n".join(json.dumps(row) for row in rows)
    return read_dataset_file(text.encode(), dataset="mine", file=FILE, format=format, skip_bad=skip_bad)


def one(row: dict[str, Any], **options: Any) -> Sample:
    [sample] = read(row, **options).samples
    return sample


def refusal(*rows: Any, **options: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        read(*rows, **options)
    return [str(problem) for problem in caught.value.problems]


def without(row: dict[str, Any], *keys: str, **more: Any) -> dict[str, Any]:
    return {**{key: value for key, value in row.items() if key not in keys}, **more}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("array", [False, True])
def test_every_format_is_recognised_by_its_row(name: str, array: bool) -> None:
    """Both as JSON lines and as an array a file says what it is, and naming the format gives the same samples."""
    loaded = read(ROWS[name], array=array)
    assert loaded.format == name
    assert loaded.samples == read(ROWS[name], array=array, format=name).samples
    assert loaded.samples[0].turn.messages[-1]["content"] == QUERY
    assert not loaded.defects


def test_every_loader_has_a_row_here() -> None:
    """A format added to the tuple is tested like the others, and its name is its own."""
    assert sorted(loader.name for loader in LOADERS) == sorted(ROWS)


def test_our_rows_keep_calls_similar_tools_and_tags() -> None:
    """What a suite reads stands under expected, what the filters read under tags, and the rest is sent."""
    sample = one(ROWS["tool_calls"])
    assert sample.expected == {"calls": [CALL], "similar": [["sky"]]}
    assert sample.tags == {"category": "weather", "difficulty": "easy"}
    assert (sample.turn.tools, sample.turn.parameters) == ((TOOL,), {"temperature": 0})


def test_expected_calls_may_be_spelled_as_any_wire_spells_them() -> None:
    """Arguments as text, chat-completions calls and bare names are read into one form; outputs stay."""
    calls = [
        {"function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
        {"name": "weather", "arguments": {"city": "Rome"}, "output": [1]},
        "weather",
    ]
    sample = one(without(ROWS["tool_calls"], expected={"calls": calls}))
    wanted = {"name": "weather", "parameters": {"city": "Rome"}, "output": [1]}
    assert sample.expected["calls"] == [CALL, wanted, "weather"]


@pytest.mark.parametrize(
    "tools",
    [
        json.dumps([TOOL]),
        [{"name": "weather", "description": "Weather.", "parameters": SCHEMA}],
        [{"name": "weather", "description": "Weather.", "inputSchema": SCHEMA}],
        {"sky": [{"name": "weather", "description": "Weather.", "input_schema": SCHEMA}]},
    ],
)
def test_tools_in_any_spelling_are_the_same_question(tools: Any) -> None:
    """JSON text, bare functions, MCP tools and tools by server give the sample the same identity."""
    assert one(without(ROWS["toolbench"], tools=tools)).id == one(ROWS["toolbench"]).id


def test_toolbench_rows_are_read() -> None:
    """Ground truth becomes the expected calls, id and difficulty become tags."""
    sample = one(without(ROWS["toolbench"], ground_truth=json.dumps([CALL])))
    assert sample.expected == {"calls": [CALL]}
    assert sample.tags == {"id": 7, "difficulty": "hard"}


def test_tools_without_schema_or_with_bare_properties_are_read() -> None:
    """A bare name declares a tool that takes anything; a mapping of properties becomes a schema."""
    tools = ["weather", {"name": "time", "parameters": {"zone": {"type": "string"}}}, {"name": "x", "parameters": 3}]
    loaded = read(without(ROWS["toolbench"], tools=tools))
    declared = [tool["function"] for tool in loaded.samples[0].turn.tools]
    assert declared[0] == {"name": "weather"}
    assert declared[1]["parameters"] == {"type": "object", "properties": {"zone": {"type": "string"}}}
    assert loaded.defects == ("line 1: tool 3 has a number for a schema; it takes anything",)


@pytest.mark.parametrize("key", ["input", "parameters", "arguments"])
def test_mcp_labels_hold_arguments_under_three_keys(key: str) -> None:
    """The published files say input, the documentation parameters; a placeholder output is dropped."""
    row = ROWS["mcp_toolbench_pp"]
    label = without(row["function_call_label"][0], "input", **{key: {"city": "Oslo"}})
    sample = one({**row, "function_call_label": [label]})
    assert sample.expected == {"calls": [CALL], "similar": [["forecast"]]}
    assert sample.tags == {"id": "u-1", "category": "weather", "call_type": "single", "mcp_servers": ["sky"]}
    assert sample.turn.tools == (TOOL,)


def test_mcp_definitions_may_stand_in_the_dictionary() -> None:
    """As the documentation has it: tools are names, and mcp_tools_dict defines them; real outputs are kept."""
    row = ROWS["mcp_toolbench_pp"]
    label = without(row["function_call_label"][0], "output", output={"status_code": 200, "result": {"c": 3}})
    row = without(row, tools=["weather"], mcp_tools_dict={"sky": row["tools"]}, function_call_label=[label])
    assert one(row).turn.tools == (TOOL,)
    assert one(row).expected["calls"][0]["output"] == {"status_code": 200, "result": {"c": 3}}
    assert one(without(row, mcp_tools_dict={"sky": ["weather"]})).turn.tools[0]["function"] == {"name": "weather"}


@pytest.mark.parametrize("packed", [False, True])
def test_conversations_become_questions_with_native_tools(packed: bool) -> None:
    """Functions written as Python are read, Finish is neither tool nor call, and results become outputs."""
    row = ROWS["toolbench_conversations"]
    if packed:
        row = {"id": "c-1", "conversations": {"from": [who for who, _ in SAID], "value": [what for _, what in SAID]}}
    sample = one(row)
    assert sample.turn.messages == ({"role": "user", "content": QUERY},)
    assert [tool["function"]["name"] for tool in sample.turn.tools] == ["weather"]
    assert sample.expected == {"calls": [{**CALL, "output": {"error": "", "response": "cold"}}]}
    assert sample.tags == {"id": "c-1"}


def test_openbmb_rows_expect_names_only() -> None:
    """Relevant APIs carry no arguments, so any will do; types and examples of RapidAPI become a schema."""
    sample = one(ROWS["openbmb"])
    assert sample.expected == {"calls": ["current_v2_for_sky_watch"]}
    assert sample.tags == {"id": 12, "category": "Weather"}
    [tool] = sample.turn.tools
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "City (example: Rome)"}, "days": {"type": "number"}},
        "required": ["city"],
    }


def test_the_benchmark_config_is_read_with_its_lists_as_text() -> None:
    """The re-upload packs both lists into text; it is the same question, under either format name."""
    row = {
        "query_id": "12",
        "query": QUERY,
        "api_list": json.dumps([API]),
        "relevant_apis": json.dumps([["Sky Watch", "Current (v2)"]]),
    }
    assert one(row).id == one(ROWS["openbmb"]).id
    assert one(row, format="toolbench_conversations").expected == one(ROWS["openbmb"]).expected


def test_apis_of_one_name_are_told_apart() -> None:
    """Names are cut to 64 characters from the front, and a clash gets a number instead of losing an API."""
    apis = [{**API, "api_name": name} for name in ("A B", "A-B", "x" * 80)]
    names = [tool["function"]["name"] for tool in one({**ROWS["openbmb"], "api_list": apis}).turn.tools]
    assert names[:2] == ["a_b_for_sky_watch", "a_b_for_sky_watch_2"]
    assert len(names[2]) == 64
    assert names[2].endswith("_for_sky_watch")


def test_gold_calls_that_their_tools_refuse_are_the_datasets_defect() -> None:
    """A label against its own schema and a call of a tool not on offer are kept and said."""
    calls = [{"name": "weather", "parameters": {"city": 3}}, {"name": "gone", "parameters": {}}]
    loaded = read(without(ROWS["toolbench"], ground_truth=calls))
    assert loaded.samples[0].expected["calls"] == calls
    assert [defect.split(":")[1] for defect in loaded.defects] == [
        " expected call 1 (weather) is against its own schema at /city",
        " expected call 2 is of 'gone', which is not among the tools",
    ]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("toolbench", {"query": " "}, "query: expected the question as text, read a string"),
        ("toolbench", {"tools": None}, "tools: expected an array of tools, read null"),
        ("toolbench", {"ground_truth": None}, "ground_truth: expected an array of calls, read nothing"),
        ("toolbench", {"ground_truth": "[x"}, "ground_truth: text that is not JSON"),
        (
            "toolbench",
            {"ground_truth": [{"parameters": {}}]},
            "ground_truth: expected call 1: a call has a text as its",
        ),
        ("mcp_toolbench_pp", {"function_call_label": [3]}, "function_call_label: expected call 1: a call is an object"),
        ("openbmb", {"relevant APIs": [["a"]]}, "relevant APIs[1]: expected [tool, API], two texts"),
        ("openbmb", {"api_list": [{}]}, "api_list[1]: expected texts as tool_name and api_name"),
        ("toolbench_conversations", {"conversations": []}, "conversations: no user message"),
        ("toolbench_conversations", {"conversations": [3]}, "conversations[1]: expected an object with texts"),
        ("tool_calls", {"expected": {"calls": 3}}, "expected.calls: the expected calls are an array of objects"),
        ("tool_calls", {"expected": {"calls": [CALL], "similar": []}}, "expected.similar: expected one array of names"),
    ],
)
def test_a_row_that_does_not_fit_is_named_with_its_field(name: str, change: dict[str, Any], message: str) -> None:
    """The message begins with file, row and field, in an array as on a line."""
    good, bad = ROWS[name], {**ROWS[name], **change}
    [on_line] = refusal(good, bad)
    assert on_line.startswith(f"set.json:2: {message}")
    [in_array] = refusal(good, bad, array=True)
    assert in_array.startswith(f"set.json: row 2, {message}")
    loaded = read(good, bad, array=True, skip_bad=True)
    assert (len(loaded.samples), len(loaded.skipped)) == (1, 1)


def test_an_unknown_row_lists_what_is_known() -> None:
    """Nothing is guessed: what was read and what each format has are in one message."""
    [problem] = refusal({"question": "?", "answer": "!"})
    assert problem.startswith("set.json:1: the row is of no format known, read 'question', 'answer'; expected")
    assert "toolbench: query, tools, ground_truth" in problem


def test_a_bad_first_row_does_not_hide_the_format() -> None:
    """With bad rows left out, the format is that of the first row that has one."""
    loaded = read({"x": 1}, ROWS["toolbench"], skip_bad=True)
    assert loaded.format == "toolbench"
    assert [problem.line for problem in loaded.skipped] == [1]


def test_an_unknown_format_name_is_a_usage_error() -> None:
    """A misspelt --dataset-format lists the names there are."""
    with pytest.raises(UsageError, match="'tool-bench'; expected one of tool_calls, chat, mcp_toolbench_pp"):
        read(ROWS["toolbench"], format="tool-bench")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"[]", b"[1", b"[1, 2]", b'\xff["x"]', b"[\xff]", b"{", b"3"])
def test_files_without_rows_are_refused(content: bytes) -> None:
    """Empty, cut and binary files end in a DataError, never in another exception."""
    with pytest.raises(DataError):
        read_dataset_file(content, dataset="d", file=FILE)


def test_an_array_says_where_it_breaks() -> None:
    """A missing comma, as in a published file, is found by line and column."""
    with pytest.raises(DataError, match=r"set\.json:3: not JSON at column 1: Expecting ',' delimiter, read '\{"):
        read_dataset_file(b'[\n{"a": 1}\n{"a": 2}]', dataset="d", file=FILE)


def test_half_characters_are_refused_wherever_they_hide() -> None:
    """A lone surrogate cannot be sent, whether it stands in an array, in packed JSON or in a Python literal."""
    assert "half a character" in refusal(without(ROWS["toolbench"], query="\ud83d"), array=True)[0]
    assert "half a character" in refusal(without(ROWS["toolbench"], tools='["\\ud83d"]'))[0]
    system = SAID[0][1].replace("It's hot", "\\ud83d")
    row = {"conversations": [{"from": "system", "value": system}, {"from": "user", "value": "?"}]}
    assert "half a character" in refusal(row)[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted({key for row in ROWS.values() for key in row} | {"request", "relevant_apis", "prompt"})


@given(rows=st.lists(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=5), max_size=3), array=st.booleans())
def test_arbitrary_rows_raise_nothing_but_a_data_error(rows: list[dict[str, Any]], array: bool) -> None:
    """Whatever stands under the known keys is read or refused, in the file's format and in every other."""
    for name in (None, *ROWS):
        with suppress(DataError):
            read(*rows, format=name, array=array)


@given(name=st.sampled_from(sorted(ROWS)), data=st.data())
def test_a_field_replaced_raises_nothing_but_a_data_error(name: str, data: st.DataObject) -> None:
    """A good row with any one value, at any depth, replaced is read or refused."""
    row = json.loads(json.dumps(ROWS[name]))
    node: Any = row
    while True:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else list(range(len(node)))))
        if not isinstance(node[key], (dict, list)) or not node[key] or data.draw(st.booleans()):
            node[key] = data.draw(json_values)
            break
        node = node[key]
    with suppress(DataError):
        read(row, format=name)


@given(content=st.binary(max_size=60))
def test_arbitrary_bytes_raise_nothing_but_a_data_error(content: bytes) -> None:
    """Binary files end in a message."""
    for start in (b"", b"[", b'{"query":'):
        with suppress(DataError):
            read_dataset_file(start + content, dataset="d", file=FILE)


@given(text=st.text(st.sampled_from("[]{}()'\"\\-+*018:,.abeNjux_ \n"), max_size=40))
def test_an_arbitrary_list_of_functions_raises_nothing_but_a_data_error(text: str) -> None:
    """Python literals that are no JSON (sets, bytes, complex numbers, tuples as keys) and nonsense are refused."""
    row = {"conversations": [{"from": "system", "value": f"APIs: [{text}"}, {"from": "user", "value": "?"}]}
    with suppress(DataError):
        read(row)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "-" * 100_000 + "1]", "{1, 2}]", "b'x']", "1j]", "{(1,): 2}]", "9" * 5000 + "]", "1e999]", "\x00]"],
)
def test_literals_made_to_hurt_are_refused(text: str) -> None:
    """Depth, long numbers and values that JSON cannot hold end in a message, not in a crash."""
    row = {"conversations": [{"from": "system", "value": f"APIs: [{text}"}, {"from": "user", "value": "?"}]}
    assert refusal(row)[0].startswith("set.json:1: conversations")


def test_an_action_without_a_name_is_refused() -> None:
    """An input to nothing is the row's fault, named with the message it stands in."""
    row = json.loads(json.dumps(ROWS["toolbench_conversations"]))
    row["conversations"][2]["value"] = "Action Input: {}"
    assert refusal(row) == ["set.json:1: conversations[3]: expected `Action:` and a name before `Action Input:`"]
    row["conversations"][2]["value"] = "Action: weather\nAction Input: [3]"
    assert "expected an object after `Action Input:`" in refusal(row)[0]


@pytest.mark.parametrize("name", ROWS)
def test_conversion_and_loading_give_the_same_samples(name: str) -> None:
    """Id, question, expectation and tags survive being written as our rows, for two equal rows too."""
    loaded = read(ROWS[name], ROWS[name])
    again = read(*map(row_of, loaded.samples))
    for before, after in zip(loaded.samples, again.samples, strict=True):
        assert (after.id, after.turn) == (before.id, before.turn)
        assert (after.expected, after.tags) == (before.expected, before.tags)
    assert [sample.id[-2:] for sample in again.samples] == ["-1", "-2"]


call_values = st.fixed_dictionaries(
    {"name": st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)},
    optional={"parameters": st.dictionaries(st.text(max_size=5), json_values, max_size=3), "output": json_values},
)
tag_values = st.dictionaries(st.sampled_from(["id", "category", "difficulty", "tags", "features"]), json_values)


@given(calls=st.lists(call_values, max_size=3), tags=tag_values)
def test_any_calls_and_tags_round_trip(calls: list[dict[str, Any]], tags: dict[str, Any]) -> None:
    """Whatever JSON calls and tags hold, writing and reading again changes nothing."""
    row = without(ROWS["tool_calls"], expected={"calls": calls}, tags=tags)
    try:
        [before] = read(row).samples
    except DataError as error:
        assert "half a character" in str(error)  # noqa: PT017 - any other refusal would be a defect
        return
    [after] = read(row_of(before)).samples
    assert (after.id, after.expected, after.tags) == (before.id, before.expected, before.tags)


def test_recognise_knows_no_row_by_its_values() -> None:
    """An empty object and a row of strangers have no format."""
    assert recognise({}) is None
    assert recognise({"query": "?"}) is None


def test_a_large_array_loads_quickly(tmp_path: Path) -> None:
    """Ten megabytes of rows that repeat their tool list, compressed and on one line, load in under two seconds."""
    schema = {
        "type": "object",
        "properties": {f"p{at}": {"type": "string", "description": "x" * 40} for at in range(4)},
    }
    tools = [{"name": f"t{at}", "description": "y" * 150, "input_schema": schema} for at in range(24)]
    label = [{"name": "t3", "input": {"p0": "a"}}]
    rows = [{"query": f"q{at}", "tools": tools, "function_call_label": label} for at in range(800)]
    text = json.dumps(rows)
    assert len(text) > 10_000_000
    path = tmp_path / "big.json.gz"
    path.write_bytes(gzip.compress(text.encode(), 1))
    start = time.process_time()
    loaded = load_dataset(path)
    assert len(loaded.samples) == 800
    assert time.process_time() - start < 2
