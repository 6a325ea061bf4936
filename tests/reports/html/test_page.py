"""The HTML report as a file: well-formed, closed to the network, small, and indifferent to what strangers wrote."""

from __future__ import annotations

import base64
import hashlib
import html
import re

import pytest
import sample_reports
import synthetic_run
from changing import replace
from hypothesis import example, given, settings
from hypothesis import strategies as st
from page_reading import Page, read_page

from vendor_verifier.records.details import Example, ReportDetails, VendorDetails
from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.records.verdict import FACETS
from vendor_verifier.reports.html.page import MAX_BYTES, MOST_BYTES, render
from vendor_verifier.reports.verdicts import choice_line, evidence_command, usual_folder
from vendor_verifier.words import Texts

_END = r'(?=<details class="vendor"|</section>)'
BADNESS = ("unusable", "not_as_sold", "doubtful", "too_little_evidence", "as_sold")


@pytest.fixture(scope="module")
def judged() -> Report:
    """Ten vendors, sixty samples, every section."""
    return synthetic_run.report(60)


def csp(page: Page) -> str:
    return next(a["content"] or "" for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")


def sha(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@pytest.mark.parametrize("case", ["full", "empty", "single", "judged", "regional"])
def test_pages_are_well_formed(judged: Report, case: str) -> None:
    """Every element is closed in order and no identifier occurs twice, whatever the report holds."""
    report = judged if case == "judged" else getattr(sample_reports, case)()
    page = read_page(render(report))  # type: ignore[arg-type]
    assert page.faults == []
    assert page.elements[0] == ("html", {"lang": "en"})


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
    outside = [place for place in page.attribute("href") if place not in names | {"data:,"}]
    assert all(re.fullmatch(r"data:image/png;base64,[A-Za-z0-9+/=]+", place) for place in outside)
    assert len(outside) == 1
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"iframe", "object", "embed", "img", "base", "form", "audio", "video"}
    assert [name for _, a in page.elements for name in a if name.startswith("on") or name in ("src", "style")] == []


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
    assert Texts()("excerpts_cut") in page
    assert Texts()("excerpts_cut") not in render(judged)


def test_hostile_texts_stay_texts() -> None:
    """Markup, control and reordering characters of labels, models and warnings are shown, never obeyed."""
    text = render(sample_reports.full())
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not set(text) & set("\x1b\x07\u202e\u200b")
    assert len([tag for tag, _ in read_page(text).elements if tag == "script"]) == 1


@settings(max_examples=15, deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60))
@example("\ud800")
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
    """The heading is the sentence that every report begins with."""
    page = read_page(render(judged))
    (verdict,) = page.texts["span"][:1]
    assert verdict == choice_line(judged.models[0], judged, Texts(), str)
    assert verdict.startswith("kimi-k2.5: ")


def test_every_word_of_the_matrix_leads_to_its_evidence(judged: Report) -> None:
    """A row a vendor with a link for the verdict and one for each facet, each to a place in that vendor's own part."""
    text = render(judged)
    [matrix] = re.findall(r'<table class="matrix".*?</table>', text, re.DOTALL)
    places = re.findall(r'<a [^>]*href="#([^"]+)"', matrix)
    assert len(places) == len(judged.models[0].vendors) * (2 + len(FACETS))
    for place in places:
        vendor = re.fullmatch(r"(m0v\d+)(-\w+)?", place)
        assert vendor is not None
        part = re.search(
            rf'<details class="vendor" id="{vendor[1]}".*?(?=<details class="vendor"|</section>)', text, re.DOTALL
        )
        assert part is not None
        assert f'id="{place}"' in part[0]


def test_what_speaks_against_a_vendor_stands_in_its_own_part_with_numbers_and_command(judged: Report) -> None:
    """Vendors worst first; each judgement with its word, its reason and how to see more; those as sold are closed."""
    text = render(judged)
    vendors = judged.advice[synthetic_run.MODEL].vendors
    parts = re.findall(
        r'<details class="vendor" id="m0v(\d+)"[^>]*?( open)?>(.*?)(?=<details class="vendor"|</section>)',
        text,
        re.DOTALL,
    )
    order = [judged.models[0].vendors[int(index)].label for index, _, _ in parts]
    badness = [BADNESS.index(vendors[label].status) for label in order]
    assert badness == sorted(badness)
    assert badness[0] < badness[-1]
    for label, (_, is_open, part) in zip(order, parts, strict=True):
        assert bool(is_open) == bool(vendors[label].status in BADNESS[:3])
        told = html.unescape(part)
        for facet in vendors[label].against:
            assert facet.reason in told
            assert evidence_command(usual_folder(judged), label, facet) in told


