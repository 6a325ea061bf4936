"""The HTML report in a real browser: sorting, filtering, drill-down, silence on console and network, paper and dark.

Needs Chromium at a usual place (``apt-get install chromium``) or named by ``CHROMIUM``; skipped where there is none.
``KEEP_SCREENSHOTS=DIR`` keeps pictures to look at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import synthetic_run

from vendor_verifier.reports.html.page import render

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, _NAMES) if path), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: the page was not tried in a browser"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless Chromium for the module."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of ten vendors and sixty samples."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(synthetic_run.report(60)), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    """The page, opened; afterwards it must have said nothing and asked for nothing but itself."""
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(file.as_uri())
    yield opened
    opened.close()
    assert said == []
    assert {address.split("#")[0] for address in asked if not address.startswith("data:")} == {file.as_uri()}


def column(page: Any, place: int) -> list[str]:
    """The ranking's column as shown, first line of each cell."""
    cells = page.locator(f"#m0r tbody tr > :nth-child({place})").all_inner_texts()
    return [text.split("\n")[0].strip() for text in cells]


def keep(page: Any, name: str, **options: Any) -> bytes:
    """A screenshot, also kept where somebody wants to look at it."""
    picture: bytes = page.screenshot(**options)
    folder = os.environ.get("KEEP_SCREENSHOTS")
    if folder:
        (Path(folder) / f"{name}.png").write_bytes(picture)
    return picture


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_the_order(page: Any) -> None:
    """TTFT sorts from the best end first, then the other way; the heading says which."""
    heading = page.locator("#m0r th", has_text="TTFT ms")
    heading.locator("button").click()
    figures = [float(text) for text in column(page, 8)]
    assert figures == sorted(figures)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    figures = [float(text) for text in column(page, 8)]
    assert figures == sorted(figures, reverse=True)
    assert page.locator("#m0r th[aria-sort]").count() == 1


def test_sorting_works_by_keyboard_and_missing_figures_stay_last(page: Any) -> None:
    """Enter on a focused heading sorts; the baseline, which has no gap, is last both ways."""
    button = page.locator("#m0r th button", has_text="ceiling")
    for _ in range(2):
        button.focus()
        page.keyboard.press("Enter")
        assert column(page, 11)[-1] == "–"


def test_the_filter_hides_rows_and_details_and_fades_charts(page: Any) -> None:
    """Typing keeps the vendors that fit, everywhere in the model's part, and says how many."""
    page.locator("input[data-filter]").fill("openrouter")
    assert all("openrouter" in name for name in page.locator("#m0r tbody tr:visible th").all_inner_texts())
    assert page.locator("#m0r tbody tr:visible").count() == 3
    assert page.locator("details.vendor:visible").count() == 3
    assert page.locator("output").inner_text() == "3 of 10 shown"
    assert page.locator("#m0scatter svg g.off").count() == 7
    page.locator("input[data-filter]").fill("")
    assert page.locator("#m0r tbody tr:visible").count() == 10
    assert page.locator("svg g.off").count() == 0


def test_a_vendor_in_the_ranking_leads_to_its_open_details_and_examples(page: Any) -> None:
    """The drill-down opens, takes the focus, and an example shows prompt and reply."""
    page.locator("#m0r a", has_text="deepinfra").click()
    details = page.locator("details.vendor[open]")
    assert details.count() == 1
    assert page.evaluate("document.activeElement.textContent").startswith("deepinfra")
    example = details.locator("details.example").first
    example.locator("summary").click()
    assert "What will the weather be in city" in example.locator("dd").first.inner_text()


def test_hostile_words_of_a_vendor_are_shown_and_do_nothing(page: Any) -> None:
    """A script in an error message is text: it is on the page and never ran."""
    page.locator("button[data-open]").click()
    assert page.locator("details.vendor[open]").count() == 10
    assert "<script>alert(" in page.locator("main").evaluate("element => element.textContent")
    assert page.locator("script").count() == 1


def test_the_theme_can_be_turned_and_follows_the_system(browser: Any, page: Any) -> None:
    """Dark by preference and by the button; the two backgrounds differ and the text stays readable."""

    def colours() -> tuple[str, str]:
        both = page.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
        return both[0], both[1]

    light = colours()
    page.locator("#theme").click()
    dark = colours()
    assert dark != light
    keep(page, "dark", full_page=True)
    page.locator("#theme").click()
    assert colours() == light
    page.emulate_media(color_scheme="dark")
    page.evaluate("document.documentElement.removeAttribute('data-theme')")
    assert colours() == dark


def test_on_paper_the_details_are_open_and_the_controls_gone(page: Any) -> None:
    """Printing opens every vendor, hides buttons, prints dark ink on white, and closes the vendors afterwards."""
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.vendor[open]").count() == 10
    assert page.locator(".tools:visible, input:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    keep(page, "print", full_page=True)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.vendor[open]").count() == 0
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_itself_never_scrolls_sideways(page: Any, width: int) -> None:
    """On a telephone only tables and charts scroll, inside their frames."""
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("button[data-open]").click()
    keep(page, f"width-{width}", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
