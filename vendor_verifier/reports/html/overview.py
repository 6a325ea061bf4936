"""The head of a model's part of the page: the matrix of vendors and facets, and the one table of figures and prices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import structs

from vendor_verifier.audit.cost import monthly_usd
from vendor_verifier.records.money import Money
from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.records.verdict import FACETS, Advice, FacetName, Status, VendorVerdict
from vendor_verifier.reports import number_format
from vendor_verifier.reports.ranking import Entry, estimate_of, irf_of, ranking
from vendor_verifier.reports.sentences import band_lines, footnotes
from vendor_verifier.reports.tables import Cell, Column, Table, page_label
from vendor_verifier.reports.verdicts import SIGNS, by_verdict, status_word
from vendor_verifier.words import Texts

# The volume that a month is told for until the buyer states another.
MONTHLY_REQUESTS = 100_000


class Word(msgspec.Struct, frozen=True):
    """A status in words, and its class; ``about`` names the facet, ``at`` is where its evidence is."""

    text: str
    css: str
    at: str
    about: str = ""


class MatrixRow(msgspec.Struct, frozen=True):
    """One vendor: its verdict with the strongest reason, then a word for each facet."""

    index: int
    label: str
    is_baseline: bool
    reason: str
    verdict: Word
    facets: tuple[Word, ...]


class Volume(msgspec.Struct, frozen=True):
    """A month of so many requests, or of so many tokens."""

    unit: Literal["request", "token"]
    number: int


def css_of(status: Status) -> str:
    """The class of a status, which gives it its colours."""
    return f"status-{status.replace('_', '-')}"


def verdict_word(verdict: VendorVerdict, index: int, t: Texts) -> Word:
    """The verdict on a vendor, leading to the vendor's own section."""
    return Word(status_word(verdict, t), css_of(verdict.status), f"v{index}")


def facet_place(index: int, name: FacetName) -> str:
    """The anchor, in the model's part, of the evidence on a vendor's facet."""
    return f"v{index}-{name}"


def matrix(model: ModelScore, advice: Advice | None, t: Texts) -> list[MatrixRow]:
    """The matrix, the best verdicts first; empty where nobody judged."""
    if advice is None:
        return []
    return [
        MatrixRow(
            index,
            page_label(vendor.label),
            vendor.is_baseline,
            "" if verdict.status == "as_sold" else verdict.reason,
            verdict_word(verdict, index, t),
            tuple(_facet(verdict, name, index, t) for name in FACETS),
        )
        for index, vendor, verdict in by_verdict(model, advice)
    ]


def _facet(verdict: VendorVerdict, name: FacetName, index: int, t: Texts) -> Word:
    status = verdict.facet(name).status
    return Word(t(f"status_{status}"), css_of(status), facet_place(index, name), t(f"facet_{name}"))


def figures(model: ModelScore, report: Report, t: Texts) -> Table:
    """Verdict, place, the ranked metrics with their intervals, and what a valid call and a month cost."""
    shown = ranking(report, [model], t).of("html")
    advice = report.advice.get(model.model)
    columns = [_ranked(column) for column in shown.columns if column.key != "verdict"]
    if advice is not None:
        columns.insert(0, _verdict(model, advice, t))
    return structs.replace(shown, columns=(*columns, *_prices(model, report, t)))


def _ranked(column: Column) -> Column:
    """A column of the ranking; IRF and place get their intervals."""
    if column.key == "irf":
        return structs.replace(column, cell=lambda entry: _irf(column.cell(entry), entry))
    if column.key == "place":
        return structs.replace(column, cell=lambda entry: _place(column.cell(entry), entry))
    return column


def _irf(cell: Cell, entry: Entry) -> Cell:
    found = irf_of(entry.verdict).get(entry.vendor.label)
    return cell if found is None else structs.replace(cell, small=number_format.interval(found.irf))


def _place(cell: Cell, entry: Entry) -> Cell:
    found = irf_of(entry.verdict).get(entry.vendor.label)
    if found is None or found.rank.low == found.rank.high:
        return cell
    return structs.replace(cell, small=number_format.ranks(found.rank.low, found.rank.high))


def _verdict(model: ModelScore, advice: Advice, t: Texts) -> Column:
    order: Sequence[Status] = ("as_sold", "too_little_evidence", "doubtful", "not_as_sold", "unusable")
    places = {vendor.label: index for index, vendor in enumerate(model.vendors)}

    def cell(entry: Entry) -> Cell:
        verdict = advice.vendors.get(entry.vendor.label)
        if verdict is None:
            return Cell(number_format.MISSING)
        word = verdict_word(verdict, places[verdict.label], t)
        return Cell(
            f"{SIGNS[verdict.status]} {word.text}",
            order.index(verdict.status),
            css=f"status {word.css}",
            kind="words",
            link=word.at,
        )

    return Column("verdict", cell, direction="asc")


def _prices(model: ModelScore, report: Report, t: Texts) -> list[Column]:
    """The columns of what a valid call and a month cost; none where no price is known."""
    verdict = report.verdicts.get(model.model)
    if verdict is None or not verdict.money:
        return []
    money = verdict.money

    def per_call(entry: Entry) -> Cell:
        spent = money.get(entry.vendor.label)
        usd = None if spent is None or spent.per_valid_call_usd is None else 1000 * spent.per_valid_call_usd
        found = estimate_of(verdict, entry.vendor.label, "cost_per_valid_call_usd")
        small = None
        if found is not None and found.low is not None and found.high is not None:
            small = f"{number_format.money(1000 * found.low)}–{number_format.money(1000 * found.high)}"
        return Cell(number_format.money(usd), usd, small)

    stated = volume(report)

    def a_month(entry: Entry) -> Cell:
        spent = money.get(entry.vendor.label)
        each = {} if spent is None else _each_usd(spent)
        usd = each[stated.unit] * stated.number if stated.unit in each else None
        return Cell(number_format.money(usd), usd, css="monthly", data=each)

    return [
        Column("usd_1000_calls", per_call, t("usd_call"), direction="asc"),
        Column("usd_month", a_month, direction="asc"),
    ]


def _each_usd(spent: Money) -> dict[str, float]:
    """The costs of a request and of a token in this run, as far as they are known."""
    known = {"request": monthly_usd(spent, requests=1), "token": monthly_usd(spent, tokens=1)}
    return {unit: usd for unit, usd in known.items() if usd is not None}


def volume(report: Report) -> Volume:
    """The buyer's month as stated, else a round number of requests."""
    stated = report.manifest.score
    if stated.monthly_tokens is not None:
        return Volume("token", stated.monthly_tokens)
    return Volume("request", MONTHLY_REQUESTS if stated.monthly_requests is None else stated.monthly_requests)


def has_prices(model: ModelScore, report: Report) -> bool:
    """Whether it is known what any vendor costs, so that a month can be told."""
    verdict = report.verdicts.get(model.model)
    return verdict is not None and bool(verdict.money)


def notes(model: ModelScore, report: Report, t: Texts) -> list[str]:
    """The notes on the table's marks and small figures, and on the month that prices are told for."""
    verdict = report.verdicts.get(model.model)
    found = [*footnotes(model, t), *band_lines(model, t, page_label)]
    if verdict is not None and (verdict.intervals or verdict.ranking):
        found.append(t("interval_note", level="95 %"))
    elif len(model.vendors) > 1:
        found.append(t("no_intervals"))
    if has_prices(model, report):
        month = volume(report)
        found.append(t(f"monthly_{month.unit}s_note", number=f"{month.number:,}"))
    return found
