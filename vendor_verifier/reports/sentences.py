"""Sentences and small derivations that several renderers share; it scores nothing and escapes by the given function."""

from __future__ import annotations

from collections.abc import Callable

from vendor_verifier.reports import number_format
from vendor_verifier.reports.run_conditions import shape_of
from vendor_verifier.values.score import ModelScore, Report, VendorScore

Escape = Callable[[str], str]
_BY_CATEGORY = ("bfcl",)


def place(vendor: VendorScore, model: ModelScore) -> int | None:
    """1 = best IRF of its model; equal IRFs share the better place; None for a vendor that was ranked on nothing.

    Where nobody answered nobody has a place: to fail like all others is no rank.
    """
    own = number_format.finite(vendor.irf)
    if own is None or not vendor.irf_metrics or nobody_answered(model):
        return None
    return 1 + sum(1 for other in model.vendors if (number_format.finite(other.irf) or float("-inf")) > own)


def nobody_answered(model: ModelScore) -> bool:
    """Whether requests were sent to the model's vendors and none of them succeeded."""
    return any(vendor.recorded for vendor in model.vendors) and not any(vendor.succeeded for vendor in model.vendors)


def first_attempt_success_rate(vendor: VendorScore) -> float | None:
    """Samples that succeeded without any retry ÷ what the success rate divides by; None when that is nothing."""
    whole = vendor.measured.get("success_rate")
    return vendor.succeeded_first_try / whole if whole else None


def valid_calls(vendor: VendorScore) -> int:
    """Calls that count as valid under the policy the report was scored with."""
    schema = vendor.schema
    return schema.valid_strict if schema.policy == "strict" else schema.valid_lenient


def summary(report: Report, escape: Escape) -> str:
    """The result in one sentence."""
    models = [model for model in report.models if model.vendors]
    if not models:
        return "Nothing was scored: this run holds no vendors."
    asked_what = f"{_plural(report.samples, 'sample')}, asked {_how_often(report)}"
    return f"{asked_what}: " + "; ".join(_leader(model, escape) for model in models) + "."


def _how_often(report: Report) -> str:
    shape = shape_of(report)
    if shape.get("duration_s") is not None:
        return f"again and again for {shape['duration_s']:g} s"
    if shape.get("schedule"):
        return "by a schedule"
    return "once each" if report.repeat == 1 else f"{report.repeat} times each"


def _leader(model: ModelScore, escape: Escape) -> str:
    name = escape(model.model)
    if nobody_answered(model):
        return _silence(model, name, escape)
    if len(model.vendors) == 1:
        return f"{escape(model.vendors[0].label)} is the only vendor of {name}, so its rank says nothing"
    leaders = [vendor for vendor in model.vendors if place(vendor, model) == 1]
    if not leaders:
        return f"none of the {len(model.vendors)} vendors of {name} could be ranked"
    who = _listed([escape(vendor.label) for vendor in leaders])
    verb = "leads" if len(leaders) == 1 else "share the lead of"
    return f"{who} {verb} the {len(model.vendors)} vendors of {name} with IRF {number_format.fusion(leaders[0].irf)}"


def _silence(model: ModelScore, name: str, escape: Escape) -> str:
    if len(model.vendors) == 1:
        return f"{escape(model.vendors[0].label)}, the only vendor of {name}, answered none of the requests"
    return f"none of the {len(model.vendors)} vendors of {name} answered a single request, so none leads"


def _listed(names: list[str], most: int = 3) -> str:
    """``a``, ``a and b``, ``a, b and c``, ``a, b, c and 4 more``."""
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cautions(report: Report) -> list[str]:
    """The report's warnings, led by the one it must not be read without."""
    if report.complete:
        return list(report.warnings)
    shape = shape_of(report)
    if shape.get("duration_s") is not None or shape.get("schedule"):
        cut = "This run was cut short: what was under way is left out, and it cannot be gone on with."
        return [cut, *report.warnings]
    incomplete = (
        "This run is incomplete: samples that were never sent are left out of F1 and of the success rate; "
        "finish it with --incremental."
    )
    return [incomplete, *report.warnings]


