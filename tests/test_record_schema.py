"""The JSON Schema of records.jsonl: every line that is written fits it, and nothing fits that it does not name."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from made_values import failure
from workbench import Bench

import vendor_verifier
from vendor_verifier.record_schema import record_schema
from vendor_verifier.records.record import RECORD_SCHEMA
from vendor_verifier.store import UnreadableLine, decode_record, encode_record

VALIDATOR = jsonschema_rs.validator_for(record_schema())
RUNS: dict[str, dict[str, Any]] = {
    "plain": {
        "suites": ["trigger", "mcptoolbench", "tool_correctness", "contract", "bfcl"],
        "bfcl_category": ("multi_turn_base", "simple"),
    },
    "redacted": {"suites": ["trigger", "mcptoolbench"], "redact_content": True, "request_rate": 200.0},
}


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    place = tmp_path_factory.mktemp("schema")
    config, found = Bench(place).configure("official: faithful", "poor: quantised", "cut: cutter", "down: down"), {}
    for name, options in RUNS.items():
        done = vendor_verifier.verify(config, output_dir=place / name, retries=1, seed=2, limit=3, **options)
        found[name] = [json.loads(line) for line in done.folder.records_file.read_text("utf-8").splitlines()]
    return found


@pytest.mark.parametrize("run", RUNS)
def test_every_record_of_a_run_fits(lines: dict[str, list[dict[str, Any]]], run: str) -> None:
    """Successes, cut streams and failures, whatever was asked; only redacted ones keep their score."""
    assert {line["label"] for line in lines[run]} == {"official", "poor", "cut", "down"}
    assert any(turn["attempts"][-1]["failure"] for line in lines[run] for turn in line["turns"])
    for line in lines[run]:
        VALIDATOR.validate(line)
        assert (line["score"] is not None) == (run == "redacted")
        assert line["schema"] == RECORD_SCHEMA


def test_what_is_not_named_is_forbidden_everywhere(lines: dict[str, list[dict[str, Any]]]) -> None:
    """A key more in any part of a record, but in what an evaluation names itself; and no key that must be may lack."""
    seen = set()
    for line in lines["redacted"]:
        for path in _objects(line):
            more = copy.deepcopy(line)
            _at(more, path)["surprise"] = 1
            seen.add(re.sub(r"\.\d+", "", ".".join(map(str, path))))
            assert VALIDATOR.is_valid(more) == (path[-1:] in (("values",), ("details",))), path
        for key in record_schema()["$defs"]["Record"]["required"]:
            assert not VALIDATOR.is_valid({name: value for name, value in line.items() if name != key}), key
    assert {"", "turns", "turns.attempts", "turns.attempts.timing", "turns.attempts.response", "score"} <= seen
    assert {"turns.attempts.response.usage", "turns.attempts.response.tool_calls", "turns.attempts.failure"} <= seen


def _objects(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of the objects in a value; what an evaluation keeps in its details is its own."""
    if isinstance(value, dict):
        yield path
        for key, item in value.items():
            if path[-1:] != ("details",):
                yield from _objects(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _objects(item, (*path, place))


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@pytest.mark.parametrize(
    ("key", "value"),
    [("schema", 2), ("schema", None), ("repetition", -1), ("repetition", "0"), ("turns", None), ("run", 1),
     ("offered_s", float(2**54)), ("score", "good")],
)  # fmt: skip
def test_a_wrong_value_fits_neither_the_schema_nor_the_reader(key: str, value: object) -> None:
    line = json.loads(encode_record(failure("v"))) | {key: value}
    assert not VALIDATOR.is_valid(line)
    with pytest.raises(UnreadableLine):
        decode_record(json.dumps(line).encode())
