"""A report in a notebook: one sentence, a small table a model, and no stranger's text that a browser would obey."""

from __future__ import annotations

from pathlib import Path

import sample_reports
from advising import advised
from changing import replace
from page_reading import read_page

import vendor_verifier
from vendor_verifier.reports.notebook import report_html
from vendor_verifier.reports.tables import page_label
from vendor_verifier.reports.verdicts import first_line
from vendor_verifier.words import Texts

TAGS = {"p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td"}
HOSTILE = '<img src=x onerror="alert(1)">'
CONFIG = f"""\
simulated-model:
  vendors:
    - {{name: simulated, label: official, model_id: m, url: "sim://faithful", is_baseline: true}}
    - {{name: simulated, label: '{HOSTILE}', model_id: m, url: "sim://quantised"}}
"""


def test_it_is_the_first_line_and_a_table_a_model() -> None:
    """The sentence is that of every other output; a row a vendor, with the columns that Markdown has."""
    report = advised(sample_reports.single())
    page = read_page(report_html(report))
    assert page.texts["strong"] == [first_line(report, Texts("narrow"), page_label)]
    rows = sum(len(model.vendors) for model in report.models)
    names = [vendor.label for model in report.models for vendor in model.vendors]
    assert [tag for tag, _ in page.elements].count("tr") == rows + len(report.models)
    assert page.texts["th"][-rows:] == [page_label(name) for name in names]
    assert page.texts["caption"] == [page_label(model.model) for model in report.models]


def test_no_text_of_a_stranger_becomes_an_element() -> None:
    """Labels, models and reasons that are attacks stay text; there is no attribute that a browser acts on."""
    text = report_html(advised(sample_reports.full()))
    page = read_page(text)
    assert page.faults == []
    assert {tag for tag, _ in page.elements} <= TAGS
    assert {name for _, attributes in page.elements for name in attributes} <= {"colspan"}
    assert not {"\u202e", "\u200b", "\x1b"} & set(text)
    assert any("<script>alert(1)</script>" in told for told in page.texts["th"])


def test_many_vendors_are_cut_and_none_is_a_sentence() -> None:
    """A cell of a notebook is small."""
    report = advised(sample_reports.single())
    (model,) = report.models
    many = tuple(replace(model.vendors[0], label=f"v{place}") for place in range(33))
    page = read_page(report_html(replace(report, models=(replace(model, vendors=many),), advice={})))
    assert [tag for tag, _ in page.elements].count("tr") == 22
    assert page.texts["td"][-1] == "and 13 more"
    assert read_page(report_html(sample_reports.empty())).faults == []


def test_what_verify_and_load_run_return_show_themselves(tmp_path: Path) -> None:
    """The same of a run, live and stored, with a hostile label in the config."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    outcome = vendor_verifier.verify(tmp_path / "config.yaml", output_dir=tmp_path / "run", limit=4, retries=0)
    page = read_page(outcome._repr_html_())
    assert HOSTILE in page.texts["th"]
    assert "img" not in {tag for tag, _ in page.elements}
    stored = read_page(vendor_verifier.load_run(tmp_path / "run")._repr_html_())
    assert (stored.texts["strong"], stored.faults) == (page.texts["strong"], [])
