"""In a run with evaluations only their scores lead the order and the places; beside the trigger suite IRF does."""

from __future__ import annotations

from typing import Any

import pytest
import sample_reports

from vendor_verifier.records.score import SuiteScore, VendorScore
from vendor_verifier.reports.sentences import place
from vendor_verifier.scoring.vendor_figures import standings

RANKED = ("success_rate", "avg_tokens")
_BY_TOKENS = {"leaky": 100.0, "exact": 900.0, "twin": 905.0, "silent": 50.0}


def scored(label: str, *scores: float | None, **changes: Any) -> VendorScore:
    """A vendor with these main scores and no decisions held against a baseline; the cheaper, the better its IRF."""
    suites = {f"suite{place}": SuiteScore(10, 10, {"resolved": scores[place]}, {}) for place in range(len(scores))}
    metrics = {"success_rate": 1.0, "avg_tokens": _BY_TOKENS[label], **dict(zip(suites, scores, strict=True))}
    return sample_reports.vendor(label, **{"metrics": metrics, "suites": suites, "trigger": None} | changes)


def ordered(*vendors: VendorScore) -> list[tuple[str, int | None]]:
    """(label, place) in the order of the table."""
    (model,) = standings({"m": vendors}, {}, RANKED, 5)
    return [(vendor.label, place(vendor, model)) for vendor in model.vendors]


def test_a_vendor_that_scores_half_never_stands_above_one_that_scores_all() -> None:
    """The cheapest and worst comes first by IRF over six metrics, and last by what was asked."""
    found = ordered(scored("leaky", 0.5, 0.55), scored("exact", 1.0, 1.0))
    assert found == [("exact", 1), ("leaky", 2)]


def test_equal_scores_share_the_place_and_one_with_fewer_scores_stands_below() -> None:
    """What was not measured raises nobody; of equals the better IRF is printed first."""
    found = ordered(scored("silent", None, 1.0), scored("twin", 1.0, 0.5), scored("exact", 0.5, 1.0))
    assert found == [("exact", 1), ("twin", 1), ("silent", 3)]


def test_the_irf_stays_the_published_one() -> None:
    """The scores change who stands where, not what IRF says of the ranked metrics."""
    (model,) = standings({"m": (scored("leaky", 0.1), scored("exact", 1.0))}, {}, RANKED, 5)
    assert {vendor.label: vendor.irf for vendor in model.vendors} == {
        "leaky": pytest.approx(1 / 6.5 + 1 / 6), "exact": pytest.approx(1 / 6.5 + 1 / 7),
    }  # fmt: skip


def test_beside_the_trigger_suite_scores_stand_in_the_table_only() -> None:
    """One vendor with decisions is enough for IRF to lead."""
    trigger = sample_reports.vendor("x").trigger
    found = ordered(scored("exact", 1.0), scored("leaky", 0.1, trigger=trigger))
    assert found == [("leaky", 1), ("exact", 2)]
