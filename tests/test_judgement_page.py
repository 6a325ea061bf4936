"""docs/judgement.md says what the code does: its Python runs, and every name of the code has its row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import vendor_verifier
from vendor_verifier.gates.thresholds import COST_METRICS, PRESETS
from vendor_verifier.values.judgement import Cause, GateOutcome

PAGE = (Path(__file__).parents[1] / "docs" / "judgement.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
AUDIT = Path(vendor_verifier.__file__).parent / "audit"
SOURCE = "\n".join(file.read_text(encoding="utf-8") for file in sorted(AUDIT.glob("*.py")))


@pytest.mark.parametrize("code", BLOCKS)
def test_the_pages_python_runs(code: str) -> None:
    """Every block stands on its own and its assertions hold."""
    exec(compile(code, "docs/judgement.md", "exec"), {})


def test_the_page_has_python() -> None:
    """So that the test above cannot pass by finding nothing."""
    assert len(BLOCKS) == 7


def test_every_finding_has_its_row() -> None:
    """A finding cannot be added without a word about what was seen, and none is described that does not exist."""
    named = set(re.findall(r'finding\(\s*"(\w+)"', SOURCE))
    named |= set(re.findall(r'_changes\(label, \[.*\], "(\w+)"', SOURCE))
    named |= set(re.findall(r'"(\w+_changed_since)"', SOURCE))
    named |= set(re.findall(r'_Share\(\s*"(\w+)"', SOURCE)) | set(re.findall(r'"(slow_\w+)"', SOURCE))
    section = PAGE.partition("behaviour: findings")[2].partition("\n## ")[0]
    assert len(named) > 10
    assert set(re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE)) == named


@pytest.mark.parametrize("name", [*get_args(Cause), *COST_METRICS, *PRESETS])
def test_every_cause_cost_and_preset_has_its_row(name: str) -> None:
    """With what it means."""
    assert f"\n| `{name}` | " in PAGE


@pytest.mark.parametrize("name", get_args(GateOutcome))
def test_every_verdict_has_its_row(name: str) -> None:
    """With when it is given."""
    assert f"\n| {name} | " in PAGE


def test_presets_are_told_with_their_thresholds() -> None:
    """In the grammar itself."""
    for name, preset in PRESETS.items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        assert re.findall(r"`([^`]+)`", row)[1:] == [str(threshold) for threshold in preset]
