"""Sentences and small derivations that several outputs share; names are escaped by the given function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vendor_verifier.metrics.bands import BANDS, PUBLISHED_ROWS
from vendor_verifier.records.model_names import same_model
from vendor_verifier.records.score import ModelScore, Report, VendorScore
from vendor_verifier.reports import number_format
from vendor_verifier.reports.run_conditions import goodput_lines, load_lines, pace_lines, shape_of
from vendor_verifier.words import Texts

Escape = Callable[[str], str]
# By call type, best first: from which resolve rate MCPToolBench++'s page speaks of which kind of result.
_RESOLVE_BANDS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "single": ((0.7, "good"), (0.5, "adequate")),
    "multi": ((0.5, "good"), (0.3, "adequate"), (0.0, "poor")),
}
_BY_CATEGORY = ("bfcl",)


def place(vendor: VendorScore, model: ModelScore) -> int | None:
    """1 = best of its model; equal ones share the better place; None for a vendor that is not ranked.

    Vendors are placed by IRF, in a run with evaluations only by their scores, more of them before fewer. Where no
    vendor answered none has a place, because failing like all others is no rank.
    """
    own = _standing(vendor, model)
    if own is None or nobody_answered(model):
        return None
    others = (_standing(other, model) for other in model.vendors)
    return 1 + sum(other is not None and other > own for other in others)


def _standing(vendor: VendorScore, model: ModelScore) -> tuple[float, ...] | None:
    """The figures that a vendor is placed by; None where it has none."""
    if model.ranked_by == "score":
        score = number_format.finite(vendor.mean_score)
        return None if score is None else (len(vendor.scores), score)
    irf = number_format.finite(vendor.irf)
    return None if irf is None or not vendor.irf_metrics else (irf,)


def nobody_answered(model: ModelScore) -> bool:
    """Whether requests were sent to the model's vendors and none of them succeeded."""
    return any(vendor.recorded for vendor in model.vendors) and not any(vendor.succeeded for vendor in model.vendors)


def first_attempt_success_rate(vendor: VendorScore) -> float | None:
    """Samples that succeeded without any retry ÷ the success rate's denominator; None when that is 0."""
    whole = vendor.measured.get("success_rate")
    return vendor.succeeded_first_try / whole if whole else None


def valid_calls(vendor: VendorScore) -> int:
    """Calls that count as valid under the policy the report was scored with."""
    schema = vendor.schema
    return schema.valid_strict if schema.policy == "strict" else schema.valid_lenient


def cautions(report: Report, t: Texts) -> list[str]:
    """The report's warnings, led by a notice where the run is incomplete."""
    warnings = list(report.warnings)
    if report.complete:
        return warnings
    shape = shape_of(report)
    cut_short = shape.get("duration_s") is not None or shape.get("schedule")
    return [t("cut_short" if cut_short else "incomplete"), *warnings]


def footnotes(model: ModelScore, t: Texts) -> list[str]:
    """The explanations of the marks that occur in the model's table."""
    marks = {
        "by_definition": any(number_format.BY_DEFINITION in number_format.metric(one, "f1") for one in model.vendors),
        "fewer": any(number_format.FEWER_METRICS in number_format.irf(one, model) for one in model.vendors),
        "no_baseline": model.baseline is None,
    }
    return [t(name) for name, is_there in marks.items() if is_there]


def trigger_line(vendor: VendorScore, t: Texts) -> str | None:
    """The confusion matrix in one line, with the numbers left out of it; None without one."""
    trigger = vendor.trigger
    if trigger is None:
        return None
    left_out = {
        "left_failed": trigger.failed_as_missed,
        "left_baseline": trigger.dropped_baseline,
        "left_vendor": trigger.dropped_vendor,
        "left_unsent": trigger.not_sent,
        # Else a reader finds more of them than requests.
        "summed_pairs": trigger.pairs_of_runs if trigger.pairs_of_runs > 1 else 0,
    }
    line = f"TP {trigger.tp} FP {trigger.fp} FN {trigger.fn} TN {trigger.tn}"
    return t.joined([line, *(t(name, n=number) for name, number in left_out.items() if number)])


def vendor_notes(model: ModelScore, t: Texts, escape: Escape) -> Iterator[str]:
    """Notes on single vendors: pairs left out, figures measured on part of the samples, failures."""
    for vendor in model.vendors:
        if not vendor.recorded and not vendor.suites:
            if not vendor.planned:
                # It was asked for nothing but what stands apart from the ranking.
                continue
            yield t("of_vendor", label=escape(vendor.label), words=t("no_record", planned=vendor.planned))
            continue
        parts = [
            None if vendor.is_baseline else trigger_line(vendor, t),
            _measured(vendor, t),
            served_line(vendor, t, escape),
            _broken(vendor, t, escape),
            _resent(vendor, t),
        ]
        for name, counts in (("failed_as", vendor.failures), ("odd_as", vendor.anomalies)):
            parts.append(t(name, tally=number_format.tally(counts, escape)) if counts else None)
        if any(parts):
            yield t("of_vendor", label=escape(vendor.label), words=t.joined(parts, "semicolon"))


