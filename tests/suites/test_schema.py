"""Arguments are judged by the sample's own schema, and a bad schema is nobody's fault but the dataset's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.event import ToolCall
from vendor_verifier.suites.schema import ArgumentChecker

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
NO_PARAMETERS = object()


def tool(name: str, parameters: Any = NO_PARAMETERS) -> dict[str, Any]:
    function = {"name": name} if parameters is NO_PARAMETERS else {"name": name, "parameters": parameters}
    return {"type": "function", "function": function}


def verdict(parameters: Any, arguments: str, name: str = "t") -> str:
    return ArgumentChecker([tool("t", parameters)]).check(ToolCall(name, arguments)).verdict


@pytest.mark.parametrize(
    ("parameters", "arguments", "expected"),
    [
        (CITY, '{"city": "Oslo"}', "valid"),
        (CITY, '{"city": "Oslo", "city": 3}', "schema_mismatch"),
        (CITY, '{"city": 3, "city": "Oslo"}', "valid"),
        (CITY, '{"city": 3}', "schema_mismatch"),
        (CITY, "{}", "schema_mismatch"),
        (CITY, '{"city": "Oslo"', "invalid_json"),
        (CITY, '{"city": "Oslo"}{"city": "Rome"}', "invalid_json"),
        (CITY, '{"city": NaN}', "invalid_json"),
        (CITY, '["Oslo"]', "invalid_json"),
        (CITY, "null", "invalid_json"),
        (CITY, '{"x": ' + "[" * 5000 + "]" * 5000 + "}", "invalid_json"),
        (CITY, '{"n": 1' + "0" * 5000 + "}", "invalid_json"),
        ({"additionalProperties": False}, '{"\\ud800": 1}', "invalid_json"),
    ],
)
def test_arguments_fall_into_their_class(parameters: Any, arguments: str, expected: str) -> None:
    """Each way of being wrong has its own class, and of duplicate keys the last one counts."""
    assert verdict(parameters, arguments) == expected


def test_a_tool_that_was_not_offered_is_unknown() -> None:
    assert verdict(CITY, '{"city": "Oslo"}', name="other") == "unknown_tool"


@pytest.mark.parametrize("parameters", [NO_PARAMETERS, None, {}])
def test_a_tool_without_schema_takes_any_object(parameters: Any) -> None:
    """Absent, null or empty parameters make any object valid instead of "no schema found"."""
    assert verdict(parameters, '{"anything": [1]}') == "valid"
    assert verdict(parameters, "3") == "invalid_json"


@pytest.mark.parametrize("nothing", ["", " \n"])
def test_no_arguments_where_none_are_needed_are_a_class(nothing: str) -> None:
    """An empty text is empty_arguments where {} would do, and invalid_json where something is required."""
    assert verdict({"type": "object", "properties": {}}, nothing) == "empty_arguments"
    assert verdict(NO_PARAMETERS, nothing) == "empty_arguments"
    assert verdict({"type": "dict", "properties": {"a": {"type": "str"}}}, nothing) == "empty_arguments"
    assert verdict({"type": "dict", "required": ["a"]}, nothing) == "invalid_json"
    assert verdict(CITY, nothing) == "invalid_json"
    assert verdict({"minProperties": 1}, nothing) == "invalid_json"


@pytest.mark.parametrize(
    "parameters",
    [
        {"required": {"circle": ["radius"]}},
        {"type": "wizard"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#/$defs/missing"},
        {"$schema": "http://example.invalid/own-draft"},
        {"properties": {"a": {"pattern": "(["}}},
        {"properties": {"a": {"const": "\ud800"}}},
        ["not", "an", "object"],
        True,
    ],
)
def test_an_unusable_schema_is_a_defect_of_the_dataset(parameters: Any) -> None:
    """A schema that cannot be compiled without fetching anything gives schema_unusable and a defect, no error."""
    assert verdict(parameters, '{"a": "x"}') == "schema_unusable"
    assert verdict(parameters, "") == "schema_unusable"
    assert verdict(parameters, "{") == "invalid_json"
    assert ArgumentChecker([tool("t", parameters)]).may_be_refused


def test_a_pattern_that_gives_up_charges_nobody() -> None:
    """A pattern that exceeds its backtracking limit says nothing about the arguments."""
    parameters = {"properties": {"a": {"pattern": "^(?=a)(a|a)*\\1$"}}}
    assert verdict(parameters, '{"a": "' + "a" * 60 + '!"}') == "not_judged"


def test_the_draft_is_the_one_the_schema_names() -> None:
    """exclusiveMinimum as a boolean is draft 4's and unusable where the schema says that it is of a later one."""
    draft4 = {"properties": {"n": {"minimum": 1, "exclusiveMinimum": True}}}
    prefix = {"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"n": {"items": [{}]}}}
    assert verdict(prefix, '{"n": [1]}') == "schema_unusable"
    assert verdict({"$schema": "http://json-schema.org/draft-04/schema#", **draft4}, '{"n": 1}') == "schema_mismatch"
    assert verdict({"properties": {"n": {"prefixItems": [{"type": "string"}]}}}, '{"n": [1]}') == "schema_mismatch"


def test_format_is_an_annotation_in_every_draft() -> None:
    """A text that breaks its format is not charged, so drafts do not differ in strictness."""
    for draft in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        parameters = {"$schema": draft, "properties": {"m": {"type": "string", "format": "email"}}}
        assert verdict(parameters, '{"m": "nobody"}') == "valid"


def test_the_pointer_names_the_first_violation() -> None:
    """The place inside the arguments is an RFC 6901 pointer with its escapes."""
    parameters = {"properties": {"a/b~c": {"type": "array", "items": {"type": "integer"}}}}
    found = ArgumentChecker([tool("t", parameters)]).check(ToolCall("t", '{"a/b~c": [1, "x"]}'))
    assert (found.verdict, found.pointer) == ("schema_mismatch", "/a~1b~0c/1")
    assert found.message is not None
    assert "integer" in found.message


def test_messages_are_capped() -> None:
    """A huge argument does not make a huge report."""
    found = ArgumentChecker([tool("t", CITY)]).check(ToolCall("t", '{"city": [' + '"x",' * 9999 + '"x"]}'))
    assert found.message is not None
    assert len(found.message) <= 300


def test_a_name_declared_twice_means_its_first_definition() -> None:
    """The first of two definitions judges, and the repetition is reported as the dataset's defect."""
    tools = (tool("t", CITY), tool("t", {"required": ["other"]}), tool("u"))
    assert ArgumentChecker(tools).check(ToolCall("t", '{"city": "Oslo"}')).verdict == "valid"
    assert ArgumentChecker(tools).defects == ("tool 't' is declared twice; the first definition counts",)
    assert not ArgumentChecker(tools).may_be_refused


def test_tools_without_names_are_reported() -> None:
    """Tools nobody can call are a defect, whatever shape they have."""
    assert ArgumentChecker([{"type": "function"}, {"function": {"name": ""}}]).defects == (
        "tool 1 has no name",
        "tool 2 has no name",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.dictionaries(
    st.sampled_from(["type", "properties", "required", "enum", "$ref", "anyOf", "pattern", "items", "$schema", "not"]),
    JSON,
    max_size=4,
)


@given(KEYWORDS | JSON, st.text(max_size=40) | JSON.map(str))
def test_nothing_makes_the_checker_raise(parameters: Any, arguments: str) -> None:
    """Any schema with any text gives a verdict."""
    assert verdict(parameters, arguments) in (
        "valid", "invalid_json", "schema_mismatch", "empty_arguments", "schema_unusable", "valid_in_dialect",
        "not_judged",
    )  # fmt: skip
