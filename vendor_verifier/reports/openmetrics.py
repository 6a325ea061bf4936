"""metrics.prom: a scored run as OpenMetrics text, for a textfile collector or a push gateway; gauges only.

Base units as the format asks: seconds and shares of 1. A figure that was not measured has no sample at all, so that it
never reads as 0. Every series names model and vendor label; ``run`` stands only in the info metric, so that series
continue from run to run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from vendor_verifier.metrics import FIGURES, RANKED
from vendor_verifier.records.judgement import ModelVerdict
from vendor_verifier.records.score import ModelScore, Report, VendorScore
from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import visible

_PREFIX = "agent_vendor_verifier_"
_QUANTILES = (("p50", "0.5"), ("p90", "0.9"), ("p95", "0.95"), ("p99", "0.99"))
_Sample = tuple[Mapping[str, str], float | None]


class _Family(msgspec.Struct, frozen=True):
    """A metric family; ``unit`` is the end of its name or "". An info family's samples carry ``_info``."""

    name: str
    help: str
    unit: str = ""
    kind: str = "gauge"


def _unit(family: str) -> str:
    """The unit that a family's name ends in: ratio, tokens or seconds, else ""."""
    unit = family.rpartition("_")[2]
    return unit if unit in ("ratio", "tokens", "seconds") else ""


_FAMILIES = (
    _Family("run", "The run these figures are of.", kind="info"),
    _Family("vendor_verdict", "1 for the verdict on a vendor."),
    _Family("facet_verdict", "1 for the verdict on one side of a vendor."),
    _Family("irf", "Inverse rank fusion score, comparable inside one model and one run."),
    _Family("place", "Place by what the vendors are ranked by, 1 is best."),
    *(_Family(figure.family, figure.help, _unit(figure.family)) for figure in FIGURES),
    _Family("first_attempt_success_ratio", "Samples that succeeded without any retry.", "ratio"),
    _Family("suite_score_ratio", "Main score of an evaluation.", "ratio"),
    _Family("ttft_seconds", "Time to the first token, by quantile.", "seconds"),
    _Family("request_duration_seconds", "Request sent to answer ended, by quantile.", "seconds"),
    _Family("samples", "Samples by what became of them."),
    _Family("stalled_samples", "Samples left out of a time because our own process was late, by metric."),
    _Family("failed_samples", "Samples by the kind of their failure."),
    _Family("gate_outcome", "1 for the outcome of a gate."),
    _Family("few_stretches", "Independent stretches of a figure that has too few of them, by metric."),
)


def render(report: Report) -> str:
    """The exposition, ending in ``# EOF``."""
    names = _names(report)
    lines: list[str] = []
    for family in _FAMILIES:
        samples = list(_samples(family.name, report, names))
        drawn = [_line(family, labels, value) for labels, value in samples if number_format.finite(value) is not None]
        if drawn:
            name = _PREFIX + family.name
            lines += [f"# TYPE {name} {family.kind}", *([f"# UNIT {name} {family.unit}"] if family.unit else [])]
            lines += [f"# HELP {name} {family.help}", *drawn]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _names(report: Report) -> dict[tuple[str, str], dict[str, str]]:
    """The labels of every entry; entries that would read the same are numbered, as no series may occur twice."""
    seen: Counter[tuple[str, str]] = Counter()
    names = {}
    for model in report.models:
        for vendor in model.vendors:
            shown = (visible(model.model), visible(vendor.label))
            seen[shown] += 1
            number = f" ({seen[shown]})" if seen[shown] > 1 else ""
            names[model.model, vendor.label] = {"model": shown[0], "vendor": shown[1] + number}
    return names


def _line(family: _Family, labels: Mapping[str, str], value: float | None) -> str:
    written = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
    ending = "_info" if family.kind == "info" else ""
    return f"{_PREFIX}{family.name}{ending}{{{written}}} {value!r}"


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')


