"""Trends as a page: alarms first, every series drawn and told as a table, nothing of a stranger's gets out."""

from __future__ import annotations

import html

import histories
import numpy as np
import pytest
from page_reading import read_page

from vendor_verifier.features.history.page import render_trend
from vendor_verifier.features.history.regression import trends
from vendor_verifier.records.history import Night, Trend


@pytest.fixture(scope="module")
def found() -> tuple[Trend, ...]:
    """26 nights of six vendors: one got slower for good, one is off in the newest night alone, four are steady."""
    random = np.random.default_rng(1)
    levels = {
        "slower": [100.0] * 20 + [140.0] * 6,
        "odd": [100.0] * 25 + [300.0],
        **{f"steady-{number}": [90.0] * 26 for number in range(4)},
    }
    noisy = {label: [level + 5 * float(random.normal()) for level in own] for label, own in levels.items()}
    return trends(histories.nights(noisy), metrics=(histories.METRIC,))


def test_the_page_is_well_formed_and_loads_nothing(found: tuple[Trend, ...]) -> None:
    """Elements closed in order, identifiers once, no script, no address, in every language."""
    text = render_trend(found)
    page = read_page(text)
    assert page.faults == []
    assert not [tag for tag, _ in page.elements if tag in ("script", "iframe", "img", "object")]
    assert set(page.attribute("href")) <= {"data:,"} | {f"#{name}" for name in page.attribute("id")}
    assert "default-src 'none'" in html.unescape(text)


def test_what_got_worse_is_said_first(found: tuple[Trend, ...]) -> None:
    """The heading names the regression, the first plot is its own, and the change is marked in it."""
    page = read_page(render_trend(found))
    assert page.texts["span"][0] == "m / slower / ttft_ms.p50 got worse and has stayed so."
    assert page.texts["h2"][1] == "m / slower / ttft_ms.p50"
    pictures = render_trend(found).split('<svg class="chart"')[1:]
    # A dashed line where the level changed, a large hollow mark where the newest run alone is off.
    assert ['class="ceiling"' in picture for picture in pictures] == [True] + [False] * 5
    assert ["hollow" in picture.split("</svg>")[0] for picture in pictures] == [False, True] + [False] * 4


def test_every_plot_is_told_as_a_table(found: tuple[Trend, ...]) -> None:
    """A row a night and a caption, and the picture has a name for who cannot see it."""
    page = read_page(render_trend(found))
    assert len([label for label in page.attribute("aria-label") if label.endswith("26 runs")]) == 6
    rows = [attributes for tag, attributes in page.elements if tag == "th" and attributes.get("scope") == "row"]
    assert len(rows) == 6 + 6 * 26


def test_young_and_hostile_series_are_drawn_harmlessly() -> None:
    """One night, a figure of 0 and a label with markup make a page, not a division by zero or a tag."""
    nights = (Night("r<b>", "2026-01-01T00:00:00", 0.0, 1, 0.0),)
    page = render_trend(
        [Trend("m", "<script>alert(1)</script>", "f1", "difference", "no_verdict", "1 of the 8", nights)]
    )
    assert read_page(page).faults == []
    assert "<script>" not in page


def test_nothing_in_the_history_is_a_page_that_says_so() -> None:
    """No trend at all."""
    assert read_page(render_trend([])).texts["span"][0].startswith("No verdict yet")


def test_a_long_history_can_be_mailed() -> None:
    """Two years of nights of ten vendors and six figures stay under 2 MB; what has no plot is counted."""
    nights = tuple(Night(f"r{n}", f"2026-01-01T{n:04d}", 100.0 + n % 7, 9, 100.0) for n in range(730))
    many = [Trend("m", f"v{n}", "ttft_ms.p50", "ratio", "steady", "why", nights) for n in range(60)]
    page = render_trend(many)
    assert len(page) < 2_000_000
    assert "30 further series have no plot here" in page
