"""Tables of the measurements of a model's vendors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, get_args

from msgspec import structs

from vendor_verifier.metrics.inter_chunk_latency import ICL
from vendor_verifier.metrics.outcome import TOOL_CALL_ERROR_RATE
from vendor_verifier.records.score import (
    CallClass,
    Distribution,
    FeatureCheck,
    ModelScore,
    Report,
    SuiteScore,
    VendorScore,
)
from vendor_verifier.reports import number_format, run_conditions, sentences
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.tables import (
    Cell,
    Column,
    Item,
    Table,
    count,
    field_columns,
    measured,
    name,
    number,
    page_label,
    share,
    table,
    vendor_items,
    words,
)
from vendor_verifier.words import Texts

DISTRIBUTION_FIELDS = ("mean", "p50", "p90", "p95", "p99", "min", "max")
_TOKENS = ("total_tokens", "input_tokens", "output_tokens")
_TRIGGER = ("tp", "fp", "fn", "tn")
_MARKDOWN = frozenset({"markdown"})
_RATES = ("precision", "recall")
_LEFT_OUT = ("dropped_baseline", "dropped_vendor", "not_sent", "pairs_of_runs")


def of(part: int | None, whole: int, t: Texts) -> Cell:
    """A cell such as ``3 of 4``."""
    return Cell(number_format.of(part, whole, t))


def tally(counts: Mapping[str, int]) -> Cell:
    """A cell such as ``word 3, other 1``, whose words a stranger may have written."""
    return words(number_format.tally(counts, visible))


def _field(key: str, cell: Callable[[Any], Cell], title: str | None = None) -> Column:
    """A column with the item's field of that name."""
    return Column(key, lambda about: cell(getattr(about, key)), title)


def _entry(
    key: str, of: Callable[[Any], Mapping[str, Any]], cell: Callable[[Any], Cell], missing: Any = None
) -> Column:
    """A column with the value of that key in a mapping of the item."""
    return Column(key, lambda about: cell(of(about).get(key, missing)), key)


def ranks(model: ModelScore, report: Report, t: Texts) -> Table:
    """The table of the ranks that the IRF sums: the rank per metric and the number of metrics used."""
    columns = [_entry(metric, lambda vendor: vendor.ranks, number) for metric in report.rank_metrics]
    columns.append(Column("metrics_used", lambda vendor: of(vendor.irf_metrics, len(report.rank_metrics), t)))
    columns.append(_field("irf_global", lambda irf: Cell(number_format.fusion(irf))))
    return table(t("ranks_title"), t("vendor"), columns, vendor_items(model.vendors), t)


def amounts(model: ModelScore, t: Texts) -> Table:
    """The table of the number of planned samples that each figure was taken over."""

    def taken(metric: str) -> Callable[[VendorScore], Cell]:
        return lambda vendor: words(number_format.taken(vendor, metric, t, vendor.planned))

    columns = (
        Column("succeeded", lambda vendor: of(vendor.succeeded, vendor.planned, t)),
        Column("first_attempt", lambda vendor: of(vendor.succeeded_first_try, vendor.planned, t)),
        Column("first_attempt_rate", lambda vendor: share(sentences.first_attempt_success_rate(vendor))),
        _field("attempts", count),
        *(
            Column(metric, taken(metric), number_format.figure_title(metric, t))
            for metric in number_format.PAGE_METRICS
        ),
    )
    return table(t("amounts"), t("vendor"), columns, vendor_items(model.vendors), t)


def sent_again(model: ModelScore, t: Texts) -> Table:
    """The table of requests that were sent twice, of all that were sent."""
    columns = [Column("resent_of", lambda vendor: of(vendor.resent, vendor.attempts + vendor.resent, t))]
    resent = vendor_items(model.vendors, lambda vendor: vendor if vendor.resent else None)
    return table(t("sent_again"), t("vendor"), columns, resent, t)


def triggering(model: ModelScore, t: Texts) -> Table:
    """The confusion matrix behind F1."""
    columns = [_field(key, count, key.upper()) for key in _TRIGGER]
    columns += [_field("failed_as_missed", count), *(_field(key, share) for key in _RATES)]
    columns += [_field(key, count) for key in _LEFT_OUT]
    return table(t("triggering"), t("vendor"), columns, vendor_items(model.vendors, lambda vendor: vendor.trigger), t)


