"""The page of a search for capacity: complete in itself, harmless, and its curves lie inside their pictures."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import capacity_reports
import pytest
from changing import replace

from vendor_verifier.features.capacity.page import Panel, Trace, curves, render


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page() -> str:
    return render(capacity_reports.report())


def test_the_page_runs_and_loads_nothing(page: str) -> None:
    """No script, no event handler and no outside address, whatever a label says; the policy forbids all of it."""
    tags = _Tags()
    tags.feed(page)
    assert not [tag for tag, _ in tags.found if tag in ("script", "img", "iframe", "object", "form")]
    assert not [name for _, attributes in tags.found for name in attributes if name.startswith("on") or name == "style"]
    addresses = [attributes.get("href") or attributes.get("src") for _, attributes in tags.found]
    assert not [address for address in addresses if address and not address.startswith(("#", "data:,"))]
    assert "default-src 'none'" in html.unescape(page)
    assert "\u202e" not in page


def test_every_vendor_has_its_sentence_its_curve_and_its_table(page: str) -> None:
    """Ten vendors, nine of them with levels: a picture by level each, those with two levels one by answers a second,
    and every finding in words."""
    assert page.count("figures by level of load") == 9 * 2
    assert page.count("figures by answers a second") == 8 * 2
    assert page.count("levels of load") == 9 * 2
    for told in (
        "bears 6 in flight",
        "the client is the limit",
        "rate limit (429)",
        "misses a limit without any load",
    ):
        assert told in page


def test_marks_are_hollow_where_a_level_does_not_hold_and_all_lie_inside() -> None:
    """A level that fails is drawn differently, one without a figure not at all, and nothing leaves the picture."""
    drawn = str(
        curves(
            (Panel("latency", (Trace("p95", [20.0, None, 4000.0]),), limit=2000.0, log=True),),
            [1.0, 8.0, 64.0],
            [True, True, False],
            x_title="in flight",
            label="x",
        )
    )
    marks = re.findall(r'transform="translate\(([\d.]+) ([\d.]+)\) scale\(0.8\)" class="s0 (\w+)"', drawn)
    assert [kind for *_, kind in marks] == ["solid", "hollow"]
    width, height = map(float, re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)[0])
    assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y, _ in marks)
    # The later mark is further right and, being slower, higher up; the limit lies between both.
    (x1, y1, _), (x2, y2, _) = marks
    limit = float(re.findall(r'd="M[\d.]+ ([\d.]+)L[\d.]+ [\d.]+" class="ceiling"', drawn)[0])
    assert float(x1) < float(x2)
    assert float(y2) < limit < float(y1)


def test_many_vendors_make_one_sentence_and_few_a_line_each() -> None:
    """The most first, so that the heading can be read."""
    report = capacity_reports.report()
    assert render(report).count('<span class="verdict">') == 1
    assert "roomy 64, fast 32, quality 6" in render(report)
    assert render(replace(report, vendors=report.vendors[:2])).count('<span class="verdict">') == 2
