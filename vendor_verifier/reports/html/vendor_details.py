"""One vendor after the other: figures, distributions, what was noticed, and examples of what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import charts, tables
from vendor_verifier.reports.html.judgement import metric_title
from vendor_verifier.reports.html.sections import goodput, pace
from vendor_verifier.reports.html.tables import Row, Table, label, plain_table
from vendor_verifier.reports.html.time_charts import distribution_cells, distribution_titles
from vendor_verifier.reports.words import Texts
from vendor_verifier.values.score import Example, FeatureStatus, ModelScore, VendorDetails, VendorScore

_EXCERPT = 420


@dataclass(frozen=True, slots=True)
class ExampleView:
    """An example as words: what went wrong, where it stands, and titled excerpts."""

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
    """Everything about one vendor, with at most ``most`` examples; ``load`` says what it was offered."""
    found = () if details is None else details.examples
    shown = tuple(_example(one, t) for one in found[:most])
    return VendorView(
        index=index,
        label=label(vendor.label),
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
    text = t("answers_for", vendor=label(vendor.vendor), model_id=label(vendor.model_id))
    return text + (t("comma") + t("pinned", provider=label(vendor.provider)) if vendor.provider else "")


def _headline(vendor: VendorScore, model: ModelScore, t: Texts) -> str:
    told = [
        f"IRF {number_format.irf(vendor, model)}",
        f"{t('success_rate')} {number_format.metric(vendor, 'success_rate')}",
    ]
    failed = vendor.recorded - vendor.succeeded
    return " · ".join([*told, *([f"{failed} {t('failed')}"] if failed else [])])


def _examples_note(details: VendorDetails | None, shown: int, t: Texts) -> str | None:
    if details is None:
        return None
    if not details.examples_found:
        return t("no_examples")
    return t("examples_some", shown=shown, found=details.examples_found) if shown < details.examples_found else None


def _facts(vendor: VendorScore, load: str | None, t: Texts) -> list[tuple[str, str]]:
    """Titled lines; those that there is nothing to say for are left out."""
    done = t("of", part=vendor.succeeded, whole=vendor.planned)
    first = sentences.first_attempt_success_rate(vendor)
    told: list[tuple[str, str | None]] = [
        (t("succeeded"), f"{done}{t('comma')}{t('first_try')} {number_format.rate(first)}"),
        (t("attempts"), str(vendor.attempts + vendor.resent)),
        (t("resent"), str(vendor.resent) if vendor.resent else None),
        (t("goodput"), goodput(vendor, t)),
        (t("load"), load),
        (t("pace"), pace(vendor, t)),
        (t("triggering"), _trigger(vendor, t)),
        (t("valid_calls", policy=vendor.schema.policy), _valid_calls(vendor, t)),
        (t("e2e_tps"), number_format.quantity(vendor.e2e_tps) if vendor.e2e_tps is not None else None),
        (t("ranks_each"), _ranks(vendor, t)),
        (t("failures"), _tally(vendor.failures)),
        (t("finish_reasons"), _tally(vendor.finish_reasons)),
        (t("anomalies"), _tally(vendor.anomalies)),
        (t("served"), _tally(vendor.served_models)),
    ]
    return [(title, value) for title, value in told if value]


def _trigger(vendor: VendorScore, t: Texts) -> str | None:
    """The confusion matrix in one line, with what was left out of it; None without one."""
    trigger = vendor.trigger
    if trigger is None:
        return None
    left_out = (
        ("left_failed", trigger.failed_as_missed),
        ("left_baseline", trigger.dropped_baseline),
        ("left_vendor", trigger.dropped_vendor),
        ("left_unsent", trigger.not_sent),
    )
    line = f"TP {trigger.tp} FP {trigger.fp} FN {trigger.fn} TN {trigger.tn}"
    told = [line, *(t(name, n=number) for name, number in left_out if number)]
    told += [t("pairs_of_runs", n=trigger.pairs_of_runs)] if trigger.pairs_of_runs > 1 else []
    return t("comma").join(told)


def _valid_calls(vendor: VendorScore, t: Texts) -> str | None:
    return t("of", part=sentences.valid_calls(vendor), whole=vendor.schema.calls) if vendor.schema.calls else None


def _ranks(vendor: VendorScore, t: Texts) -> str:
    return t("comma").join(f"{metric_title(name, t)} {rank:g}" for name, rank in vendor.ranks.items())


def _tally(counts: Mapping[str, int]) -> str | None:
    return number_format.tally(counts, label) if counts else None


def _distributions(vendor: VendorScore, t: Texts) -> Table:
    rows = (Row(label(name), distribution_cells(found)) for name, found in sorted(vendor.distributions.items()))
    return plain_table(t("distributions"), t("metric"), distribution_titles(t), rows)


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


def suite_tables(model: ModelScore, t: Texts) -> list[tuple[str, list[Table]]]:
    """Per evaluation its title and tables: what it measured, and the checks of the one that examines features."""
    found = []
    for suite in dict.fromkeys(name for vendor in model.vendors for name in vendor.suites):
        made = [_values(model, suite, t), _checks(model, suite, t)]
        found.append((t("evaluation", name=label(suite)), [table for table in made if table is not None]))
    return found


def _values(model: ModelScore, suite: str, t: Texts) -> Table | None:
    scores = [(index, vendor, vendor.suites.get(suite)) for index, vendor in enumerate(model.vendors)]
    names = list(dict.fromkeys(name for _, _, score in scores if score for name in score.values))
    if not names:
        return None
    rows = (
        Row(
            label(vendor.label),
            (
                tables.words(t("of", part=score.judged, whole=score.planned) if score else number_format.MISSING),
                *(tables.share(score.values.get(name) if score else None) for name in names),
            ),
            index,
        )
        for index, vendor, score in scores
    )
    return plain_table(t("evaluation", name=label(suite)), t("vendor"), (t("n"), *map(label, names)), rows)


def _checks(model: ModelScore, suite: str, t: Texts) -> Table | None:
    names = list(
        dict.fromkeys(
            name for vendor in model.vendors if suite in vendor.suites for name in vendor.suites[suite].checks
        )
    )
    if not names:
        return None
    rows = (Row(label(name), tuple(_check(vendor, suite, name, t) for vendor in model.vendors)) for name in names)
    titles = [label(vendor.label) for vendor in model.vendors]
    return plain_table(t("checks", name=label(suite)), t("check"), titles, rows)


def _check(vendor: VendorScore, suite: str, name: str, t: Texts) -> tables.Cell:
    score = vendor.suites.get(suite)
    check = None if score is None else score.checks.get(name)
    if check is None:
        return tables.Cell(number_format.MISSING)
    status: FeatureStatus = check.status
    evidence = visible(check.evidence, 160) if status == "broken" else None
    return tables.Cell(t(status), None, evidence, f"check-{status}")
