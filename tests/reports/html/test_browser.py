"""The HTML report in a real browser: sorting, filtering, drill-down, silence on console and network, paper and dark.

Needs Chromium at a usual place (``apt-get install chromium``) or named by ``CHROMIUM``; skipped where there is none.
``KEEP_SCREENSHOTS=DIR`` keeps pictures to look at.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import synthetic_run
from browsers import CHROMIUM, launched, window
from changing import replace

from vendor_verifier.records.score import Report
from vendor_verifier.reports.html.page import render

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine: the page was not tried in a browser"
)
WIDTHS = (390, 768, 1280, 1920)
SEVEN = synthetic_run.LABELS[:7]
# Vendor, verdict, place, IRF, success, F1, TPS, schema, TTFT, tokens, 1,000 valid calls, a month.
TTFT, MONTH = 9, 12


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One headless Chromium for the module."""
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of ten vendors and sixty samples, of one of which no price is known."""
    report = synthetic_run.report(60)
    verdict = report.verdicts[synthetic_run.MODEL]
    money = {label: replace(spent, tokens=1_000_000) for label, spent in verdict.money.items()}
    money["novita (openrouter)"] = replace(money["novita (openrouter)"], per_1000_requests_usd=None, tokens=0)
    verdict = replace(verdict, money=money)
    return written(replace(report, verdicts={synthetic_run.MODEL: verdict}), tmp_path_factory)


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of seven vendors."""
    return written(synthetic_run.report(60, SEVEN), tmp_path_factory)


