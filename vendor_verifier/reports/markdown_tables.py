"""The Markdown tables of one model, regions included; their order is markdown.py's business."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.inter_chunk_latency import ICL
from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import markdown
from vendor_verifier.reports.run_conditions import slos_of
from vendor_verifier.values.score import CallClass, Distribution, FeatureCheck, ModelScore, Report, VendorScore

MAX_LABEL = 80

# Distributions in reading order with their titles; others follow under their own names.
_DISTRIBUTION_TITLES = {
    **number_format.SPEED_METRICS,
    **{metric.name: metric.title() for metric in METRICS if metric.unit == "tokens"},
}
_PERCENTILES = ("mean", "p50", "p90", "p95", "p99", "min", "max")


def label(text: str) -> str:
    """A vendor's label or another short name, as a cell."""
    return markdown(text, MAX_LABEL)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A GitHub table. Cells must already be safe."""
    lines = [header, *rows]
    drawn = ["| " + " | ".join(line) + " |" for line in lines]
    return [drawn[0], "|" + "---|" * len(header), *drawn[1:]]


def ranking(model: ModelScore) -> list[str]:
    """The product page's table, with a column more for each further evaluation."""
    columns = (*number_format.PAGE_COLUMNS, *number_format.suite_columns(model))
    header = ["Vendor", "IRF Score", *(label(title) for title, _ in columns)]
    rows = [
        [
            label(vendor.label),
            number_format.irf(vendor, model),
            *(number_format.metric(vendor, name) for _, name in columns),
        ]
        for vendor in model.vendors
    ]
    return table(header, rows)


def ranks(model: ModelScore, report: Report) -> list[str]:
    """Where the IRF comes from: the rank per metric and how many metrics were used."""
    header = ["Vendor", *map(label, report.rank_metrics), "Metrics used", "Global IRF"]
    rows = [
        [
            label(vendor.label),
            *(number_format.quantity(vendor.ranks.get(name)) for name in report.rank_metrics),
            number_format.of(vendor.irf_metrics, len(report.rank_metrics)),
            number_format.fusion(vendor.irf_global),
        ]
        for vendor in model.vendors
    ]
    return table(header, rows)


def measured(model: ModelScore) -> list[str]:
    """Over how many of the planned samples each figure was taken."""
    header = ["Vendor", "Succeeded", "First attempt", "First-attempt rate", "Attempts"]
    rows = [
        [
            label(vendor.label),
            number_format.of(vendor.succeeded, vendor.planned),
            number_format.of(vendor.succeeded_first_try, vendor.planned),
            number_format.rate(sentences.first_attempt_success_rate(vendor)),
            str(vendor.attempts),
            *(
                number_format.measured(vendor.measured.get(name), vendor.stalled.get(name, 0), vendor.planned)
                for _, name in number_format.PAGE_COLUMNS
            ),
        ]
        for vendor in model.vendors
    ]
    return table([*header, *(title for title, _ in number_format.PAGE_COLUMNS)], rows)


def sent_again(model: ModelScore) -> list[str]:
    """Requests that were sent twice, of all that were sent; empty when none was."""
    rows = [
        [label(vendor.label), number_format.of(vendor.resent, vendor.attempts + vendor.resent)]
        for vendor in model.vendors
        if vendor.resent
    ]
    return table(["Vendor", "Sent again, of all sent"], rows) if rows else []


def triggering(model: ModelScore) -> list[str]:
    """The confusion matrix behind F1; empty when no vendor has one."""
    header = [
        *("Vendor", "TP", "FP", "FN", "TN", "FN by failure", "Precision", "Recall"),
        *("Dropped: baseline undecided", "Dropped: vendor undecided", "Never sent", "Pairs of runs"),
    ]
    rows = []
    for vendor in model.vendors:
        found = vendor.trigger
        if found is None:
            continue
        counts = (found.tp, found.fp, found.fn, found.tn, found.failed_as_missed)
        left_out = (found.dropped_baseline, found.dropped_vendor, found.not_sent, found.pairs_of_runs)
        rates = (number_format.rate(found.precision), number_format.rate(found.recall))
        rows.append([label(vendor.label), *map(str, counts), *rates, *map(str, left_out)])
    return table(header, rows) if rows else []