def arguments(model: ModelScore, t: Texts) -> Table:
    """Tool-call arguments by class, and the accuracy under both policies and in both units."""
    columns = [
        _field("calls", count),
        *(_entry(name, lambda schema: schema.classes, count, 0) for name in get_args(CallClass)),
        *(_field(key, share) for key in ("accuracy_lenient", "accuracy_strict")),
        _field("responses", count),
        *(_field(key, share) for key in ("per_response_lenient", "per_response_strict")),
        _field("tool_requests", count),
        _field(TOOL_CALL_ERROR_RATE.name, share, number_format.speed_title(TOOL_CALL_ERROR_RATE.name)),
    ]
    return table(t("arguments"), t("vendor"), columns, vendor_items(model.vendors, lambda vendor: vendor.schema), t)


def speed(model: ModelScore, t: Texts) -> Table:
    """The averages of decoding speed beside each other."""
    columns = [Column("tps_ratio", lambda vendor: Cell(number_format.metric(vendor, "tps")))]
    columns += [_field(key, number) for key in ("tps_mean", "tps_p50")]
    columns.append(_field("e2e_tps", number, number_format.speed_title("e2e_tps")))
    return table(t("speed"), t("vendor"), columns, vendor_items(model.vendors), t)


def distributions(model: ModelScore, t: Texts) -> Table:
    """The table of percentiles of all metrics of single requests.

    A metric that no vendor measured is left out, such as the TLS handshake of plain HTTP.
    """
    spreads = [item for vendor in model.vendors for item in vendor.distributions.items()]
    known = {metric for metric, spread in spreads if spread.n or spread.stalled}
    ordered = [metric for metric in (*number_format.SPEED_METRICS, *_TOKENS) if metric in known]
    items = [
        Item(number_format.speed_title(metric), (metric, vendor, vendor.distributions[metric]))
        for metric in [*ordered, *sorted(known.difference(ordered))]
        for vendor in model.vendors
        if metric in vendor.distributions
    ]

    def taken(item: tuple[str, VendorScore, Any]) -> Cell:
        # Gaps have no planned number.
        return measured(item[2], t, None if item[0] == ICL else item[1].planned)

    columns = [Column("vendor", lambda item: name(item[1].label)), Column("measured_n", taken)]
    return table(t("distributions"), t("metric"), [*columns, *spread_columns(lambda item: item[2])], items, t)


def spread_columns(of: Callable[[Any], Any] = lambda found: found) -> list[Column]:
    """Mean, percentiles and ends of a distribution, which may be missing."""
    made = field_columns(DISTRIBUTION_FIELDS, of)
    return [each if each.key.startswith("p") else structs.replace(each, title=None) for each in made]


def goodput(model: ModelScore, t: Texts) -> Table:
    """Requests that kept every SLO, and each of them."""
    columns = [
        Column("good_per_s", lambda found: number(found.per_s)),
        Column("good", lambda found: of(found.good, found.asked, t)),
        Column("good_share", lambda found: share(found.share)),
        Column("good_failed", lambda found: count(found.failed)),
        Column("good_unmeasured", lambda found: count(found.unmeasured)),
        *(_entry(slo, lambda found: found.kept, count) for slo in run_conditions.slos_of(model)),
        Column("good_stalled", lambda found: count(found.stalled)),
    ]
    return table(t("goodput"), t("vendor"), columns, vendor_items(model.vendors, lambda vendor: vendor.goodput), t)


def regions(model: ModelScore, t: Texts) -> Table:
    """A row for each vendor and region; none where no worker named a region."""
    columns = [
        Column("region", lambda seen: _region(seen.region), prose=True),
        Column("succeeded", lambda seen: of(seen.succeeded, seen.asked, t)),
        Column("region_rate", lambda seen: share(seen.success_rate)),
    ]
    for metric in ("ttft_ms", "e2e_ms"):
        title, spread = t(f"region_{metric}"), attrgetter(metric)
        columns.append(Column(metric, _taken(spread, t), title.format(field=t("n"))))
        columns += field_columns(number_format.REGION_PERCENTILES, spread, title)
    items = [Item(vendor.label, seen, index) for index, vendor in enumerate(model.vendors) for seen in vendor.regions]
    return table(t("regions"), t("vendor"), columns, items, t)


def _region(region: str | None) -> Cell:
    return Cell(number_format.MISSING) if region is None else name(region)


def _taken(spread: Callable[[Any], Distribution], t: Texts) -> Callable[[Any], Cell]:
    return lambda seen: measured(spread(seen), t)


