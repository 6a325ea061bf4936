"""The catalogue of the shipped samples: a typing error in it is refused instead of being left without effect."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_samples.py"


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, reading an empty catalogue of the test's own."""
    spec = importlib.util.spec_from_file_location("make_samples", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "tools").mkdir()
    (tmp_path / "rows").mkdir()
    monkeypatch.setattr(module, "CATALOGUE", tmp_path)
    return module


def test_a_misspelt_key_is_refused(maker: ModuleType, tmp_path: Path) -> None:
    """Proves that a row with `tool:` for `tools:` stops the build and is named."""
    (tmp_path / "rows" / "arrays.yaml").write_text("- {expected: true, tool: [x], user: hello}\n")
    with pytest.raises(ValueError, match=r"arrays: unknown keys \['tool'\]"):
        list(maker.read_entries("arrays"))


def test_two_tools_of_one_name_are_refused(maker: ModuleType, tmp_path: Path) -> None:
    """Proves that one file cannot silently replace another file's tool."""
    for name in ("a", "b"):
        (tmp_path / "tools" / f"{name}.yaml").write_text("- {name: get_time, description: The time.}\n")
    with pytest.raises(ValueError, match=r"b\.yaml: there is already a tool named get_time"):
        maker.read_tools()


def test_a_template_gives_a_row_for_each_fill(maker: ModuleType, tmp_path: Path) -> None:
    """Proves that slots are filled in a template, and that braces of any other row stay as they are."""
    (tmp_path / "rows" / "arrays.yaml").write_text(
        "- {user: 'From {0} to {1}', fills: [[Oslo, Rome], [Bonn, Kyiv]]}\n- {user: 'Keep {this}'}\n"
    )
    asked = [entry["user"] for entry in maker.read_entries("arrays")]
    assert asked == ["From Oslo to Rome", "From Bonn to Kyiv", "Keep {this}"]
