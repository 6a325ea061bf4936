"""The benchmarks of the verdict run: honest vendors drawn as rows, and simulated vendors with one vice each."""

from __future__ import annotations

import detection
import honest_vendors
import pytest


@pytest.mark.parametrize(("persona", "facet"), [("padded", "bill"), ("cutter", "reliability"), ("slow", "speed")])
def test_a_vice_is_found_and_its_twin_is_not_accused(persona: str, facet: str) -> None:
    words = detection.run(persona, 200, 1)
    assert words["suspect"][facet] in ("doubtful", "not as sold")
    assert words["twin"]["verdict"] == "as sold"


@pytest.mark.slow
def test_honest_vendors_are_hardly_ever_accused() -> None:
    """None is not as sold; of 96 at 2 % more than 6 doubtful would happen once in 200 times."""
    kinds = [kind for kind in honest_vendors.KINDS if kind.vendors == 3 and kind.n == 100]
    found = [honest_vendors.run(kind, seed) for kind in kinds for seed in range(95_000, 95_008)]
    assert not sum(each["not_as_sold"] + each["unusable"] for each in found)
    assert sum(each["doubtful"] for each in found) <= 6