def _samples(family: str, report: Report, names: Mapping[tuple[str, str], Mapping[str, str]]) -> Iterator[_Sample]:
    if family == "run":
        yield {"run": report.run, "complete": str(report.complete).lower()}, 1
        return
    for model in report.models:
        for vendor in model.vendors:
            own = names[model.model, vendor.label]
            for extra, value in _of_vendor(family, vendor, model, report):
                yield {**own, **extra}, value


def _of_vendor(family: str, vendor: VendorScore, model: ModelScore, report: Report) -> Iterator[_Sample]:
    single = _figures(vendor, model)
    if family in single:
        yield {}, single[family]
    elif family in ("ttft_seconds", "request_duration_seconds"):
        summary = vendor.distributions.get("ttft_ms" if family == "ttft_seconds" else "e2e_ms")
        for name, quantile in _QUANTILES if summary is not None else ():
            yield {"quantile": quantile}, _seconds(getattr(summary, name))
    elif family == "suite_score_ratio":
        for name in sorted(vendor.suites):
            yield {"suite": name}, vendor.metrics.get(name)
    elif family in ("vendor_verdict", "facet_verdict"):
        yield from _verdict(family, vendor, model, report)
    elif family.endswith("samples"):
        yield from _counts(family, vendor)
    else:
        verdict = report.verdicts.get(model.model)
        if verdict is not None:
            yield from _judged(family, vendor, verdict)


def _judged(family: str, vendor: VendorScore, verdict: ModelVerdict) -> Iterator[_Sample]:
    if family == "few_stretches":
        for metric, stretches in verdict.few_stretches_of(vendor.label).items():
            yield {"metric": metric}, round(stretches, 1)
        return
    for gate in verdict.gates:
        if gate.label == vendor.label:
            yield {"gate": str(gate.threshold), "outcome": gate.outcome.lower()}, 1


def _verdict(family: str, vendor: VendorScore, model: ModelScore, report: Report) -> Iterator[_Sample]:
    advice = report.advice.get(model.model)
    if advice is None:
        return
    verdict = advice.vendors[vendor.label]
    if family == "vendor_verdict":
        yield {"status": verdict.status}, 1
    else:
        for facet in verdict.facets:
            yield {"facet": facet.name, "status": facet.status}, 1


def _counts(family: str, vendor: VendorScore) -> Iterator[_Sample]:
    """Numbers of samples by outcome, by kind of failure, and by metric that they are left out of."""
    outcomes = {"planned": vendor.planned, "recorded": vendor.recorded, "succeeded": vendor.succeeded}
    stalled = {name: spread.stalled for name, spread in sorted(vendor.distributions.items()) if spread.stalled}
    by_label: dict[str, tuple[str, Mapping[str, int]]] = {
        "samples": ("outcome", outcomes),
        "stalled_samples": ("metric", stalled),
        "failed_samples": ("kind", dict(sorted(_visible_sums(vendor.failures).items()))),
    }
    label, counts = by_label[family]
    for name, count in counts.items():
        yield {label: name}, count


def _figures(vendor: VendorScore, model: ModelScore) -> dict[str, float | None]:
    """Families with one sample a vendor."""
    figures = {figure.family: _in_base_unit(figure.name, vendor.metrics.get(figure.name)) for figure in FIGURES}
    return figures | {
        "irf": vendor.irf if vendor.irf_metrics else None,
        "place": sentences.place(vendor, model),
        "f1_ratio": None if vendor.is_baseline else figures["f1_ratio"],
        "first_attempt_success_ratio": sentences.first_attempt_success_rate(vendor),
    }


def _in_base_unit(figure: str, value: float | None) -> float | None:
    return _seconds(value) if RANKED[figure].unit == "ms" else value


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1e3


def _visible_sums(counts: Mapping[str, int]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for word, number in counts.items():
        sums[visible(word)] += number
    return sums
