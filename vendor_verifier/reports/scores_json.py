"""scores.json and its JSON Schema: the whole report in a stable key order; a figure that was not measured is null.

``schema`` counts up when a key changes its meaning or goes; new keys may appear under the same number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, get_args

from vendor_verifier.records.judgement import ModelVerdict
from vendor_verifier.records.nested_dict import nested_dict
from vendor_verifier.records.score import CallClass, ModelScore, Report, SchemaCounts, SuiteScore, VendorScore
from vendor_verifier.records.verdict import Facet, VendorVerdict
from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.verdicts import evidence_command, usual_folder

FILE_NAME = "scores.schema.json"


def text() -> str:
    """The schema (draft 2020-12) as the text of its file in the package."""
    return files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8")


def scores_schema() -> dict[str, Any]:
    """The schema as a dict."""
    schema: dict[str, Any] = json.loads(text())
    return schema


# 2: which answers failed stands in failed_samples.jsonl, no longer here.
SCORES_SCHEMA = 2
_ENDS = ("value", "low", "high")
_TRIGGER_COUNTS = (
    *("tp", "fp", "fn", "tn", "failed_as_missed"),
    *("dropped_baseline", "dropped_vendor", "not_sent", "pairs_of_runs"),
)


def render(report: Report) -> str:
    """ASCII JSON with two-space indentation and a final newline."""
    return json.dumps(scores(report), indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def scores(report: Report) -> dict[str, Any]:
    """The document as plain dicts, lists, strings, finite numbers and None."""
    document = {
        "schema": SCORES_SCHEMA,
        "run": report.run,
        "models": {model.model: _model(model, report) for model in report.models},
        "settings": {
            "undecided": report.undecided,
            "schema_policy": report.schema_policy,
            "k": report.k,
            "rank_metrics": report.rank_metrics,
            "repeat": report.repeat,
            "samples": report.samples,
        },
        "dataset": report.dataset,
        "warnings": report.warnings,
        "complete": report.complete,
    }
    cleaned: dict[str, Any] = _clean(document)
    return cleaned


def _model(model: ModelScore, report: Report) -> dict[str, Any]:
    vendors = {vendor.label: _vendor(vendor, model, report) for vendor in model.vendors}
    verdict = report.verdicts.get(model.model)
    judged = {} if verdict is None else {"judgement": _judgement(verdict)}
    advice = report.advice.get(model.model)
    choice = {} if advice is None else {"choice": nested_dict(advice.choice)}
    return {"baseline": model.baseline, "unranked": sorted(model.unranked), **choice, "vendors": vendors, **judged}


def verdict_document(verdict: VendorVerdict, run: str) -> dict[str, Any]:
    """A vendor's verdict with its facets by name; ``run`` is the folder that the commands name."""
    return {
        "status": verdict.status,
        "reason": verdict.reason,
        "is_reference": verdict.is_reference,
        "facets": {facet.name: _facet(facet, verdict.label, run) for facet in verdict.facets},
    }


def _facet(facet: Facet, label: str, run: str) -> dict[str, Any]:
    figure = facet.estimate
    ends = {name: None if figure is None else number_format.finite(getattr(figure, name)) for name in _ENDS}
    return {
        "status": facet.status,
        "reason": facet.reason,
        "p_value": number_format.finite(facet.p_value),
        **ends,
        "finding": facet.finding,
        "samples": list(facet.samples),
        "command": evidence_command(run, label, facet),
    }


def _judgement(verdict: ModelVerdict) -> dict[str, Any]:
    """A verdict's fields by name without a row per sample; thresholds in their own grammar, sets as sorted lists."""
    document = nested_dict(verdict)
    for counts in document["blame"].values():
        del counts["samples"]
    for stored, gate in zip(document["gates"], verdict.gates, strict=True):
        stored["threshold"] = str(gate.threshold)
    if verdict.ranking is not None:
        document["ranking"]["not_distinguishable"] = sorted(verdict.ranking.not_distinguishable)
    return document


