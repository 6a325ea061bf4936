"""A dozen runs as a buyer sees them: the verdicts and the first line are what an honest expert would say.

Simulated vendors answer without sockets or clocks, so how busy this machine is decides nothing.
"""

from __future__ import annotations

import pytest
from stories import played

from vendor_verifier.records.results import Choice, ModelResult
from vendor_verifier.scoring.scored_run import ScoredRun

pytestmark = pytest.mark.slow

# Persona → its verdict, and the facet that shows it.
ALONE = {
    "faithful": ("matches", None),
    "quantised": ("differs", "tool_calls"),
    "padded": ("differs", "bill"),
    "slow": ("check", "speed"),
    "bursty": ("check", "reliability"),
    "cutter": ("differs", "reliability"),
    "buffering": ("check", "speed"),
    "text-leaker": ("differs", "tool_calls"),
    "substitute": ("differs", "model"),
    "down": ("down", "reliability"),
    "locked": ("not_tested", "reliability"),
    "throttled": ("not_tested", "reliability"),
}


def of(scored: ScoredRun) -> ModelResult:
    [model] = scored.report.models.values()
    return model


def choice(scored: ScoredRun) -> Choice:
    return of(scored).choice


def words(scored: ScoredRun) -> dict[str, str]:
    return {label: vendor.verdict.status for label, vendor in of(scored).vendors.items()}


@pytest.mark.parametrize("persona", ALONE)
def test_one_vendor_with_a_baseline(persona: str) -> None:
    """Its vice is under its facet, and the first line recommends only the honest one."""
    scored = played(persona)
    status, facet = ALONE[persona]
    vendor = of(scored).vendors[persona]
    assert vendor.verdict.status == status, vendor.verdict
    if facet is not None:
        assert vendor.verdict.facets[facet].status == status  # type: ignore[index]
    assert of(scored).vendors["official"].verdict.status == "reference"
    assert (choice(scored).kind == "recommended") == (persona == "faithful")


@pytest.mark.parametrize(
    ("personas", "samples", "kind", "labels"),
    [
        # So many rivals need more samples than the default.
        (
            ("faithful", "quantised", "padded", "substitute", "slow", "down", "bursty"),
            900,
            "recommended",
            ("faithful",),
        ),
        (("two=faithful", "one=faithful", "slow", "cutter"), 315, "recommended", ("one", "two")),
        (("substitute", "padded", "text-leaker"), 315, "none", ()),
        (("faithful",), 60, "undecided", ("faithful",)),
    ],
)
def test_the_first_line_names_the_honest(
    personas: tuple[str, ...], samples: int, kind: str, labels: tuple[str, ...]
) -> None:
    """Alone, or in alphabetical order; nobody among frauds, whoever leads in IRF, and nobody for few samples."""
    found = choice(played(*personas, samples=samples))
    assert (found.kind, found.labels) == (kind, labels)


@pytest.mark.parametrize("suite", ["toolbench", "bfcl"])
def test_an_evaluation_alone(suite: str) -> None:
    """Scores are compared with the baseline's and named in the first line; a leaker scores worse."""
    scored = played("one=faithful", "two=faithful", "substitute", repeats=1, suite=suite)
    assert words(scored)["substitute"] == "differs"
    assert words(scored)["one"] == words(scored)["two"] != "differs"
    assert suite in choice(scored).text


def test_nobody_answers() -> None:
    """All are down, the baseline included."""
    scored = played("down", "also-down=down", baseline="down")
    assert choice(scored).kind in ("nobody_answered", "none", "undecided")


def test_a_dead_baseline_leaves_the_others_untested() -> None:
    """Of a vendor that answers well nothing more can be said."""
    scored = played("faithful", "down", baseline="down")
    assert words(scored)["faithful"] == "not_tested"
    assert choice(scored).kind == "none"
    assert choice(scored).text.startswith("The baseline ")


def test_without_a_baseline_only_facts_are_judged() -> None:
    """Another model's name is one; a padded bill cannot be seen."""
    scored = played("faithful", "substitute", "padded", "cutter", baseline=None)
    assert words(scored)["faithful"] == words(scored)["padded"] == "not_tested"
    assert words(scored)["substitute"] == "differs"
    assert choice(scored).kind != "recommended"