def written(report: Report, folders: pytest.TempPathFactory) -> Path:
    path = folders.mktemp("page") / "report.html"
    path.write_text(render(report), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    """The page, opened; afterwards it must have said nothing and asked for nothing but itself."""
    opened = window(browser, viewport={"width": 1200, "height": 900})
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


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file in a window of its own, closed at the end of the test."""
    pages = []

    def open_file(path: Path, width: int = 1280, scheme: str = "light") -> Any:
        pages.append(window(browser, viewport={"width": width, "height": 800}, color_scheme=scheme))
        pages[-1].goto(path.as_uri())
        return pages[-1]

    yield open_file
    for each in pages:
        each.close()


def column(page: Any, place: int) -> list[str]:
    """The table's column as shown, first line of each cell."""
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
    figures = [float(text) for text in column(page, TTFT)]
    assert figures == sorted(figures)
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.locator("button").click()
    figures = [float(text) for text in column(page, TTFT)]
    assert figures == sorted(figures, reverse=True)
    assert page.locator("#m0r th[aria-sort]").count() == 1


def test_sorting_works_by_keyboard_and_missing_figures_stay_last(page: Any) -> None:
    """Enter on a focused heading sorts; the vendor without a price is last both ways."""
    button = page.locator("#m0r th button", has_text="A month")
    for _ in range(2):
        button.focus()
        page.keyboard.press("Enter")
        assert column(page, MONTH)[-1] == "–"


def test_the_filter_hides_rows_and_details_and_fades_charts(page: Any) -> None:
    """Typing keeps the vendors that fit, everywhere in the model's part, and says how many."""
    page.locator("input[data-filter]").fill("openrouter")
    assert all("openrouter" in name for name in page.locator("#m0r tbody tr:visible th").all_inner_texts())
    assert page.locator("#m0r tbody tr:visible").count() == 3
    assert page.locator(".matrix tbody tr:visible").count() == 3
    assert page.locator("details.vendor:visible").count() == 3
    assert page.locator("output").inner_text() == "3 of 10 shown"
    assert page.locator("#m0scatter svg g.off").count() == 7
    page.locator("input[data-filter]").fill("")
    assert page.locator("#m0r tbody tr:visible").count() == 10
    assert page.locator("svg g.off").count() == 0


def test_a_month_is_told_for_the_readers_own_requests_or_tokens(page: Any) -> None:
    """Ten times the requests cost ten times as much; filled-in tokens replace the requests; none cost nothing known."""
    requests, tokens = (page.locator(f"[data-volume] input[name={name}]") for name in ("request", "token"))
    assert column(page, MONTH)[0] == "$200.00"
    requests.fill("1000000")
    assert column(page, MONTH)[0] == "$2,000"
    tokens.fill("0")
    assert requests.input_value() == ""
    assert column(page, MONTH)[0] == "$0.00"
    tokens.fill("")
    assert set(column(page, MONTH)) == {"–"}


def test_a_vendor_in_the_ranking_leads_to_its_open_details_and_examples(page: Any) -> None:
    """The drill-down opens, takes the focus, and an example shows prompt and reply."""
    page.locator("#m0r a", has_text="deepinfra").click()
    details = page.locator("details.vendor[open]", has=page.locator("summary h4", has_text="deepinfra"))
    assert details.count() == 1
    assert page.evaluate("document.activeElement.textContent").startswith("deepinfra")
    details.locator("details.data > summary", has_text="Examples").click()
    example = details.locator("details.example").first
    example.locator("summary").click()
    assert "What will the weather be in city" in example.locator("dd").first.inner_text()


def test_a_word_of_the_matrix_leads_to_its_evidence(page: Any) -> None:
    """Also in the part of a vendor that is closed because nothing speaks against it."""
    [closed, *_] = page.locator("details.vendor:not([open])").all()
    place = closed.get_attribute("id")
    page.locator(f".matrix a[href='#{place}-bill']").click()
    assert page.locator(f"#{place}-bill").is_visible()
    assert page.evaluate("document.activeElement.closest('details').id") == place


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
    before = page.locator("details.vendor[open]").count()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.vendor[open]").count() == 10
    assert page.locator("details.fold:not([open])").count() == 0
    assert page.locator(".tools:visible, input:visible").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    keep(page, "print", full_page=True)
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.vendor[open]").count() == before
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_on_paper_a_title_keeps_with_its_chart(page: Any) -> None:
    """A picture's part is one piece that no page ends in, no higher than a page."""
    page.set_viewport_size({"width": 720, "height": 1000})
    page.emulate_media(media="print")
    parts = page.evaluate(
        "[...document.querySelectorAll('.picture')].map(part => [getComputedStyle(part).breakInside,"
        " getComputedStyle(part).display, part.offsetHeight])"
    )
    assert len(parts) == 5
    assert {(kept, display) for kept, display, _ in parts} == {("avoid", "inline-block")}
    assert all(height < 1000 for _, _, height in parts)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_itself_never_scrolls_sideways(page: Any, width: int) -> None:
    """With everything open only tables scroll, inside their frames; pictures are scaled and not cut."""
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    keep(page, f"width-{width}", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.evaluate(
        "[...document.querySelectorAll('svg.chart, .matrix')].filter(each =>"
        " each.getBoundingClientRect().right > innerWidth || each.scrollWidth > each.parentElement.clientWidth + 1)"
    )
    assert cut == []


def test_the_table_of_figures_fits_its_box(seven: Path, opened: Callable[..., Any]) -> None:
    """On a laptop nothing of it is clipped, the price least of all."""
    page = opened(seven)
    box = page.locator(".scroll", has=page.locator("#m0r")).first
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_seven_vendors_take_four_screens_at_most_before_the_evidence(seven: Path, opened: Callable[..., Any]) -> None:
    """Sentence, matrix and table stand on them, and the sentence and the matrix's head on the first."""
    page = opened(seven)
    keep(page, "seven", full_page=True)
    assert page.locator("#m0vendors").bounding_box()["y"] <= 4 * 800
    assert page.locator("h1").bounding_box()["y"] < page.locator(".matrix tbody tr").first.bounding_box()["y"] < 800


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "scheme"),
    [(1280, "light"), (1280, "dark"), (390, "light")],
)
def test_nothing_hinders_those_who_see_or_point_less(
    seven: Path, opened: Callable[..., Any], width: int, scheme: str
) -> None:
    """axe finds no violation in any form of the page, closed or all open, and finds one that is put there."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page = opened(seven, width, scheme)
    page.evaluate(axe)

    def violations() -> list[str]:
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]

    assert violations() == []
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert violations() == []
    page.evaluate("document.querySelector('[role=img]').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('html').removeAttribute('lang')")
    assert violations() != []
