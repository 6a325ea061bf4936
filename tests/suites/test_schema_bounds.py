"""No schema and no arguments make judging them cost more than a moment: what would is not judged, with the reason."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Response
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import CallVerdict
from vendor_verifier.scoring.calls import counted_calls, valid_calls
from vendor_verifier.suites.schema import MAX_PARTS, ArgumentChecker
from vendor_verifier.suites.trigger import TriggerSuite

LONG = {"a": "a" * 100_000}


def judged(schema: Any, arguments: Any) -> CallVerdict:
    checker = ArgumentChecker([{"type": "function", "function": {"name": "t", "parameters": schema}}])
    return checker.check(ToolCall("t", json.dumps(arguments)))


def doubled(word: str, times: int, last: Any) -> dict[str, Any]:
    """A schema whose references double at each of so many steps."""
    steps = {f"a{n}": {word: [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(times)}
    return {"$defs": {**steps, f"a{times}": last}, "$ref": "#/$defs/a0"}


def chain(length: int) -> dict[str, Any]:
    """A schema that leads through so many references."""
    steps = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(length)}
    return {"$defs": {**steps, f"a{length}": {}}, "$ref": "#/$defs/a0"}


def unevaluated(depth: int) -> dict[str, Any]:
    """A schema that looks at what was not evaluated, inside one that does, and so on."""
    schema: dict[str, Any] = {"properties": {"a": {}}}
    for _ in range(depth):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"c": value}
    return value


BRANCH = {"properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["x"]}
TOO_MUCH = {
    "a pattern that looks around itself": ({"properties": {"a": {"pattern": "(?<=a)a+b"}}}, LONG),
    "a pattern that looks ahead in a loop": ({"properties": {"a": {"pattern": "(?:(?=a*$)a)*c"}}}, LONG),
    "a pattern of counts in counts": ({"properties": {"a": {"pattern": "(a{0,300}){0,30}[a-c]{3}c"}}}, LONG),
    "a pattern for names": ({"patternProperties": {"(?<=a)a+b": {}}}, {"a" * 100_000: 1}),
    "a pattern beside a circle": ({"properties": {"b": {"$ref": "#"}, "a": {"pattern": "(?<=a)a+b"}}}, {"b": LONG}),
    "anyOf that doubles": (doubled("anyOf", 40, {"type": "string"}), {}),
    "allOf that doubles": (doubled("allOf", 40, {"type": "object"}), {}),
    "oneOf that doubles": (doubled("oneOf", 40, {"type": "object"}), {}),
    "alternatives that double with the depth": ({"$defs": {"n": {"anyOf": [BRANCH, BRANCH]}}, "$ref": "#/$defs/n"}, nested(60)),  # noqa: E501
    "unevaluatedProperties in itself": (unevaluated(30), {"a": 1}),
    "a chain of 100,000 references": (chain(100_000), {}),
    "a chain of 1,000 references": (chain(1_000), {}),
    "more parts than anybody declares": ({"properties": {f"p{n}": {} for n in range(MAX_PARTS + 1)}}, {}),
    "objects among objects": ({"properties": {"a": {"items": {"enum": [{"n": n} for n in range(4_000)]}}}}, {"a": [{"n": 3_999}] * 4_000}),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_costs_too_much_is_not_judged(name: str) -> None:
    """Neither valid nor invalid, with a reason in words; judged, each takes from half a minute up, or the process."""
    found = judged(*TOO_MUCH[name])
    assert found.verdict == "not_judged"
    assert found.message


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        ({"properties": {"a": {"pattern": "^a+$"}}}, LONG, "valid"),
        ({"properties": {"a": {"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}}}, LONG, "schema_mismatch"),
        ({"properties": {"a": {"pattern": "^(?!.*secret).*$"}}}, {"a": "a" * 5_000}, "valid"),
        ({"properties": {"a": {"pattern": "^(?=.*[A-Z])(?=.*\\d).{8,}$"}}}, {"a": "Abcdefg1"}, "valid"),
        (doubled("anyOf", 6, {"type": "string"}), {}, "schema_mismatch"),
        (doubled("anyOf", 11, {"type": "string"}), {}, "schema_mismatch"),
        ({"$defs": {"n": {"properties": {"c": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}, nested(40), "valid"),
        ({"$ref": "#"}, {}, "valid"),
        ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {}, "valid"),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": list(range(100_000))}, "valid"),
        ({"properties": {"a": {"enum": [str(n) for n in range(15_000)]}}}, {"a": "7"}, "valid"),
        (unevaluated(3), {"a": 1}, "valid"),
        (unevaluated(3), {"b": 1}, "schema_mismatch"),
        (chain(60), {}, "valid"),
    ],
)
def test_what_people_declare_is_judged(schema: Any, arguments: Any, expected: str) -> None:
    """Long texts, big lists, look-ahead on a password and schemas that refer to themselves are no reason to give up."""
    assert judged(schema, arguments).verdict == expected


def test_what_was_not_judged_is_in_neither_policy() -> None:
    """It is in neither numerator nor denominator."""
    classes = pd.Series(["valid", "not_judged", "schema_mismatch"], dtype="category")
    for policy in ("lenient", "strict"):
        assert (valid_calls(classes, policy).sum(), counted_calls(classes, policy).sum()) == (1, 2)


def test_what_was_not_judged_is_an_anomaly_of_the_record() -> None:
    """A reader of the report sees that something was left out."""
    parameters = TOO_MUCH["a pattern that looks around itself"][0]
    sample = Sample(
        "s",
        Turn(
            ({"role": "user", "content": "x"},),
            ({"type": "function", "function": {"name": "t", "parameters": parameters}},),
        ),
    )
    response = Response(tool_calls=(ToolCall("t", json.dumps(LONG)),), finish_reason="tool_calls")
    assert "arguments_not_judged" in TriggerSuite().judge(sample, Attempt(1, response=response)).anomalies


def test_a_schema_beyond_its_bounds_is_a_defect_of_the_data_set() -> None:
    """It is told with the sample, as it will never judge anything."""
    checker = ArgumentChecker([{"type": "function", "function": {"name": "t", "parameters": chain(1_000)}}])
    assert len(checker.defects) == 1
    assert "not judged" in checker.defects[0]
