"""The matrix and the one table at the head of a model's part of the page."""

from __future__ import annotations

from importlib.resources import files

import pytest
import synthetic_run
from changing import replace

from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.records.score import Report
from vendor_verifier.records.verdict import FACETS
from vendor_verifier.reports.html.overview import MONTHLY_REQUESTS, figures, matrix, notes
from vendor_verifier.reports.verdicts import SIGNS
from vendor_verifier.words import Texts

EN = Texts()


@pytest.fixture(scope="module")
def judged() -> Report:
    """Four vendors and everything that was judged of them."""
    return synthetic_run.report(60, synthetic_run.LABELS[:4])


def months(report: Report) -> list[str]:
    """The cells of the column of a month."""
    shown = figures(report.models[0], report, EN)
    place = [column.key for column in shown.columns].index("usd_month")
    return [row.cells[place].text for row in shown.rows]


def stated(report: Report, **volume: int) -> Report:
    score = ScoreRequest(**volume)
    return replace(report, manifest=replace(report.manifest, score=score))


def test_the_matrix_has_a_word_a_facet_and_the_reason_of_what_is_not_as_sold(judged: Report) -> None:
    """In the order of the ranking; a vendor that is as sold needs no reason."""
    [model] = judged.models
    advice = judged.advice[model.model]
    rows = matrix(model, advice, EN)
    assert [row.label for row in rows] == [vendor.label for vendor in model.vendors]
    for row in rows:
        verdict = advice.vendors[row.label]
        assert [word.text for word in row.facets] == [EN(f"status_{verdict.facet(name).status}") for name in FACETS]
        assert row.reason == ("" if verdict.status == "as_sold" else verdict.reason)
    assert matrix(model, None, EN) == []


def test_the_style_draws_the_shapes_that_other_outputs_write() -> None:
    """A word has the same shape on the page and on a terminal."""
    style = files("vendor_verifier.reports.html").joinpath("page.css").read_text(encoding="utf-8")
    for status, sign in SIGNS.items():
        assert f'.status-{status.replace("_", "-")}::before{{content:"\\{ord(sign):X} ' in style


def test_a_month_is_the_one_stated_else_a_round_one(judged: Report) -> None:
    """Requests at what one cost, tokens at what one cost; the note says which."""
    assert months(judged)[0] == "$200.00"
    assert f"{MONTHLY_REQUESTS:,} requests" in " ".join(notes(judged.models[0], judged, EN))
    million = stated(judged, monthly_requests=1_000_000)
    assert months(million)[0] == "$2,000"
    verdict = judged.verdicts[synthetic_run.MODEL]
    counted = {label: replace(spent, tokens=1_000_000) for label, spent in verdict.money.items()}
    tokens = stated(
        replace(judged, verdicts={synthetic_run.MODEL: replace(verdict, money=counted)}), monthly_tokens=10_000_000
    )
    assert months(tokens)[0] == "$40.00"
    assert "10,000,000 tokens" in " ".join(notes(tokens.models[0], tokens, EN))


def test_without_prices_there_is_no_month(judged: Report) -> None:
    """Nothing is guessed: no column, and no word of it."""
    verdict = replace(judged.verdicts[synthetic_run.MODEL], money={})
    bare = replace(judged, verdicts={synthetic_run.MODEL: verdict})
    assert "usd_month" not in [column.key for column in figures(bare.models[0], bare, EN).columns]
    assert not [note for note in notes(bare.models[0], bare, EN) if "A month" in note]
