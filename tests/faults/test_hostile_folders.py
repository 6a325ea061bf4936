"""A damaged or forged run folder: every command says what is wrong and where, and none calls it its own defect."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from workbench import Bench

from vendor_verifier.cli.main import run_app

DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
RUN = ("-n", "2", "--config-file-path", "config.yaml", "--history", "none", "-q", "-o", "run")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run as it was written."""
    place = tmp_path_factory.mktemp("stored")
    Bench(place).configure("one: faithful", "two: quantised")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run_app(RUN) == 0
    return place


@pytest.fixture
def folder(stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that may be spoilt."""
    shutil.copytree(stored, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def spoilt(stored: Mapping[str, Any], path: str, value: Any) -> str:
    """The JSON of ``stored`` with another value at a dotted path."""
    whole = json.loads(json.dumps(stored))
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    part = whole
    for step in way:
        part = part[step]
    part[last] = value
    return json.dumps(whole)


RECORDS = [
    (None, None, "nested too deeply to be a record"),
    ("repetition", -1, "Expected `int` >= 0 - at `$.repetition`"),
    ("turns.0.attempts.0.timing.gaps_ns", [10**30], "at `$.turns[0].attempts[0].timing.gaps_ns[0]`"),
    ("turns.0.attempts.0.timing.gaps_ns", [-5], "Expected `int` >= 0 - at `$.turns[0].attempts[0].timing.gaps_ns[0]`"),
    ("turns.0.attempts.0.response.usage.input", 10**30, "at `$.turns[0].attempts[0].response.usage.input`"),
    ("turns.0.attempts.0.timing.end_ns", -(10**300), "at `$.turns[0].attempts[0].timing.end_ns`"),
    ("turns.0.attempts.0.response.text", 7, "Expected `str`, got `int`"),
    ("schema", 99, "record schema 99 is not"),
]


def test_a_forged_line_of_records_is_a_damaged_line(folder: Path) -> None:
    """score leaves it out and names it, by line and reason; --incremental asks its sample again."""
    file = folder / "records.jsonl"
    first, *lines = file.read_text().splitlines()
    forged = [DEEP if path is None else spoilt(json.loads(first), path, value) for path, value, _ in RECORDS]
    file.write_text("\n".join([*forged, *lines]) + "\n")
    assert run_app(["score", "run"]) == 0
    warnings = json.loads((folder / "scores.json").read_text())["warnings"]
    for number, (_, _, reason) in enumerate(RECORDS, 1):
        assert any(words.startswith(f"records.jsonl:{number} ") and reason in words for words in warnings)
    assert run_app([*RUN, "--incremental"]) == 0
    assert len(file.read_text().splitlines()) == len(forged) + len(lines) + 1


MANIFESTS = [
    ("entries.0.label", 7, "$.entries[0].label"),
    ("entries.0.repeat", "x", "$.entries[0].repeat"),
    ("entries.0.price", "cheap", "$.entries[0].price"),
    ("tasks.0.skipped", None, "$.tasks[0].skipped"),
    ("tasks.0", "trigger", "$.tasks[0]"),
    ("tasks.0.count", -1, "$.tasks[0].count"),
    ("settings.repeat", 10**30, "$.settings.repeat"),
    ("settings.load", "x", "$.settings.load"),
    ("score.schema_policy", "both", "$.score.schema_policy"),
    ("score.model_gates", {"m": 3}, "$.score.model_gates"),
    ("load", -1, "$.load"),
    ("stopped", [], "$.stopped"),
    ("event_loop", "x", "$.event_loop"),
    ("warnings", [1], "$.warnings[0]"),
]


# Nesting without end, nothing, another kind of JSON, half of it, and what is no JSON.
NO_MANIFESTS = (DEEP, "", "{}", "[]", "null", '{"tasks": [{', '{"n": NaN}', "\x00")


@pytest.mark.parametrize("command", ["score run", "explain run --vendor two", "compare run run"])
def test_a_manifest_that_departs_from_its_shape_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Whoever reads the run says the same sentence, with the place, and exits with 2."""
    file = folder / "manifest.json"
    stored = json.loads(file.read_text())
    for path, value, place in MANIFESTS:
        file.write_text(spoilt(stored, path, value))
        assert run_app(command.split()) == 2, path
        told = capsys.readouterr().err
        assert "manifest.json is damaged, or no run of this tool" in told
        assert place in told
    for content in NO_MANIFESTS:
        file.write_text(content)
        assert run_app(command.split()) == 2, content[:9]
        assert "manifest.json" in capsys.readouterr().err
