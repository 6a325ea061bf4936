"""report.html as a file and in a browser: closed to the network, small, indifferent to what strangers wrote, usable."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from msgspec import structs
from page_reading import read_page
from scored import MODEL

from vendor_verifier.records.results import ModelResult, Report
from vendor_verifier.reports import rendered
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.money import Money

# At a usual place (``apt-get install chromium``), or named by ``CHROMIUM``.
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FORMS = [(1280, "light", "screen"), (1280, "dark", "screen"), (390, "light", "screen"), (390, "dark", "screen"),
         (1280, "light", "print")]  # fmt: skip


def with_evidence(scored: ScoredRun) -> ScoredRun:
    """The run with prices, and with samples for every finding."""
    names = tuple(scored.samples["trigger"].ids[:4])
    money = {
        (MODEL, label): Money(1.0, 0.0, 0.1 + place, 0.2, 20, 0)
        for place, label in enumerate(scored.report.models[MODEL].vendors)
    }
    return replace(
        scored, money=money, findings=tuple(structs.replace(each, samples=names) for each in scored.findings)
    )


def render(scored: ScoredRun) -> str:
    return rendered(scored, ["report.html"])["report.html"]


def sha(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def case(demo: ScoredRun, name: str) -> ScoredRun:
    empty = ModelResult(baseline=None, choice=demo.report.models[MODEL].choice, vendors={})
    return {
        "demo": demo,
        "evidence": with_evidence(demo),
        "empty": replace(demo, report=Report(run="r", complete=True)),
        "no vendors": replace(demo, report=structs.replace(demo.report, models={MODEL: empty})),
        "unmeasured": replace(demo, records=demo.records.iloc[:0], attempts=demo.attempts.iloc[:0], findings=()),
    }[name]


@pytest.mark.parametrize("name", ["demo", "evidence", "empty", "no vendors", "unmeasured"])
def test_page_is_well_formed_and_refers_to_itself_only(demo: ScoredRun, name: str) -> None:
    """Every element is closed, no identifier occurs twice, links lead into the page, nothing is loaded or run."""
    page = read_page(render(case(demo, name)))
    assert page.faults == []
    assert {place for place in page.attribute("href") if place != "data:,"} <= {
        f"#{each}" for each in page.attribute("id")
    }
    assert not {tag for tag, _ in page.elements} & {"iframe", "object", "embed", "img", "base", "form"}
    assert not [key for _, keys in page.elements for key in keys if key.startswith("on") or key in ("src", "style")]


def test_policy_allows_only_the_own_style_and_script(demo: ScoredRun) -> None:
    page = read_page(render(demo))
    (style,), (script,) = page.texts["style"], page.texts["script"]
    [policy] = [
        keys["content"] or "" for _, keys in page.elements if keys.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("img-src") == "data:"
    assert (rules.pop("style-src"), rules.pop("script-src")) == (sha(style), sha(script))
    assert set(rules.values()) == {"'none'"}
    assert "default-src" in rules


def test_ten_vendors_stay_below_200_kb(demo: ScoredRun) -> None:
    """With prices and as many examples as a page holds."""
    assert 60_000 < len(render(with_evidence(demo)).encode()) <= 200_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def window(browser: Any, **options: Any) -> Any:
    """A page of the browser that waits as long as a busy machine makes it: the test's limit ends it."""
    page = browser.new_page(**options)
    page.set_default_timeout(0)
    return page


@pytest.fixture(scope="module")
def file(demo: ScoredRun, tmp_path_factory: pytest.TempPathFactory) -> str:
    page = tmp_path_factory.mktemp("page") / "report.html"
    page.write_text(render(with_evidence(demo)), encoding="utf-8")
    return page.as_uri()


@pytest.mark.slow
def test_page_works_by_keyboard_and_says_nothing(browser: Any, file: str) -> None:
    """Enter sorts and turns, and a matrix cell opens its evidence; the console stays empty."""
    page, said = window(browser, viewport={"width": 1280, "height": 800}), []
    page.on("console", lambda message: said.append(message.text))
    page.goto(file)
    button = page.locator(".sortable th button", has_text="TTFT")
    for way in ("ascending", "descending"):
        button.focus()
        page.keyboard.press("Enter")
        assert page.locator(f".sortable th[aria-sort={way}]").inner_text().startswith("TTFT")
        texts = page.locator(".sortable td[data-label^=TTFT]").all_inner_texts()
        times = [float(text.split("\n")[0]) for text in texts]
        assert times == sorted(times, reverse=way == "descending")
    page.locator(".matrix tr", has_text="padded").locator("td a").nth(3).focus()
    page.keyboard.press("Enter")
    assert page.locator("details.vendor[open] h4").inner_text() == "padded"
    assert said == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768])
def test_page_never_scrolls_sideways(browser: Any, file: str, width: int) -> None:
    page = window(browser, viewport={"width": width, "height": 800})
    page.goto(file)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_print_takes_two_pages_in_dark_ink(browser: Any, file: str) -> None:
    """As it is opened: verdicts, figures and charts; folded parts are not printed."""
    page = window(browser, viewport={"width": 1280, "height": 800}, color_scheme="dark")
    page.goto(file)
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= 2
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.slow
def test_axe_finds_no_violation(browser: Any, file: str) -> None:
    """Folded, and all open in every form; and axe finds a violation that is put there."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    page = window(browser)
    page.goto(file)
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))

    def violations() -> list[str]:
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]

    assert violations() == []
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    for width, scheme, media in FORMS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(media=media, color_scheme=scheme)
        assert violations() == [], (width, scheme, media)
    page.evaluate("document.querySelector('html').removeAttribute('lang')")
    assert violations() != []
