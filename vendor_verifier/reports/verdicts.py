"""The verdict in every output: the first line, the matrix of vendors and facets, the reasons with their evidence."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from vendor_verifier.records.score import ModelScore, Report, VendorScore
from vendor_verifier.records.verdict import BEST_FIRST, FACETS, Advice, Choice, Facet, Status, VendorVerdict
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import MAX_SENTENCE, markdown, markdown_code
from vendor_verifier.reports.run_conditions import shape_of
from vendor_verifier.reports.sentences import Escape
from vendor_verifier.reports.tables import Cell, Column, Item, Table, markdown_label, table, words
from vendor_verifier.words import Texts

# A shape beside the word and the colour, for those who see neither.
SIGNS: dict[Status, str] = {
    "as_sold": "✔", "doubtful": "△", "not_as_sold": "✘", "unusable": "⊘", "too_little_evidence": "…",
}  # fmt: skip


# A run that may miss more than this calls a vendor as sold easily, and says so at once.
_WORTH_SAYING = 0.1


def first_line(report: Report, t: Texts, escape: Escape) -> str:
    """The advice in one sentence a model, then the amount that was asked."""
    models = [model for model in report.models if model.vendors]
    if not models:
        return t("nothing")
    choices = t.joined((choice_line(model, report, t, escape) for model in models), "semicolon")
    return t("summary", choices=choices, samples=t("summary_samples", n=report.samples), often=_asked(report, t))


def choice_line(model: ModelScore, report: Report, t: Texts, escape: Escape) -> str:
    """The choice between one model's vendors."""
    advice = report.advice.get(model.model)
    name = escape(model.model)
    if advice is None:
        return t("choice_unjudged", model=name, n=len(model.vendors))
    choice = advice.choice
    is_nameless = choice.kind == "undecided" and not choice.labels
    said = t(
        "choice_unknown" if is_nameless else f"choice_{choice.kind}",
        model=name,
        labels=t.listed([escape(label) for label in choice.labels], most=5),
        n=len(model.vendors) if choice.kind == "nobody_answered" else choice.of,
        others=choice.counts.get("as_sold", 1) - 1,
        status=t.joined(t(f"status_{status}") for status in choice.counts),
        parted=_parted(choice, t, escape),
        rest=_rest(choice, t),
    )
    return said + _unseen(choice, t)


def _unseen(choice: Choice, t: Texts) -> str:
    """The loss that those who are named may have without being seen, where it is large enough to matter to a buyer."""
    if choice.unseen_loss is None or choice.unseen_loss < _WORTH_SAYING:
        return ""
    return t("choice_unseen", points=f"{100 * choice.unseen_loss:.0f}")


def _parted(choice: Choice, t: Texts, escape: Escape) -> str:
    parts = []
    if choice.cheapest is not None and choice.cheapest_usd is not None:
        usd = number_format.money(1000 * choice.cheapest_usd)
        parts.append(t("choice_cheapest", label=escape(choice.cheapest), usd=usd))
    if choice.fastest is not None:
        parts.append(t("choice_fastest", label=escape(choice.fastest)))
    return "".join(parts)


def _rest(choice: Choice, t: Texts) -> str:
    """The numbers of vendors that are something else than as sold, in brackets."""
    worst_first: list[Status] = [*reversed(BEST_FIRST[1:])]
    worst_first += [] if choice.kind == "undecided" else ["too_little_evidence"]
    parts = [f"{choice.counts[status]} {t(f'status_{status}')}" for status in worst_first if choice.counts.get(status)]
    return t("choice_rest", parts=t.joined(parts)) if parts else ""


def _asked(report: Report, t: Texts) -> str:
    """The number of times the samples were asked, and how much of that an incomplete run has."""
    often = _how_often(report, t)
    vendors = [vendor for model in report.models for vendor in model.vendors]
    planned, recorded = sum(vendor.planned for vendor in vendors), sum(vendor.recorded for vendor in vendors)
    if report.complete or recorded >= planned:
        return often
    return t("often_so_far", often=often, recorded=f"{recorded:,}", planned=f"{planned:,}")


def _how_often(report: Report, t: Texts) -> str:
    shape = shape_of(report)
    if shape.get("duration_s") is not None:
        return t("often_for", seconds=f"{shape['duration_s']:g}")
    if shape.get("schedule"):
        return t("often_schedule")
    often = t("often_times", n=report.repeat)
    most = max((info.repeat or 0 for info in report.manifest.infos if info.is_baseline), default=0)
    return t("often_baseline", often=often, n=most) if most > report.repeat else often