def arguments(model: ModelScore) -> list[str]:
    """Tool-call arguments by class, and the accuracy under both policies and in both units."""
    classes = get_args(CallClass)
    header = [
        *("Vendor", "Calls", *classes, "Lenient", "Strict"),
        *("Responses with calls", "Lenient per response", "Strict per response"),
    ]
    rows = []
    for vendor in model.vendors:
        schema = vendor.schema
        row = [label(vendor.label), str(schema.calls), *(str(schema.classes.get(name, 0)) for name in classes)]
        row += [
            number_format.rate(schema.accuracy_lenient),
            number_format.rate(schema.accuracy_strict),
            str(schema.responses),
        ]
        row += [number_format.rate(schema.per_response_lenient), number_format.rate(schema.per_response_strict)]
        rows.append(row)
    return table(header, rows)


def speed(model: ModelScore) -> list[str]:
    """The three averages of decoding speed beside each other."""
    header = ["Vendor", "TPS (ratio of sums)", "Mean of requests", "Median of requests", "End-to-end TPS"]
    rows = [
        [
            label(vendor.label),
            number_format.metric(vendor, "tps"),
            *map(number_format.quantity, (vendor.tps_mean, vendor.tps_p50, vendor.e2e_tps)),
        ]
        for vendor in model.vendors
    ]
    return table(header, rows)


def distributions(model: ModelScore) -> list[str]:
    """Percentiles of everything that was measured per request, metric by metric; empty when nothing was.

    What no vendor measured is left out: without TLS there is nothing to say of its handshake.
    """
    spreads = [item for vendor in model.vendors for item in vendor.distributions.items()]
    known = {name for name, spread in spreads if spread.n or spread.stalled}
    names = [name for name in _DISTRIBUTION_TITLES if name in known] + sorted(known - set(_DISTRIBUTION_TITLES))
    rows = [
        [
            _DISTRIBUTION_TITLES.get(name) or label(name),
            label(vendor.label),
            *_spread(name, vendor),
        ]
        for name in names
        for vendor in model.vendors
        if name in vendor.distributions
    ]
    return table(["Metric", "Vendor", "Measured", *_PERCENTILES], rows) if rows else []


def _spread(name: str, vendor: VendorScore) -> list[str]:
    spread = vendor.distributions[name]
    # Of gaps nobody planned a number.
    measured = number_format.measured(spread.n, spread.stalled, None if name == ICL else vendor.planned)
    return [measured, *(number_format.quantity(getattr(spread, name)) for name in _PERCENTILES)]


def goodput(model: ModelScore) -> list[str]:
    """Requests that kept every SLO, and each of them; empty without SLOs."""
    slos = slos_of(model)
    header = ["Vendor", "Good/s", "Good", "Share", "Failed", "Not measurable", *map(label, slos), "Stalled"]
    rows = [
        [
            label(vendor.label),
            number_format.quantity(found.per_s),
            number_format.of(found.good, found.asked),
            number_format.rate(found.share),
            *map(str, (found.failed, found.unmeasured)),
            *(str(found.kept[slo]) for slo in slos),
            str(found.stalled),
        ]
        for vendor in model.vendors
        if (found := vendor.goodput) is not None
    ]
    return table(header, rows) if slos else []


def suite_names(model: ModelScore) -> list[str]:
    """Evaluations whose score is a mean over samples, in the order they were asked for."""
    return [name for name, _ in number_format.suite_columns(model)]