def test_nothing_is_told_in_powers_of_ten(judged: Report) -> None:
    """Money and everything else is written as people write it."""
    model = synthetic_run.MODEL
    cheap = {name: replace(spent, per_valid_call_usd=3.656e-05) for name, spent in judged.verdicts[model].money.items()}
    page = render(replace(judged, verdicts={model: replace(judged.verdicts[model], money=cheap)}))
    words = re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    assert "$0.037" in words
    assert re.findall(r"\d[eE][-+]\d\d", words) == []


@pytest.mark.slow
def test_forty_vendors_of_ten_models_stay_below_three_million_bytes() -> None:
    """And say what was left out; every word of the matrices still leads somewhere."""
    one = synthetic_run.report(500, tuple(f"vendor {number} (router)" for number in range(40)))
    [model], names = one.models, [f"model-{number}" for number in range(10)]
    assert one.details is not None
    report = replace(
        one,
        models=tuple(replace(model, model=name) for name in names),
        details=ReportDetails(dict.fromkeys(names, one.details.models[synthetic_run.MODEL])),
        verdicts=dict.fromkeys(names, one.verdicts[synthetic_run.MODEL]),
        advice=dict.fromkeys(names, one.advice[synthetic_run.MODEL]),
    )
    text = render(report)
    assert MAX_BYTES < len(text.encode()) < MOST_BYTES
    assert Texts()("much_left_out") in text  # type: ignore[arg-type]
    page = read_page(text)
    assert page.faults == []
    assert {place[1:] for place in page.attribute("href") if place.startswith("#")} <= set(page.attribute("id"))
    assert len([1 for tag, _ in page.elements if tag == "image"]) == 10


def test_sections_without_data_are_absent(judged: Report) -> None:
    """Judgements, details and charts appear when the report carries them and leave no trace otherwise."""
    names = set(read_page(render(judged)).attribute("id"))
    wanted = {"m0verdicts", "m0gates", "m0stability", "m0noise", "m0blame", "m0money", "m0time", "m0heat", "m0ratio"}
    assert wanted | {"m0scatter", "m0ttft_ms"} <= names
    bare = render(replace(judged, verdicts={}, advice={}, details=None))
    assert (wanted | {"m0scatter", "m0ttft_ms"}) & set(read_page(bare).attribute("id")) == {"m0scatter"}
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
    assert len(pictures) == 4 + 10, "four pictures of all vendors, and the course of each"
    assert all(picture["aria-label"] for picture in pictures)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("caption") == tags.count("table")
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.elements if tag == "th")


def test_sortable_cells_hold_their_numbers(judged: Report) -> None:
    """What is sorted by is the exact figure, and a figure that is missing has none."""
    page = read_page(render(judged))
    numbers = [float(value) for value in page.attribute("data-n")]
    for vendor in judged.models[0].vendors:
        assert vendor.metrics["avg_ttft_ms"] in numbers


def test_nothing_is_drawn_of_what_was_not_measured(judged: Report) -> None:
    """A run without times has no picture of them, and a baseline asked once no row beside itself."""
    assert judged.details is not None
    found = judged.details.models[synthetic_run.MODEL]
    untimed = {
        label: replace(one, histograms={}, points=tuple(replace(point, ttft_ms=None) for point in one.points))
        for label, one in found.items()
    }
    page = html.unescape(render(replace(judged, details=ReportDetails({synthetic_run.MODEL: untimed}))))
    assert {"m0time", "m0ttft_ms"}.isdisjoint(read_page(page).attribute("id"))
    assert "m0heat" in read_page(page).attribute("id")
    assert Texts()("heat_baseline") not in page
    baseline = next(vendor.label for vendor in judged.models[0].vendors if vendor.is_baseline)
    twice = {**found, baseline: replace(found[baseline], answers=found[synthetic_run.LABELS[1]].answers)}
    page = html.unescape(render(replace(judged, details=ReportDetails({synthetic_run.MODEL: twice}))))
    assert Texts()("heat_baseline") in page
