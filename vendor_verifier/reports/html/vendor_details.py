"""The page's part on each vendor: what was judged with its evidence, figures, and examples of failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup

from vendor_verifier.records.details import Example, VendorDetails
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Finding
from vendor_verifier.records.score import ModelScore, Report, VendorScore
from vendor_verifier.records.verdict import Facet, FacetName, Status, VendorVerdict
from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import MAX_SENTENCE, visible
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.overview import Word, css_of, facet_place, verdict_word
from vendor_verifier.reports.judged import evidence
from vendor_verifier.reports.ranking import metric_title
from vendor_verifier.reports.run_conditions import goodput, offered, pace
from vendor_verifier.reports.tables import page_label
from vendor_verifier.reports.verdicts import evidence_command, usual_folder
from vendor_verifier.words import Texts

_EXCERPT = 420
_WORST_FIRST: tuple[Status, ...] = ("unusable", "not_as_sold", "doubtful", "too_little_evidence", "as_sold")
_SAID_AGAINST: tuple[Status, ...] = ("unusable", "not_as_sold", "doubtful")


class Claim(msgspec.Struct, frozen=True):
    """One judgement: the facet it is about, its word, its reason, the numbers and the command that show it.

    ``place`` is where the matrix leads to, for the first claim of a facet.
    """

    facet: str
    word: Word
    place: str | None
    reason: str
    numbers: str
    command: str | None


class ExampleView(msgspec.Struct, frozen=True):
    """An example in words: its reason, its sample, and titled excerpts; ``query`` names the sample in an address."""

    title: str
    reason: str
    where: str
    query: str
    parts: tuple[tuple[str, str], ...]


class VendorView(msgspec.Struct, frozen=True):
    """One vendor's part of the page; ``is_open`` where something speaks against it."""

    index: int
    label: str
    icon: Markup
    is_baseline: bool
    is_open: bool
    word: Word | None
    subtitle: str
    headline: str
    claims: tuple[Claim, ...]
    notes: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    examples: tuple[ExampleView, ...]
    examples_note: str | None


def vendor_views(model: ModelScore, report: Report, t: Texts, most: int) -> list[VendorView]:
    """The parts on a model's vendors, the worst first, each with at most ``most`` examples."""
    advice = report.advice.get(model.model)
    verdicts = {} if advice is None else advice.vendors
    details = report.details.models.get(model.model, {}) if report.details is not None else {}
    order = [verdicts[vendor.label].status if vendor.label in verdicts else "as_sold" for vendor in model.vendors]
    places = sorted(range(len(model.vendors)), key=lambda index: _WORST_FIRST.index(order[index]))
    return [
        _view(index, vendor, model, report, verdicts.get(vendor.label), details.get(vendor.label), t, most)
        for index, vendor in ((place, model.vendors[place]) for place in places)
    ]


def _view(
    index: int,
    vendor: VendorScore,
    model: ModelScore,
    report: Report,
    verdict: VendorVerdict | None,
    details: VendorDetails | None,
    t: Texts,
    most: int,
) -> VendorView:
    shown = tuple(_example(one, model.model, t) for one in (() if details is None else details.examples)[:most])
    found = _findings(vendor, model, report)
    return VendorView(
        index=index,
        label=page_label(vendor.label),
        icon=charts.icon(index),
        is_baseline=vendor.is_baseline,
        is_open=verdict is not None and verdict.status in _SAID_AGAINST,
        word=None if verdict is None else verdict_word(verdict, index, t),
        subtitle=_subtitle(vendor, t),
        headline=_headline(vendor, model, t),
        claims=tuple(_claims(index, verdict, found, usual_folder(report), t)),
        notes=tuple(_notes(verdict, found, t)),
        facts=tuple(_facts(vendor, offered(vendor, model, report, t), t)),
        examples=shown,
        examples_note=_examples_note(details, len(shown), t),
    )


def _findings(vendor: VendorScore, model: ModelScore, report: Report) -> list[Finding]:
    verdict = report.verdicts.get(model.model)
    return [found for found in (() if verdict is None else verdict.findings) if found.label == vendor.label]


def _claims(index: int, verdict: VendorVerdict | None, findings: list[Finding], run: str, t: Texts) -> Iterator[Claim]:
    """All that speaks against the vendor, worst first, then the facets that nothing speaks against."""
    if verdict is None:
        return
    against = verdict.against or tuple(facet for facet in verdict.facets if facet.status in _SAID_AGAINST)
    blamed = {facet.name for facet in against}
    rest = (facet for facet in verdict.facets if facet.name not in blamed)
    told: set[FacetName] = set()
    for facet in (*against, *rest):
        place = None if facet.name in told else facet_place(index, facet.name)
        told.add(facet.name)
        yield Claim(
            t(f"facet_{facet.name}"),
            Word(t(f"status_{facet.status}"), css_of(facet.status), ""),
            place,
            visible(facet.reason, MAX_SENTENCE),
            _numbers(facet, findings, t),
            evidence_command(run, verdict.label, facet) if facet.name in blamed else None,
        )


