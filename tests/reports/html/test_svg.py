"""Scales, ticks and elements of the inline charts."""

from __future__ import annotations

import math
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import Seen

POSITIVE = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20)


@given(POSITIVE)
def test_logarithmic_scales_keep_everything_inside_and_in_order(values: list[float]) -> None:
    """Larger numbers never stand further left, and none leaves the drawing."""
    scale = charts.logarithmic(values, 100, 500)
    places = [scale(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(100 <= place <= 500 for place in places)


@given(POSITIVE, st.booleans())
def test_ticks_are_few_and_inside(values: list[float], log: bool) -> None:
    """An axis has at most twenty ticks, all of them between its ends."""
    scale = charts.logarithmic(values, 0, 100) if log else charts.linear(values, 0, 100)
    ticks = scale.ticks()
    assert len(ticks) <= 20
    assert all(scale.low <= tick * (1 + 1e-9) and tick <= scale.high * (1 + 1e-9) for tick in ticks)


def test_an_axis_of_shares_ends_at_one() -> None:
    """F1 cannot pass 1, so no room is drawn beyond it."""
    assert charts.linear([0.8, 0.99], 0, 100, top=1.0).high == 1.0


def test_elements_escape_attributes_and_texts() -> None:
    """A quote or a bracket cannot end an attribute or begin an element."""
    drawn = charts.tag("text", '<b a="', class_='x" onload="y')
    assert drawn == '<text class="x&#34; onload=&#34;y">&lt;b a=&#34;</text>'


def test_vendors_differ_by_shape_where_colours_repeat() -> None:
    """Forty vendors have forty different pairs of colour and shape."""
    assert len({str(charts.mark(index, 0, 0)) for index in range(40)}) == 40


@given(st.text(max_size=80))
def test_names_in_charts_are_cut_to_their_room(text: str) -> None:
    """A label keeps within its places, Chinese characters counting two."""
    short = Seen(0, text).short
    places = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in short)
    assert places <= charts.LABEL_CELLS
    assert short == text or short.endswith("…")


def test_figures_keep_three_digits() -> None:
    """Ticks are short, thousands are grouped."""
    assert [charts.figure(value) for value in (0.05, 12.345, 1234.5, 2_000_000)] == [
        "0.05",
        "12.3",
        "1\u2009234",
        "2\u2009000\u2009000",
    ]
    assert math.isfinite(float(charts.short(3.14159)))