def suite_values(model: ModelScore, suite: str) -> list[str]:
    """What one evaluation measured, vendor by vendor."""
    scores = {vendor.label: vendor.suites[suite] for vendor in model.vendors if suite in vendor.suites}
    names = list(dict.fromkeys(name for score in scores.values() for name in score.values))
    rows = [
        [
            label(vendor),
            number_format.of(score.judged, score.planned),
            *(number_format.rate(score.values.get(name)) for name in names),
            number_format.tally(score.problems, label),
        ]
        for vendor, score in scores.items()
    ]
    return table(["Vendor", "Judged", *map(label, names), "Why not"], rows)


def suite_groups(model: ModelScore, suite: str) -> list[str]:
    """The same per category and per difficulty; empty where the samples carry neither."""
    scores = {vendor.label: vendor.suites[suite] for vendor in model.vendors if suite in vendor.suites}
    names = list(dict.fromkeys(name for score in scores.values() for name in score.values))
    rows = [
        [label(group), label(member), label(vendor), *(number_format.rate(means.get(name)) for name in names)]
        for vendor, score in scores.items()
        for group, members in score.groups.items()
        for member, means in members.items()
    ]
    rows.sort(key=lambda row: (row[0], row[1]))
    return table(["By", "Group", "Vendor", *map(label, names)], rows) if rows else []


def feature_checks(model: ModelScore, suite: str) -> list[str]:
    """One row a check and vendor, with the evidence; empty for evaluations that are no such checks."""
    scores = {vendor.label: vendor.suites[suite] for vendor in model.vendors if suite in vendor.suites}
    names = dict.fromkeys(name for score in scores.values() for name in score.checks)
    rows = [
        [label(name), label(vendor), _status(score.checks[name]), markdown(score.checks[name].evidence)]
        for name in names
        for vendor, score in scores.items()
        if name in score.checks
    ]
    return table(["Check", "Vendor", "Finding", "Evidence"], rows) if rows else []


def _status(check: FeatureCheck) -> str:
    """The finding, and how often where repetitions disagree."""
    word = check.status.replace("_", " ")
    total = sum(check.statuses.values())
    times = check.statuses.get(check.status, 0)
    return word if times == total else f"{word} ({number_format.of(times, total)})"


def behaviour(model: ModelScore) -> list[str]:
    """What went wrong and what was odd, in words and numbers."""
    header = ["Vendor", "Failures", "Anomalies", "Finish reasons", "Decisions"]
    rows = [
        [
            label(vendor.label),
            *(
                number_format.tally(found, label)
                for found in (vendor.failures, vendor.anomalies, vendor.finish_reasons, vendor.decisions)
            ),
        ]
        for vendor in model.vendors
    ]
    return table(header, rows)


def identity(model: ModelScore) -> list[str]:
    """Who was asked for and who says it answered."""
    header = ["Vendor", "Vendor name", "Provider", "Model asked for", "Model served (answers)"]
    rows = [
        [
            label(vendor.label),
            label(vendor.vendor),
            label(vendor.provider) if vendor.provider else number_format.MISSING,
            label(vendor.model_id),
            number_format.tally(vendor.served_models, label),
        ]
        for vendor in model.vendors
    ]
    return table(header, rows)


def regions(model: ModelScore) -> list[str]:
    """A row for each vendor and region; empty where no worker named a region."""
    rows = [
        [
            label(vendor.label),
            number_format.MISSING if seen.region is None else label(seen.region),
            number_format.of(seen.succeeded, seen.asked),
            number_format.rate(seen.success_rate),
            *_region_spread(seen.ttft_ms),
            *_region_spread(seen.e2e_ms),
        ]
        for vendor in model.vendors
        for seen in vendor.regions
    ]
    titles = [f"{name} {part}" for name in ("TTFT", "End to end") for part in ("n", *number_format.REGION_PERCENTILES)]
    return table(["Vendor", "Region", "Succeeded", "Rate", *titles], rows) if rows else []


def _region_spread(found: Distribution) -> list[str]:
    return [
        number_format.measured(found.n, found.stalled),
        *(number_format.quantity(getattr(found, name)) for name in number_format.REGION_PERCENTILES),
    ]
