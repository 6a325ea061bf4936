"""Arguments are judged by the sample's own schema, and a bad schema is nobody's fault but the dataset's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from call_evaluations import any_json
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.record import CallVerdict, ToolCall
from vendor_verifier.suites.schema import MAX_PARTS, ArgumentChecker

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: str, parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def verdict(parameters: Any, arguments: str) -> str:
    return ArgumentChecker([tool("t", parameters)]).check(ToolCall("t", arguments)).verdict


LONG = {"a": "a" * 100_000}


def judged(schema: Any, arguments: Any) -> CallVerdict:
    return ArgumentChecker([tool("t", schema)]).check(ToolCall("t", json.dumps(arguments)))


def doubled(word: str, times: int, last: Any) -> dict[str, Any]:
    steps = {f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(times)}
    return {"$defs": {**steps, f"a{times}": last}, "$ref": "#/$defs/a0"}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"c": value}
    return value


@pytest.mark.parametrize(
    ("parameters", "arguments", "expected"),
    [
        (CITY, '{"city": "Oslo"}', "valid"),
        (CITY, '{"city": 3, "city": "Oslo"}', "valid"),
        (CITY, '{"city": 3}', "schema_mismatch"),
        (CITY, "{}", "schema_mismatch"),
        (CITY, '{"city": "Oslo"', "invalid_json"),
        (CITY, '{"city": NaN}', "invalid_json"),
        (CITY, '["Oslo"]', "invalid_json"),
        (CITY, '{"x": ' + "[" * 5000 + "]" * 5000 + "}", "invalid_json"),
        (CITY, '{"n": 1' + "0" * 5000 + "}", "invalid_json"),
        ({"additionalProperties": False}, '{"\\ud800": 1}', "invalid_json"),
        # Long texts, big lists, look-ahead on a password and schemas that refer to themselves are judged.
        ({"properties": {"a": {"pattern": "^a+$"}}}, LONG, "valid"),
        ({"properties": {"a": {"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}}}, LONG, "schema_mismatch"),
        ({"properties": {"a": {"pattern": "^(?!.*secret).*$"}}}, {"a": "a" * 5_000}, "valid"),
        (doubled("anyOf", 6, {"type": "string"}), {}, "schema_mismatch"),
        ({"$defs": {"n": {"properties": {"c": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}, nested(40), "valid"),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": list(range(100_000))}, "valid"),
        ({"properties": {"a": {"enum": [str(n) for n in range(15_000)]}}}, {"a": "7"}, "valid"),
    ],
)
def test_arguments_fall_into_their_class(parameters: Any, arguments: Any, expected: str) -> None:
    """Each way of being wrong has its own class, and of duplicate keys the last one counts."""
    assert verdict(parameters, arguments if isinstance(arguments, str) else json.dumps(arguments)) == expected


@pytest.mark.parametrize(
    "parameters",
    [
        {"required": {"circle": ["radius"]}},
        {"type": "wizard"},
        {"$ref": "http://127.0.0.1:9/schema.json"},
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


def test_the_pointer_names_the_first_violation() -> None:
    """The place inside the arguments is an RFC 6901 pointer with its escapes."""
    found = judged({"properties": {"a/b~c": {"items": {"type": "integer"}}}}, {"a/b~c": [1, "x"]})
    assert (found.verdict, found.pointer) == ("schema_mismatch", "/a~1b~0c/1")
    assert "integer" in str(found.message)


KEYWORDS = st.dictionaries(
    st.sampled_from(["type", "properties", "required", "enum", "$ref", "anyOf", "pattern", "items", "$schema", "not"]),
    any_json(),
    max_size=4,
)


@given(KEYWORDS | any_json(), st.text(max_size=40) | any_json().map(str))
def test_nothing_makes_the_checker_raise(parameters: Any, arguments: str) -> None:
    assert verdict(parameters, arguments) in (
        "valid", "invalid_json", "schema_mismatch", "empty_arguments", "schema_unusable", "valid_in_dialect",
        "not_judged",
    )  # fmt: skip


BRANCH = {"properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["x"]}
TOO_MUCH = {
    "a pattern that exceeds its limit": ({"properties": {"a": {"pattern": "^(?=a)(a|a)*\\1$"}}}, {"a": "a" * 60 + "!"}),
    "a pattern that looks around itself": ({"properties": {"a": {"pattern": "(?<=a)a+b"}}}, LONG),
    "anyOf that doubles": (doubled("anyOf", 40, {"type": "string"}), {}),
    "alternatives that double with the depth": ({"$defs": {"n": {"anyOf": [BRANCH, BRANCH]}}, "$ref": "#/$defs/n"}, nested(60)),  # noqa: E501
    "more parts than anybody declares": ({"properties": {f"p{n}": {} for n in range(MAX_PARTS + 1)}}, {}),
    "objects among objects": ({"properties": {"a": {"items": {"enum": [{"n": n} for n in range(4_000)]}}}}, {"a": [{"n": 3_999}] * 4_000}),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_costs_too_much_is_not_judged(name: str) -> None:
    """Neither valid nor invalid, with a reason in words; judged, each takes from half a minute up, or the process."""
    found = judged(*TOO_MUCH[name])
    assert found.verdict == "not_judged"
    assert found.message


def verdict_of(schema: Any, value: Any) -> str:
    return judged({"type": "object", "properties": {"a": schema}}, {"a": value}).verdict


@pytest.mark.parametrize(
    ("schema", "fits", "breaks"),
    [
        ({"type": "string", "nullable": True}, None, 3),
        ({"type": "string", "enum": ["x"], "nullable": True}, None, "y"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}], "nullable": True}, None, 1.5),
        ({"type": "object", "properties": {"b": {"type": "string", "nullable": True}}}, {"b": None}, {"b": 1}),
        *(({"type": name}, 1.5, "x") for name in ("NUMBER", "Float", "double")),
        *(({"type": name}, {"b": 1}, "x") for name in ("dict", "Dict", "OBJECT", "Object", "HashMap")),
        *(({"type": name}, [1], "x") for name in ("tuple", "list", "ARRAY", "ArrayList")),
        *(({"type": name}, "x", 1) for name in ("str", "STRING", "String")),
        *(({"type": name}, 1, 1.5) for name in ("int", "INTEGER", "long")),
        *(({"type": name}, True, "x") for name in ("bool", "BOOLEAN")),
        ({"type": ["STRING", "NULL"]}, None, 1),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": False}, 1, 0),
        ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}, ["x", 1], ["x", "y"]),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, ["x"], ["x", 1]),
    ],
)
def test_a_dialect_is_read_as_its_users_mean_it(schema: Any, fits: Any, breaks: Any) -> None:
    """What the author meant to allow is allowed, and what they meant to forbid is charged, wherever it is."""
    assert verdict_of(schema, fits) in ("valid_in_dialect", "valid")
    assert verdict_of(schema, breaks) == "schema_mismatch"
