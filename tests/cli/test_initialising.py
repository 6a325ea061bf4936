"""The first files: private where they must be, usable as they are, and never in place of something that exists."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from vendor_verifier.cli.main import run_app
from vendor_verifier.config.entries import MODEL_IDS
from vendor_verifier.config.load import load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.schema import json_schema
from vendor_verifier.registry import find_vendors

NAMES = ("config.yaml", ".env", ".gitignore", "config.schema.json")
REAL_MODELS = sorted(name for name in MODEL_IDS if not name.startswith("simulated"))


def test_init_writes_four_files_and_the_configuration_runs(bench: Any) -> None:
    """From an empty folder to a ranking with two commands and no edit."""
    code, _, err = bench("init")
    assert code == 0
    assert [name for name in NAMES if not (bench.folder / name).exists()] == []
    assert stat.S_IMODE((bench.folder / ".env").stat().st_mode) == 0o600
    assert "wrote config.yaml" in err
    assert "opy this file" not in (bench.folder / "config.yaml").read_text()
    code, out, err = bench("-n", "3", "--quiet", "--history", "none")
    assert code == 0, err
    assert "quantised" in out


def test_init_keeps_what_exists(bench: Any) -> None:
    """A file that somebody wrote or changed stays; one that init itself wrote gives way to a real model."""
    (bench.folder / ".env").write_text("openrouter=mine\n")
    bench("init")
    code, _, err = bench("init", "--model", "kimi-k2.5")
    assert code == 0
    assert "wrote config.yaml" in err
    before = {name: (bench.folder / name).read_bytes() for name in NAMES}
    assert before[".env"] == b"openrouter=mine\n"
    assert b"kimi-k2.5:" in before["config.yaml"]
    said = bench("init", "--model", "glm-4.7")[2]
    assert said.count("it exists") == 4
    assert "simulated" not in said
    assert {name: (bench.folder / name).read_bytes() for name in NAMES} == before


def test_init_does_not_write_through_a_link(bench: Any) -> None:
    """A dangling link named .env leads nowhere that we may write; a .gitignore that lets keys through is named."""
    target = bench.folder / "elsewhere"
    (bench.folder / ".env").symlink_to(target)
    (bench.folder / ".gitignore").write_text("dist/\n")
    assert "does not list .env and runs" in bench("init")[2]
    assert not target.exists()


def test_the_configuration_of_every_model_is_valid(bench: Any) -> None:
    """The loader accepts the file, the schema too, and .env has a line for each key."""
    code, _, err = bench("init", *(word for model in REAL_MODELS for word in ("--model", model)))
    assert code == 0, err
    path: Path = bench.folder / "config.yaml"
    loaded = load_config(RunOptions(config_file_path=path), {}, registry=find_vendors(()), require_keys=False)
    for model in REAL_MODELS:
        vendors = {entry.vendor for entry in loaded.entries if entry.model == model}
        assert vendors == set(MODEL_IDS[model]) - {"vertex", "bedrock"}
    validator = jsonschema_rs.validator_for(json_schema())
    assert list(validator.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))) == []
    names = {line.partition("=")[0] for line in (bench.folder / ".env").read_text().splitlines() if "=" in line[:40]}
    assert {entry.key_name or entry.vendor for entry in loaded.entries} <= names


def test_a_plugin_that_fails_is_listed_and_the_others_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "torn.py").write_text("import a_module_that_is_not_there\n")
    assert run_app(["init", "--list", "--vendor-path", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("deepseek ") and "https://api.deepseek.com/v1 " in line for line in lines)
    assert "kimi-k2.5" in lines
    assert any("torn.py: ModuleNotFoundError" in line for line in lines)