def _numbers(facet: Facet, findings: list[Finding], t: Texts) -> str:
    """The p-value and the interval that a judgement rests on, else the numbers of its finding."""
    parts = []
    if facet.p_value is not None:
        parts.append(t("p_below") if facet.p_value < 0.0001 else t("p_is", p=f"{facet.p_value:.2g}"))
    if facet.estimate is not None:
        parts += _interval(facet.estimate, t)
    found = next((each for each in findings if each.name == facet.finding), None)
    if not parts and found is not None:
        return evidence(found, t).strip(" ()（）")
    return t.joined(parts, "semicolon")


def _interval(found: Estimate, t: Texts) -> Iterator[str]:
    """The interval in words, in percent where both ends can be shares; nothing without both."""
    if found.low is None or found.high is None:
        return
    written = number_format.percent if max(abs(found.low), abs(found.high)) <= 1 else number_format.quantity
    yield t("rests_on", level=f"{found.level:.0%}".replace("%", " %"), low=written(found.low), high=written(found.high))


def _notes(verdict: VendorVerdict | None, findings: list[Finding], t: Texts) -> Iterator[str]:
    """The findings that are not held against the vendor."""
    judged = set() if verdict is None else {facet.finding for facet in (*verdict.against, *verdict.facets)}
    for found in findings:
        if found.name not in judged:
            yield visible(found.statement, MAX_SENTENCE) + evidence(found, t)


def _subtitle(vendor: VendorScore, t: Texts) -> str:
    text = t("answers_for", vendor=page_label(vendor.vendor), model_id=page_label(vendor.model_id))
    return text + (t("comma") + t("pinned", provider=page_label(vendor.provider)) if vendor.provider else "")


def _headline(vendor: VendorScore, model: ModelScore, t: Texts) -> str:
    lines = [
        f"IRF {number_format.irf(vendor, model)}",
        f"{number_format.figure_title('success_rate', t)} {number_format.metric(vendor, 'success_rate')}",
    ]
    failed = vendor.recorded - vendor.succeeded
    return " · ".join([*lines, *([f"{failed} {t('failed')}"] if failed else [])])


def _examples_note(details: VendorDetails | None, shown: int, t: Texts) -> str | None:
    if details is None:
        return None
    if not details.examples_found:
        return t("no_examples")
    return t("examples_some", shown=shown, found=details.examples_found) if shown < details.examples_found else None


def _facts(vendor: VendorScore, load: str | None, t: Texts) -> list[tuple[str, str]]:
    """(title, text) of the vendor's lines; those without a value are left out."""
    done = t("of", part=vendor.succeeded, whole=vendor.planned)
    first = sentences.first_attempt_success_rate(vendor)
    classes = {t(f"class_{name}"): number for name, number in vendor.schema.classes.items() if number}
    lines: list[tuple[str, str | None]] = [
        (t("succeeded"), f"{done}{t('comma')}{t('first_try')} {number_format.rate(first)}"),
        (t("attempts"), str(vendor.attempts + vendor.resent)),
        (t("resent"), str(vendor.resent) if vendor.resent else None),
        (t("goodput"), goodput(vendor, t, page_label)),
        (t("load"), load),
        (t("pace"), pace(vendor, t)),
        (t("triggering"), sentences.trigger_line(vendor, t)),
        (t("valid_calls", policy=vendor.schema.policy), _valid_calls(vendor, t)),
        (t("arguments"), number_format.tally(classes, str) if vendor.schema.calls else None),
        (
            number_format.speed_title("e2e_tps"),
            number_format.quantity(vendor.e2e_tps) if vendor.e2e_tps is not None else None,
        ),
        (t("ranks_each"), _ranks(vendor, t)),
        (t("failures"), _tally(vendor.failures)),
        (t("finish_reasons"), _tally(vendor.finish_reasons)),
        (t("anomalies"), _tally(vendor.anomalies)),
        (t("served"), _tally(vendor.served_models)),
    ]
    return [(title, value) for title, value in lines if value]


def _valid_calls(vendor: VendorScore, t: Texts) -> str | None:
    return t("of", part=sentences.valid_calls(vendor), whole=vendor.schema.calls) if vendor.schema.calls else None


def _ranks(vendor: VendorScore, t: Texts) -> str:
    return t.joined(f"{metric_title(name, t)} {rank:g}" for name, rank in vendor.ranks.items())


def _tally(counts: Mapping[str, int]) -> str | None:
    return number_format.tally(counts, page_label) if counts else None


def _example(one: Example, model: str, t: Texts) -> ExampleView:
    where = [one.suite, t("sample", id=visible(one.sample, 40))]
    where += [visible(one.source, 80)] if one.source else []
    where += [t("tries", n=one.attempts)] if one.attempts > 1 else []
    against_baseline = one.kind in ("called", "not_called")
    parts = [
        (t("asked_this"), one.prompt),
        (t("replied"), one.reply or t("no_reply")),
        (t("baseline_said" if against_baseline else "expected"), one.expected),
        (t("message"), one.message),
        (t("pointer"), one.pointer),
    ]
    return ExampleView(
        title=t(f"example_{one.kind}"),
        reason="" if against_baseline else visible(one.reason, 120),
        where=" · ".join(where),
        query=urlencode({"model": model, "suite": one.suite, "sample": one.sample}, errors="replace"),
        parts=tuple((title, visible(text, _EXCERPT)) for title, text in parts if text),
    )
