"""The page's part on each vendor: figures, distributions, anomalies, and examples of failures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.ranking import metric_title
from vendor_verifier.reports.run_conditions import goodput, pace
from vendor_verifier.reports.tables import Column, Item, Table, count, page_label, table
from vendor_verifier.reports.vendor_tables import spread_columns
from vendor_verifier.values.details import Example, VendorDetails
from vendor_verifier.values.score import ModelScore, VendorScore
from vendor_verifier.words import Texts

_EXCERPT = 420


@dataclass(frozen=True, slots=True)
class ExampleView:
    """An example in words: its reason, its sample, and titled excerpts."""

    title: str
    reason: str
    where: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class VendorView:
    """One vendor's part of the page."""

    index: int
    label: str
    icon: Markup
    is_baseline: bool
    subtitle: str
    headline: str
    facts: tuple[tuple[str, str], ...]
    distributions: Table
    examples: tuple[ExampleView, ...]
    examples_note: str | None


def vendor_view(
    index: int,
    vendor: VendorScore,
    model: ModelScore,
    details: VendorDetails | None,
    load: str | None,
    t: Texts,
    most: int,
) -> VendorView:
    """The page's part on one vendor, with at most ``most`` examples; ``load`` is its offered load in words."""
    found = () if details is None else details.examples
    shown = tuple(_example(one, t) for one in found[:most])
    return VendorView(
        index=index,
        label=page_label(vendor.label),
        icon=charts.icon(index),
        is_baseline=vendor.is_baseline,
        subtitle=_subtitle(vendor, t),
        headline=_headline(vendor, model, t),
        facts=tuple(_facts(vendor, load, t)),
        distributions=_distributions(vendor, t),
        examples=shown,
        examples_note=_examples_note(details, len(shown), t),
    )


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
    lines: list[tuple[str, str | None]] = [
        (t("succeeded"), f"{done}{t('comma')}{t('first_try')} {number_format.rate(first)}"),
        (t("attempts"), str(vendor.attempts + vendor.resent)),
        (t("resent"), str(vendor.resent) if vendor.resent else None),
        (t("goodput"), goodput(vendor, t, page_label)),
        (t("load"), load),
        (t("pace"), pace(vendor, t)),
        (t("triggering"), sentences.trigger_line(vendor, t)),
        (t("valid_calls", policy=vendor.schema.policy), _valid_calls(vendor, t)),
        (
            number_format.speed_title("e2e_tps", t),
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


def _distributions(vendor: VendorScore, t: Texts) -> Table:
    columns = [Column("n", lambda found: count(found.n)), *spread_columns()]
    items = (Item(name, found) for name, found in sorted(vendor.distributions.items()))
    return table(t("distributions"), t("metric"), columns, items, t)


def _example(one: Example, t: Texts) -> ExampleView:
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
        parts=tuple((title, visible(text, _EXCERPT)) for title, text in parts if text),
    )