def status_word(verdict: VendorVerdict, t: Texts) -> str:
    """The word for a vendor; the baseline is the reference unless something speaks against it."""
    if verdict.is_reference and verdict.status in ("as_sold", "too_little_evidence"):
        return t("status_reference")
    return t(f"status_{verdict.status}")


def matrix(model: ModelScore, advice: Advice, t: Texts) -> Table:
    """Vendors × facets: a word and a shape in each cell, in the order of :func:`by_verdict`."""
    columns = [
        Column("verdict", lambda verdict: status_cell(verdict, t)),
        *(_facet_column(name, t) for name in FACETS),
    ]
    items = [
        Item(vendor.label, verdict, index, vendor.is_baseline) for index, vendor, verdict in by_verdict(model, advice)
    ]
    return table(t("verdict"), t("vendor"), columns, items, t)


def by_verdict(model: ModelScore, advice: Advice) -> list[tuple[int, VendorScore, VendorVerdict]]:
    """Place in the ranking, vendor and verdict: the reference first, then the best verdicts, each in ranking order."""
    best_first = [*BEST_FIRST[:1], "too_little_evidence", *BEST_FIRST[1:]]
    judged = [
        (index, vendor, advice.vendors[vendor.label])
        for index, vendor in enumerate(model.vendors)
        if vendor.label in advice.vendors
    ]
    return sorted(judged, key=lambda one: (not one[2].is_reference, best_first.index(one[2].status), one[0]))


def _facet_column(name: Any, t: Texts) -> Column:
    def cell(verdict: VendorVerdict) -> Cell:
        facet = verdict.facet(name)
        return _cell(facet.status, t(f"status_{facet.status}"))

    return Column(f"facet_{name}", cell, t(f"facet_{name}"))


def status_cell(verdict: VendorVerdict, t: Texts) -> Cell:
    """A vendor's verdict over all, as a word and a shape."""
    return _cell(verdict.status, status_word(verdict, t))


def _cell(status: Status, word: str) -> Cell:
    return words(f"{SIGNS[status]} {word}", css=f"status-{status.replace('_', '-')}")


def advised(report: Report) -> Iterator[tuple[ModelScore, Advice]]:
    """The models with vendors for which there is advice."""
    for model in report.models:
        if model.vendors and (advice := report.advice.get(model.model)) is not None:
            yield model, advice


def reason_line(verdict: VendorVerdict, facet: Facet, t: Texts, escape: Escape, prose: Escape) -> str:
    """``reseller, Model: ✘ not as sold: answered as …``: the label goes through ``escape``, the reason ``prose``."""
    status = f"{SIGNS[facet.status]} {t(f'status_{facet.status}')}"
    named = {"label": escape(verdict.label), "facet": t(f"facet_{facet.name}")}
    return t("reason_line", **named, status=status, reason=prose(facet.reason))


def markdown_reasons(advice: Advice, report: Report, t: Texts) -> list[str]:
    """The reasons against the vendors as a Markdown list, each with the command that shows its evidence."""
    return [
        f"- {reason_line(verdict, facet, t, markdown_label, _sentence)} {markdown_code(command)}"
        for verdict, facet, command in reasons(advice, usual_folder(report))
    ]


def _sentence(text: str) -> str:
    """A sentence of ours in Markdown, whole."""
    return markdown(text, MAX_SENTENCE)


def usual_folder(report: Report) -> str:
    """The folder in which a run lies unless another one was asked for, as commands in files name it."""
    return f"runs/{report.run}"


def reasons(advice: Advice, run: str) -> Iterator[tuple[VendorVerdict, Facet, str]]:
    """The facets with something to say against a vendor, the worst vendor first, each with the command that shows its
    evidence."""
    worst_first = [*reversed(BEST_FIRST), "too_little_evidence"]
    ordered = sorted(advice.vendors.values(), key=lambda verdict: worst_first.index(verdict.status))
    for verdict in ordered:
        for facet in sorted(verdict.facets, key=lambda facet: worst_first.index(facet.status)):
            if facet.status not in ("as_sold", "too_little_evidence"):
                yield verdict, facet, evidence_command(run, verdict.label, facet)


def evidence_command(run: str, label: str, facet: Facet) -> str:
    """The command that shows the evidence of a facet: its first sample, else the vendor's worst ones."""
    words = ["agent-vendor-verifier", "explain", run, "--vendor", label]
    return shlex.join([*words, "--sample", facet.samples[0]] if facet.samples else words)
