"""The JSON Schema of records.jsonl: every line that is written fits it, and nothing fits that it does not name."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from made_values import failure

import vendor_verifier
from vendor_verifier.record_schema import record_schema
from vendor_verifier.records.record import RECORD_SCHEMA
from vendor_verifier.store import UnreadableLine, decode_record, encode_record

ROOT = Path(__file__).parents[1]
VALIDATOR = jsonschema_rs.validator_for(record_schema())
CONFIG = """\
simulated-model:
  vendors:
    - {name: simulated, label: official, model_id: m, url: "sim://faithful", is_baseline: true}
    - {name: simulated, label: poor, model_id: m, url: "sim://quantised"}
    - {name: simulated, label: cut, model_id: m, url: "sim://cutter"}
    - {name: simulated, label: down, model_id: m, url: "sim://down"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("schema")
    (place / "config.yaml").write_text(CONFIG)
    return place


def _lines(folder: Path, **options: Any) -> list[dict[str, Any]]:
    """The lines of a run with these options."""
    name = "-".join(map(str, options.values()))
    done = vendor_verifier.verify(folder / "config.yaml", output_dir=folder / name, retries=1, seed=2, **options)
    return [json.loads(line) for line in done.folder.records_file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(
    "options",
    [
        {"suites": ["trigger", "mcptoolbench", "tool_correctness", "contract"]},
        {"suites": ["bfcl"], "bfcl_category": ("multi_turn_base", "simple")},
        {"suites": ["trigger", "toolbench"], "redact_content": True},
        {"suites": ["trigger"], "request_rate": 200.0, "arrival": "poisson"},
    ],
    ids=["evaluations", "bfcl", "redacted", "load"],
)
def test_every_record_of_a_run_fits(folder: Path, options: dict[str, Any]) -> None:
    """Successes, cut streams and failures, whatever was asked; only redacted ones keep their score."""
    lines = _lines(folder, limit=4, **options)
    assert {line["label"] for line in lines} == {"official", "poor", "cut", "down"}
    assert any(turn["attempts"][-1]["failure"] for line in lines for turn in line["turns"])
    for line in lines:
        VALIDATOR.validate(line)
        assert (line["score"] is not None) == options.get("redact_content", False)
        assert line["schema"] == RECORD_SCHEMA


def test_what_is_not_named_is_forbidden_everywhere(folder: Path) -> None:
    """A key more in any part of a record, but in what an evaluation names itself; and no key that must be may lack."""
    lines = _lines(folder, limit=3, suites=["mcptoolbench"], redact_content=True)
    seen = set()
    for line in lines:
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
    """Both come from one definition."""
    line = json.loads(encode_record(failure("v"))) | {key: value}
    assert not VALIDATOR.is_valid(line)
    with pytest.raises(UnreadableLine):
        decode_record(json.dumps(line).encode())
