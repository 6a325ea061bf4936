"""docs/judgement.md says what the code does: every name of the code has its row."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import get_args

import pytest
from stories import played
from verdict_edges import EDGES

from vendor_verifier.audit.verdict_table import RULES
from vendor_verifier.gates.thresholds import COST_METRICS, PRESETS
from vendor_verifier.values.blame import Cause
from vendor_verifier.values.judgement import GateOutcome
from vendor_verifier.values.verdict import FACETS, STATUSES
from vendor_verifier.words import Texts

FILE = Path(__file__).parents[1] / "docs" / "judgement.md"
PAGE = FILE.read_text(encoding="utf-8")
VERDICT = PAGE.partition("\n## The verdict\n")[2].partition("\n## ")[0]
ENGLISH = Texts()
EXCERPT = re.compile(r"(<!-- played: (.*?) -->\n)(.*?)(<!-- /played -->)", re.DOTALL)


def test_every_finding_has_its_row() -> None:
    """A finding cannot be added without a word about what was seen, and none is described that does not exist."""
    section = PAGE.partition("behaviour: findings")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE)) == RULES.keys()


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


def test_every_verdict_and_facet_has_its_row_in_the_same_words() -> None:
    """What the outputs say is what the page explains."""
    names = [f"status_{status}" for status in STATUSES] + [f"facet_{facet}" for facet in FACETS]
    for name in names:
        assert f"\n| {ENGLISH(name).lower()} | " in VERDICT


def test_the_table_of_findings_is_the_verdict_table() -> None:
    """Every rule has its row under its facet, with the words that it can end in and no other."""
    rows = {
        name: (facet, words)
        for name, facet, words in re.findall(r"^\| `(\w+)` \| ([a-z ]+) \| (.*?) \|$", VERDICT, re.MULTILINE)
    }
    assert rows.keys() == RULES.keys()
    for name, (facet, said) in rows.items():
        ends = {status for found, _, _, status in EDGES if found == name and status is not None}
        if name == "another_model_served":
            ends.add("doubtful")
        elif name == "calls_unlike_baseline":
            ends |= {"doubtful", "not_as_sold"}
        assert facet == ENGLISH(f"facet_{RULES[name][0]}").lower()
        # One word is a part of another.
        told = re.findall("not as sold|" + "|".join(ENGLISH(f"status_{status}") for status in STATUSES), said)
        assert set(told) == {ENGLISH(f"status_{status}") for status in ends}
        assert ("noted" in said) == (not ends)


@pytest.mark.slow
def test_the_excerpts_are_what_is_said() -> None:
    """Played again they come out as they stand; ``UPDATE_GOLDEN=1`` writes them anew."""
    found = EXCERPT.findall(PAGE)
    assert len(found) >= 3
    made = EXCERPT.sub(lambda one: f"{one[1]}{played(*one[2].split()).excerpt}\n{one[4]}", PAGE)
    if os.environ.get("UPDATE_GOLDEN"):
        FILE.write_text(made, encoding="utf-8")
    assert "".join(made.split()) == "".join(FILE.read_text(encoding="utf-8").split())
    words = {ENGLISH(f"status_{status}") for status in STATUSES}
    assert all(any(word in shown for _, _, shown, _ in EXCERPT.findall(made)) for word in words)
