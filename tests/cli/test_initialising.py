"""The first files: private where they must be, usable as they are, and never in place of something that exists."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from vendor_verifier.config import load_config
from vendor_verifier.config.model_names import MODEL_IDS
from vendor_verifier.registry import find_vendors
from vendor_verifier.resources import shipped

NAMES = ("config.yaml", ".env", ".gitignore", "config.schema.json")
REAL_MODELS = sorted(name for name in MODEL_IDS if not name.startswith("simulated"))


def validator() -> Any:
    return jsonschema_rs.validator_for(json.loads(shipped("config.schema.json").read_text(encoding="utf-8")))


def test_init_writes_four_files_and_the_configuration_runs_without_a_key(bench: Any) -> None:
    """From an empty folder to a ranking with two commands and no edit."""
    code, _, err = bench("init")
    assert code == 0
    assert [name for name in NAMES if not (bench.folder / name).exists()] == []
    assert stat.S_IMODE((bench.folder / ".env").stat().st_mode) == 0o600
    assert "wrote config.yaml" in err
    assert "opy this file" not in (bench.folder / "config.yaml").read_text()
    code, out, err = bench("-n", "3", "--quiet", "--no-history")
    assert code == 0, err
    assert "quantised" in out


def test_init_twice_changes_nothing(bench: Any) -> None:
    """What is there is kept, whatever it holds, and it is said so."""
    (bench.folder / ".env").write_text("openrouter=mine\n")
    bench("init", "sub")
    bench("init")
    before = {name: (bench.folder / name).read_bytes() for name in NAMES}
    code, _, err = bench("init", "--model", "kimi-k2.5")
    assert code == 0
    assert {name: (bench.folder / name).read_bytes() for name in NAMES} == before
    assert before[".env"] == b"openrouter=mine\n"
    assert err.count("it exists") == 4
    assert "chmod 600" in err


def test_init_does_not_write_through_a_link(bench: Any) -> None:
    """A dangling link named .env leads nowhere that we may write."""
    target = bench.folder / "elsewhere"
    (bench.folder / ".env").symlink_to(target)
    bench("init")
    assert not target.exists()


def test_a_gitignore_that_lets_keys_through_is_named(bench: Any) -> None:
    """An existing .gitignore is kept, with a warning about what it lacks."""
    (bench.folder / ".gitignore").write_text("dist/\n")
    _, _, err = bench("init")
    assert "does not name .env and runs/" in err


@pytest.mark.parametrize("model", REAL_MODELS)
def test_a_model_s_configuration_is_valid_and_wants_the_named_keys(bench: Any, model: str) -> None:
    """For every model we know: the loader accepts the file, the schema too, and .env has a line for each key."""
    code, _, err = bench("init", "--model", model)
    assert code == 0, err
    path: Path = bench.folder / "config.yaml"
    registry = find_vendors(())
    loaded = load_config(path, env_file=None, environ={}, registry=registry, require_keys=False)
    assert {entry.vendor for entry in loaded.entries} == set(MODEL_IDS[model]) - {"vertex", "bedrock"}
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert list(validator().iter_errors(document)) == []
    names = {line.partition("=")[0] for line in (bench.folder / ".env").read_text().splitlines() if "=" in line[:40]}
    assert {entry.key_name or entry.vendor for entry in loaded.entries} <= names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "gpt-9"], "no model that we know"),
        (["--vendor", "novita"], "needs --model"),
        (["--model", "kimi-k2", "--vendor", "bigmodel"], "none of bigmodel"),
    ],
)
def test_what_cannot_be_begun_with_is_refused_before_anything_is_written(
    bench: Any, arguments: list[str], words: str
) -> None:
    """A misspelt model leaves no half-made folder."""
    code, _, err = bench("init", *arguments)
    assert code == 2
    assert words in err
    assert list(bench.folder.iterdir()) == []


def test_the_schema_accepts_the_example_and_refuses_what_the_loader_refuses() -> None:
    """The schema and the loader agree on the shipped example and on a misspelt key."""
    example = yaml.safe_load(shipped("config_example.yaml").read_text(encoding="utf-8"))
    assert list(validator().iter_errors(example)) == []
    wrong = {"kimi-k2": {"vendors": [{"name": "novita", "modelid": "x"}]}}
    assert list(validator().iter_errors(wrong)) != []
    assert list(validator().iter_errors({"kimi-k2": {"vendors": []}})) != []
