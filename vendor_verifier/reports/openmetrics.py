"""metrics.prom: a scored run as OpenMetrics text, for a textfile collector or a push gateway; gauges only.

Units are seconds and shares of 1. A figure that was not measured has no sample, so that it never reads as 0. Only the
info metric names the run, so that series continue from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vendor_verifier.records.results import VendorResult
from vendor_verifier.reports import formats
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.tables import ModelTables
from vendor_verifier.scoring.figures import ScoredRun

_PREFIX = "agent_vendor_verifier_"
Labels = Mapping[str, str]


# Family → help.
_FAMILIES = {
    "vendor_verdict": "1 for the verdict on a vendor.",
    "facet_verdict": "1 for the verdict on one facet of a vendor.",
    "irf": "Inverse rank fusion score, comparable inside one model and one run.",
    "place": "Place in the ranking, 1 is best.",
    "success_ratio": "Requests that succeeded, after retries.",
    "f1_ratio": "F1 of calling a tool against the baseline.",
    "schema_accuracy_ratio": "Tool calls whose arguments fit their schema.",
    "request_tokens": "Tokens per request, prompt and answer.",
    "ttft_mean_seconds": "Mean time to the first token.",
    "decoding_tokens_per_second": "Tokens per second after the first one.",
    "suite_score_ratio": "Main score of an evaluation.",
    "ttft_seconds": "Time to the first token, by quantile.",
    "request_duration_seconds": "Request sent to answer ended, by quantile.",
    "records": "Records by outcome.",
    "failed_records": "Records by the kind of their failure.",
    "gate_outcome": "1 for the outcome of a gate.",
}
_QUANTILES = {"p50": "0.5", "p90": "0.9", "p95": "0.95", "p99": "0.99"}
_TIMES = {"ttft_seconds": "ttft_ms", "request_duration_seconds": "e2e_ms"}


def render(scored: ScoredRun, models: Mapping[str, ModelTables]) -> str:
    """The exposition, ending in ``# EOF``."""
    report = scored.report
    state = {"run": report.run, "complete": str(report.complete).lower()}
    lines = [f"# TYPE {_PREFIX}run info", f"# HELP {_PREFIX}run Run of these figures."]
    lines.append(_line("run_info", state, 1))
    samples: dict[str, list[str]] = {}
    for family, labels, value in _samples(scored, models):
        if formats.finite(value) is not None:
            samples.setdefault(family, []).append(_line(family, labels, value))
    for name, words in _FAMILIES.items():
        if name in samples:
            lines += [f"# TYPE {_PREFIX}{name} gauge", f"# HELP {_PREFIX}{name} {words}", *samples[name]]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _line(name: str, labels: Labels, value: float | None) -> str:
    texts = {key: visible(text).replace("\\", "\\\\").replace('"', '\\"') for key, text in labels.items()}
    pairs = ",".join(f'{key}="{text}"' for key, text in texts.items())
    return f"{_PREFIX}{name}{{{pairs}}} {value!r}"


def _samples(scored: ScoredRun, models: Mapping[str, ModelTables]) -> Iterator[tuple[str, Labels, float | None]]:
    """Family, labels and value of every sample."""
    for model, result in scored.report.models.items():
        for label, vendor in result.vendors.items():
            own = {"model": model, "vendor": label}
            for family, labels, value in (*_of_result(vendor), *_of_times(models[model].times, label)):
                yield family, {**own, **labels}, value
            for gate in scored.report.gates:
                if (gate.model, gate.vendor) == (model, label):
                    yield "gate_outcome", {**own, "gate": gate.text, "outcome": gate.outcome}, 1


def _of_result(vendor: VendorResult) -> Iterator[tuple[str, Labels, float | None]]:
    yield "vendor_verdict", {"status": vendor.verdict.status}, 1
    for name, facet in vendor.verdict.facets.items():
        yield "facet_verdict", {"facet": name, "status": facet.status}, 1
    yield "irf", {}, vendor.irf
    yield "place", {}, vendor.place
    yield "success_ratio", {}, vendor.success_rate
    if not vendor.is_baseline:
        yield "f1_ratio", {}, vendor.f1
    yield "schema_accuracy_ratio", {}, vendor.schema_accuracy
    yield "request_tokens", {}, vendor.avg_tokens
    yield "ttft_mean_seconds", {}, None if vendor.avg_ttft_ms is None else vendor.avg_ttft_ms / 1e3
    yield "decoding_tokens_per_second", {}, vendor.tps
    for suite, found in vendor.suites.items():
        yield "suite_score_ratio", {"suite": suite}, found.score
    for outcome in ("planned", "recorded", "succeeded"):
        yield "records", {"outcome": outcome}, getattr(vendor, outcome)
    for kind, number in sorted(vendor.failures.items()):
        yield "failed_records", {"kind": kind}, number


def _of_times(times: Mapping[Any, Any], label: str) -> Iterator[tuple[str, Labels, float | None]]:
    for family, metric in _TIMES.items():
        for share, quantile in _QUANTILES.items():
            if (value := formats.finite(times.get((label, metric), {}).get(share))) is not None:
                yield family, {"quantile": quantile}, value / 1e3