def usual_lines(report: Report, t: Texts) -> list[str]:
    """A sentence on the usual ranges of the ranked figures; none where nobody was held against a baseline."""
    if not any(vendor.trigger is not None for model in report.models for vendor in model.vendors):
        return []
    told: dict[bool, list[str]] = {False: [], True: []}
    for name, band in BANDS.items():
        write = (lambda value: f"{value:.2f}") if band.is_ratio else number_format.rate
        title = number_format.figure_title(name, t)
        told[band.is_ratio].append(t("usual_range", title=title, low=write(band.low), high=write(band.high)))
    parts = {"shares": t.joined(told[False]), "ratios": t.joined(told[True])}
    return [t("usual_ranges", rows=PUBLISHED_ROWS, **parts)]


def model_notes(model: ModelScore, report: Report, t: Texts, escape: Escape) -> list[str]:
    """The notes below a ranking: marks, categories, goodput, load and single vendors."""
    notes = [*footnotes(model, t), *category_lines(model, escape), *band_lines(model, t, escape)]
    notes += [*goodput_lines(model, t, escape), *load_lines(model, report, t, escape), *pace_lines(model, t, escape)]
    return [*notes, *vendor_notes(model, t, escape)]


def _measured(vendor: VendorScore, t: Texts) -> str | None:
    """Every ranked figure that was not measured on all that was planned; None if all were."""
    wide = Texts("wide")
    short = [
        number_format.figure_title(name, wide) + " " + number_format.taken(vendor, name, t)
        for name in number_format.PAGE_METRICS
        if name in vendor.measured and vendor.measured[name] != vendor.planned
    ]
    return t("measured_of", planned=vendor.planned, figures=t.joined(short)) if short else None


def _resent(vendor: VendorScore, t: Texts) -> str | None:
    if not vendor.resent:
        return None
    return t("resent_line", n=vendor.resent, whole=vendor.attempts + vendor.resent)


def _broken(vendor: VendorScore, t: Texts, escape: Escape) -> str | None:
    checks = [item for score in vendor.suites.values() for item in score.checks.items()]
    broken = [escape(name) for name, check in checks if check.status == "broken"]
    return t("broken_line", names=t.joined(broken)) if broken else None


def category_lines(model: ModelScore, escape: Escape) -> list[str]:
    """``bfcl simple_python: 1 a, b; 0.9 c``, a line a category, for evaluations that publish by category."""
    lines = []
    for suite in _BY_CATEGORY:
        found: dict[str, dict[str, list[str]]] = {}
        for vendor in model.vendors:
            groups = vendor.suites[suite].groups if suite in vendor.suites else {}
            for category, means in groups.get("category", {}).items():
                # The first value is the evaluation's main one.
                value = number_format.rate(next(iter(means.values()), None))
                found.setdefault(category, {}).setdefault(value, []).append(escape(vendor.label))
        for category, values in found.items():
            figures = "; ".join(
                f"{value} {', '.join(labels)}" for value, labels in sorted(values.items(), reverse=True)
            )
            lines.append(f"{suite} {escape(category)}: {figures}")
    return lines


def band_lines(model: ModelScore, t: Texts, escape: Escape) -> list[str]:
    """MCPToolBench++ resolve rates by call type, each with its page's word for it, a line a call type."""
    lines = []
    for call_type, bands in _RESOLVE_BANDS.items():
        parts = []
        for vendor in model.vendors:
            score = vendor.suites.get("mcptoolbench")
            rate = None if score is None else score.groups.get("call_type", {}).get(call_type, {}).get("resolved")
            if rate is not None:
                word = next((word for least, word in bands if rate >= least), None)
                shown = number_format.rate(rate)
                named = t("band_none", rate=shown) if word is None else t(f"band_{word}", rate=shown)
                parts.append(f"{escape(vendor.label)} {named}")
        if parts:
            lines.append(t(f"bands_{call_type}", rates=t.joined(parts, "semicolon")))
    return lines


def served_line(vendor: VendorScore, t: Texts, escape: Escape) -> str | None:
    """The served models in one line, when one has another name than the requested model; else None.

    It is an observation, not a verdict.
    """
    others = {name: n for name, n in vendor.served_models.items() if not same_model(vendor.model_id, name)}
    if not others:
        return None
    return t("served_line", asked=escape(vendor.model_id), served=number_format.tally(others, escape))