def _scores(model: ModelScore, suite: str) -> list[tuple[VendorScore, SuiteScore]]:
    return [(vendor, vendor.suites[suite]) for vendor in model.vendors if suite in vendor.suites]


def _values(model: ModelScore, suite: str) -> list[str]:
    return list(dict.fromkeys(name for _, score in _scores(model, suite) for name in score.values))


def suite_values(model: ModelScore, suite: str, t: Texts) -> Table:
    """The table of one evaluation's scores, vendor by vendor."""
    columns = [
        Column("judged", lambda score: of(score.judged, score.planned, t)),
        *(_entry(value, lambda score: score.values, share) for value in _values(model, suite)),
        Column("why_not", lambda score: tally(score.problems), writers=_MARKDOWN),
    ]
    items = vendor_items(model.vendors, lambda vendor: vendor.suites.get(suite))
    return table(t("evaluation", name=page_label(suite)), t("vendor"), columns, items, t)


def suite_groups(model: ModelScore, suite: str, t: Texts) -> Table:
    """The same per category and per difficulty; no row where the samples carry neither."""
    items = [
        Item(group, (member, vendor.label, means))
        for vendor, score in _scores(model, suite)
        for group, members in score.groups.items()
        for member, means in members.items()
    ]
    columns = [
        Column("group", lambda found: name(found[0])),
        Column("vendor", lambda found: name(found[1])),
        *(_entry(value, lambda found: found[2], share) for value in _values(model, suite)),
    ]
    ordered = sorted(items, key=lambda item: (item.name, item.about[0]))
    return table(t("by_group", name=page_label(suite)), t("by"), columns, ordered, t)


def _checks(model: ModelScore, suite: str) -> list[str]:
    return list(dict.fromkeys(check for _, score in _scores(model, suite) for check in score.checks))


def feature_checks(model: ModelScore, suite: str, t: Texts) -> Table:
    """One row a check and vendor, with the evidence."""
    items = [
        Item(check, (vendor.label, score.checks[check]))
        for check in _checks(model, suite)
        for vendor, score in _scores(model, suite)
        if check in score.checks
    ]
    columns = [
        Column("vendor", lambda found: name(found[0])),
        Column("finding", lambda found: words(_status(found[1], t))),
        Column("seen", lambda found: words(found[1].evidence)),
    ]
    return table(t("by_check", name=page_label(suite)), t("check"), columns, items, t)


def _status(check: FeatureCheck, t: Texts) -> str:
    """A check's verdict, with counts where repetitions disagree."""
    total, times = sum(check.statuses.values()), check.statuses.get(check.status, 0)
    word = t(check.status)
    return word if times == total else word + t("in_brackets", text=number_format.of(times, total, t))


def check_matrix(model: ModelScore, suite: str, t: Texts) -> Table:
    """A row a check and a column a vendor."""

    def cell(vendor: VendorScore) -> Callable[[str], Cell]:
        found = vendor.suites[suite].checks if suite in vendor.suites else {}
        return lambda check: _check(found.get(check), t)

    columns = [Column(vendor.label, cell(vendor), vendor.label) for vendor in model.vendors]
    items = (Item(check, check) for check in _checks(model, suite))
    return table(t("checks", name=page_label(suite)), t("check"), columns, items, t)


def _check(check: FeatureCheck | None, t: Texts) -> Cell:
    if check is None:
        return Cell(number_format.MISSING)
    evidence = visible(check.evidence, 160) if check.status == "broken" else None
    return Cell(t(check.status), small=evidence, css=f"check-{check.status}", kind="words")


def behaviour(model: ModelScore, t: Texts) -> Table:
    """The table of failures, anomalies, finish reasons and decisions."""
    columns = [_field(key, tally) for key in ("failures", "anomalies", "finish_reasons", "decisions")]
    return table(t("behaviour"), t("vendor"), columns, vendor_items(model.vendors), t)


def identity(model: ModelScore, t: Texts) -> Table:
    """The table of identities: vendor, provider, requested model and served models."""
    columns = [
        Column("vendor_name", lambda vendor: name(vendor.vendor)),
        Column("provider", lambda vendor: name(vendor.provider) if vendor.provider else Cell(number_format.MISSING)),
        Column("model_asked", lambda vendor: name(vendor.model_id)),
        Column("model_served", lambda vendor: tally(vendor.served_models)),
    ]
    return table(t("identity"), t("vendor"), columns, vendor_items(model.vendors), t)