def _vendor(vendor: VendorScore, model: ModelScore, report: Report) -> dict[str, Any]:
    names = [*report.rank_metrics, *sorted(set(vendor.metrics) - set(report.rank_metrics))]
    facts_ = _vendor_facts(vendor, model, report)
    if (advice := report.advice.get(model.model)) is not None:
        facts_ = {"verdict": verdict_document(advice.vendors[vendor.label], usual_folder(report)), **facts_}
    # A suite's score may have any name, so it must not replace one of our own keys.
    metrics = {(f"metric_{name}" if name in facts_ else name): vendor.metrics.get(name) for name in names}
    return metrics | facts_


def _vendor_facts(vendor: VendorScore, model: ModelScore, report: Report) -> dict[str, Any]:
    trigger = vendor.trigger
    return {
        "irf": vendor.irf,
        "irf_metrics": vendor.irf_metrics,
        "irf_global": vendor.irf_global,
        "place": sentences.place(vendor, model),
        "ranks": _ordered(vendor.ranks, report.rank_metrics),
        "counts": _counts(vendor),
        "measured": _ordered(vendor.measured, report.rank_metrics),
        "stalled": _sorted(vendor.stalled),
        "withheld": _sorted(vendor.withheld),
        "precision": trigger.precision if trigger else None,
        "recall": trigger.recall if trigger else None,
        "first_attempt_success_rate": sentences.first_attempt_success_rate(vendor),
        "tps_mean": vendor.tps_mean,
        "tps_p50": vendor.tps_p50,
        "e2e_tps": vendor.e2e_tps,
        "schema": _schema(vendor.schema),
        "distributions": {name: nested_dict(vendor.distributions[name]) for name in sorted(vendor.distributions)},
        "decisions": _sorted(vendor.decisions),
        "finish_reasons": _sorted(vendor.finish_reasons),
        "failures": _sorted(vendor.failures),
        "anomalies": _sorted(vendor.anomalies),
        "served_models": _sorted(vendor.served_models),
        "is_baseline": vendor.is_baseline,
        "vendor": vendor.vendor,
        "model_id": vendor.model_id,
        "provider": vendor.provider,
        "suites": {name: _suite(score) for name, score in sorted(vendor.suites.items())},
        "pace": None if vendor.pace is None else nested_dict(vendor.pace),
        **({} if vendor.goodput is None else {"goodput": nested_dict(vendor.goodput)}),
        **({"regions": [nested_dict(seen) for seen in vendor.regions]} if vendor.regions else {}),
    }


def _suite(score: SuiteScore) -> dict[str, Any]:
    fields = nested_dict(score)
    if not score.checks:
        del fields["checks"]
    return fields


def _counts(vendor: VendorScore) -> dict[str, int | None]:
    trigger = {name: getattr(vendor.trigger, name) if vendor.trigger else None for name in _TRIGGER_COUNTS}
    return trigger | {
        "planned": vendor.planned,
        "recorded": vendor.recorded,
        "succeeded": vendor.succeeded,
        "succeeded_first_try": vendor.succeeded_first_try,
        "failed": vendor.recorded - vendor.succeeded,
        "attempts": vendor.attempts,
        "resent": vendor.resent,
        "responses_with_calls": vendor.schema.responses,
        "calls": vendor.schema.calls,
        "valid_calls": sentences.valid_calls(vendor),
    }


def _schema(schema: SchemaCounts) -> dict[str, Any]:
    return {
        "policy": schema.policy,
        "accuracy": {"lenient": schema.accuracy_lenient, "strict": schema.accuracy_strict},
        "per_response": {"lenient": schema.per_response_lenient, "strict": schema.per_response_strict},
        "valid_calls": {"lenient": schema.valid_lenient, "strict": schema.valid_strict},
        "tool_call_error_rate": schema.tool_call_error_rate,
        "tool_requests": schema.tool_requests,
        "calls": schema.calls,
        "responses_with_calls": schema.responses,
        "classes": {name: schema.classes.get(name, 0) for name in get_args(CallClass)},
    }


def _sorted(counts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: counts[name] for name in sorted(counts)}


def _ordered(values: Mapping[str, Any], first: tuple[str, ...]) -> dict[str, Any]:
    names = [*(name for name in first if name in values), *sorted(set(values) - set(first))]
    return {name: values[name] for name in names}


def _clean(value: Any) -> Any:
    """Mappings, sequences and texts of any kind as dicts, lists and strings; numbers that are not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return number_format.finite(value) if isinstance(value, float) else value
