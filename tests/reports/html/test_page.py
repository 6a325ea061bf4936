"""The HTML report as a file: well-formed, closed to the network, small, and indifferent to what strangers wrote."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
import sample_reports
import synthetic_run
from changing import replace
from hypothesis import given, settings
from hypothesis import strategies as st
from page_reading import Page, read_page

from vendor_verifier.reports.html.page import MAX_BYTES, render
from vendor_verifier.values.details import Example, ReportDetails, VendorDetails
from vendor_verifier.values.score import ModelScore, Report
from vendor_verifier.words import LANGUAGES, Texts


@pytest.fixture(scope="module")
def judged() -> Report:
    """Ten vendors, sixty samples, every section."""
    return synthetic_run.report(60)


def csp(page: Page) -> str:
    return next(a["content"] or "" for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")


def sha(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("case", ["full", "empty", "single", "judged", "regional"])
def test_pages_are_well_formed(judged: Report, case: str, language: str) -> None:
    """Every element is closed in order and no identifier occurs twice, whatever the report holds."""
    report = judged if case == "judged" else getattr(sample_reports, case)()
    page = read_page(render(report, language))  # type: ignore[arg-type]
    assert page.faults == []
    assert page.elements[0] == ("html", {"lang": {"en": "en", "zh": "zh-Hans"}[language]})


def test_the_policy_allows_the_bundled_style_and_script_and_nothing_else(judged: Report) -> None:
    """The digests in the policy are those of the only style and the only script, and the default is to forbid."""
    page = read_page(render(judged))
    (style,), (script,) = page.texts["style"], page.texts["script"]
    rules = dict(part.strip().split(" ", 1) for part in csp(page).split(";"))
    assert rules == {
        "default-src": "'none'", "style-src": sha(style), "script-src": sha(script), "img-src": "data:",
        "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip


def test_nothing_in_the_page_points_outside(judged: Report) -> None:
    """Links go to identifiers of the page itself; nothing is loaded, no attribute is a script or a style."""
    page = read_page(render(judged))
    names = {f"#{name}" for name in page.attribute("id")}
    assert set(page.attribute("href")) <= names | {"data:,"}
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"iframe", "object", "embed", "img", "base", "form", "audio", "video"}
    assert [name for _, a in page.elements for name in a if name.startswith("on") or name in ("src", "style")] == []
    assert all(re.fullmatch(r"url\(#\w+\)", fill) for fill in page.attribute("fill"))


def test_a_page_of_ten_vendors_and_two_thousand_samples_can_be_mailed() -> None:
    """Ten vendors × 2,000 samples, everything judged, stay under 400,000 bytes."""
    report = synthetic_run.report(2_000)
    page = render(report)
    assert len(page.encode()) < MAX_BYTES
    assert len(page.encode()) > 100_000, "the details are missing"


def test_a_page_that_would_be_too_large_has_fewer_examples_and_says_so(judged: Report) -> None:
    """Long Chinese examples everywhere: the page stays under its limit and tells that it was shortened."""
    assert judged.details is not None
    long = Example("failure", "http_5xx", "trigger", "0" * 16 + "-1", 0, "问" * 280, "答" * 400, "期" * 240, "错" * 240)
    vendors = judged.details.models[synthetic_run.MODEL]
    full = {name: replace(one, examples=(long,) * 20, examples_found=20) for name, one in vendors.items()}
    page = render(replace(judged, details=ReportDetails({synthetic_run.MODEL: full})))
    assert len(page.encode()) <= MAX_BYTES
    assert Texts("en")("excerpts_cut") in page
    assert Texts("en")("excerpts_cut") not in render(judged)


def test_hostile_texts_stay_texts() -> None:
    """Markup, control and reordering characters of labels, models and warnings are shown, never obeyed."""
    text = render(sample_reports.full())
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not set(text) & set("\x1b\x07\u202e\u200b")
    assert len([tag for tag, _ in read_page(text).elements if tag == "script"]) == 1


@settings(max_examples=15, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_no_text_of_an_example_or_label_can_leave_its_place(text: str) -> None:
    """Whatever a vendor answers, the page has the same elements as with a harmless answer."""

    def shape(word: str) -> list[str]:
        example = Example(
            "failure", f"k{word}", "trigger", f"s{word}", 0, f"p{word}", f"r{word}", f"e{word}", f"m{word}", f"/{word}"
        )
        vendor = sample_reports.vendor("v" + word, failures={f"f{word}": 1})
        details = ReportDetails({"m": {"v" + word: VendorDetails(examples=(example,), examples_found=1, records=1)}})
        model = ModelScore("m", None, (vendor, sample_reports.vendor("other")))
        page = read_page(render(replace(sample_reports.single(), models=(model,), details=details)))
        assert page.faults == []
        return [tag for tag, _ in page.elements]

    assert shape(text) == shape("harmless")


def test_the_verdict_is_the_first_thing_said(judged: Report) -> None:
    """The heading is one sentence that names the leader, its doubt and the gates."""
    page = read_page(render(judged))
    (verdict,) = page.texts["span"][:1]
    assert verdict.startswith("moonshot ranks first of 10 vendors of kimi-k2.5 with IRF ")
    assert "cannot be told apart" in verdict
    assert "gates fail" in verdict
    assert verdict.endswith(".")


def test_sections_without_data_are_absent(judged: Report) -> None:
    """Judgements, details and charts appear when the report carries them and leave no trace otherwise."""
    names = set(read_page(render(judged)).attribute("id"))
    wanted = {"m0gates", "m0findings", "m0stability", "m0blame", "m0money", "m0time", "m0f1", "m0scatter", "m0schema"}
    assert wanted <= names
    bare = render(replace(judged, verdicts={}, details=None))
    assert wanted & set(read_page(bare).attribute("id")) == {"m0f1", "m0scatter", "m0schema"}
    assert "No price is known" in bare
    assert "No intervals were computed" in bare


def test_latency_by_region_is_there_only_where_workers_name_regions() -> None:
    """A section with a row for each vendor and region; without regions no trace of it."""
    page = read_page(render(sample_reports.regional()))
    assert "m0regions" in page.attribute("id")
    assert "Latency by region" in page.texts["h3"]
    assert "m0regions" not in read_page(render(sample_reports.single())).attribute("id")


def test_every_chart_is_told_as_a_table_too(judged: Report) -> None:
    """A screen reader gets a name for each picture and a table with a caption and a row a vendor beside it."""
    page = read_page(render(judged))
    pictures = [attributes for tag, attributes in page.elements if attributes.get("role") == "img"]
    assert len(pictures) == 6
    assert all(picture["aria-label"] for picture in pictures)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("caption") == tags.count("table")
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.elements if tag == "th")


def test_a_chinese_page_says_its_words_in_chinese(judged: Report) -> None:
    """No English word of the catalogue is left in the headings of the Chinese page."""
    page = read_page(render(judged, "zh"))
    headings = [word for tag in ("h2", "h3") for word in page.texts[tag]]
    assert len(headings) > 8
    assert [word for word in headings if word in Texts("en")._texts.values()] == []


def test_sortable_cells_hold_their_numbers(judged: Report) -> None:
    """What is sorted by is the exact figure, and a figure that is missing has none."""
    page = read_page(render(judged))
    numbers = [float(value) for value in page.attribute("data-n")]
    for vendor in judged.models[0].vendors:
        assert vendor.metrics["avg_ttft_ms"] in numbers