def footnotes(model: ModelScore) -> list[str]:
    """What the marks in the model's table mean, only for the marks it has."""
    notes = []
    if any(number_format.BY_DEFINITION in number_format.metric(vendor, "f1") for vendor in model.vendors):
        notes.append(f"{number_format.BY_DEFINITION} 1 by definition: the baseline is what F1 is measured against.")
    if any(number_format.FEWER_METRICS in number_format.irf(vendor, model) for vendor in model.vendors):
        notes.append(
            f"{number_format.FEWER_METRICS} Sums fewer metrics than other vendors of this model, "
            "so it is not comparable."
        )
    if model.baseline is None:
        notes.append("No baseline: F1 is not measured.")
    return notes


def trigger_line(vendor: VendorScore) -> str | None:
    """The confusion matrix in one line, with what was left out of it; None without one."""
    trigger = vendor.trigger
    if trigger is None:
        return None
    line = f"TP {trigger.tp} FP {trigger.fp} FN {trigger.fn} TN {trigger.tn}"
    left_out = (
        (trigger.failed_as_missed, "of FN by failure"),
        (trigger.dropped_baseline, "dropped (baseline undecided)"),
        (trigger.dropped_vendor, "dropped (vendor undecided)"),
        (trigger.not_sent, "never sent"),
    )
    told = [line, *(f"{number} {why}" for number, why in left_out if number)]
    if trigger.pairs_of_runs > 1:
        # Else a reader finds more of them than requests.
        told.append(f"summed over {trigger.pairs_of_runs} pairs of a baseline's run and the vendor's")
    return ", ".join(told)


def measured_line(vendor: VendorScore) -> str | None:
    """``n of planned`` for every ranked figure that was not measured on all that was planned; None if all were."""
    short = [
        f"{title} {number_format.measured(vendor.measured[name], vendor.stalled.get(name, 0))}"
        for title, name in number_format.PAGE_COLUMNS
        if name in vendor.measured and vendor.measured[name] != vendor.planned
    ]
    return f"measured, of {vendor.planned} planned: " + ", ".join(short) if short else None


def resent_line(vendor: VendorScore) -> str | None:
    """How many requests were sent twice and why; None when none was."""
    if not vendor.resent:
        return None
    return (
        f"{_plural(vendor.resent, 'request')} of {vendor.attempts + vendor.resent} sent again on a new connection, "
        "because a kept one had ended unanswered"
    )


def broken_line(vendor: VendorScore, escape: Escape) -> str | None:
    """The feature checks that were found broken; None when there is none."""
    checks = [item for score in vendor.suites.values() for item in score.checks.items()]
    broken = [name for name, check in checks if check.status == "broken"]
    return f"broken: {', '.join(map(escape, broken))}" if broken else None


def category_lines(model: ModelScore, escape: Escape) -> list[str]:
    """``bfcl simple_python: 1 a, b; 0.9 c``, a line a category, for evaluations that publish by category."""
    lines = []
    for suite in _BY_CATEGORY:
        scores = {vendor.label: vendor.suites[suite] for vendor in model.vendors if suite in vendor.suites}
        found: dict[str, dict[str, list[str]]] = {}
        for label, score in scores.items():
            for category, means in score.groups.get("category", {}).items():
                # The first value is the evaluation's main one.
                value = number_format.rate(next(iter(means.values()), None))
                found.setdefault(category, {}).setdefault(value, []).append(escape(label))
        for category, values in found.items():
            told = "; ".join(f"{value} {', '.join(labels)}" for value, labels in sorted(values.items(), reverse=True))
            lines.append(f"{suite} {escape(category)}: {told}")
    return lines


def served_line(vendor: VendorScore, escape: Escape) -> str | None:
    """The models that say they answered, when one of them goes by another name than the one asked for.

    Names are compared without a leading ``org/``, and one may continue the other (dated releases). It is a fact to look
    at, not a verdict.
    """
    asked = _bare(vendor.model_id)
    others = {name: n for name, n in vendor.served_models.items() if not _same_model(asked, _bare(name))}
    return f"asked for {escape(vendor.model_id)}, answered as {number_format.tally(others, escape)}" if others else None


def _bare(model: str) -> str:
    return model.rpartition("/")[2].casefold()


def _same_model(asked: str, served: str) -> bool:
    return served.startswith(asked) or (bool(served) and asked.startswith(served))
