"""A check's result as a message: lines, one JSON document, or a document for Slack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vendor_verifier.features.history.regression import LEAST_RUNS
from vendor_verifier.features.history.text import identity_line, trend_lines
from vendor_verifier.gates.judge import samples_to_decide
from vendor_verifier.records.history import CheckResult
from vendor_verifier.records.verdict import FAILING, VendorVerdict
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.number_format import finite
from vendor_verifier.reports.scores_json import verdict_document
from vendor_verifier.words import Texts

NOTICE_SCHEMA = 1
# Slack cuts longer texts itself, in the middle of a line.
_MOST_LINES = 20
_MOST_NAMES = 4
_LOUD = ("regression", "improvement")


def headline(result: CheckResult) -> str:
    """``check failed: m / reseller not as sold, 1 gate failed, 1 regression (run …)``."""
    t = Texts()
    bad = [t("check_vendor", vendor=name, status=t(f"status_{verdict.status}")) for name, verdict in _failing(result)]
    counts = {
        "check_gates": sum(verdict.outcome == "FAIL" for _, verdict in result.gates),
        "check_regressions": sum(trend.verdict == "regression" for trend in result.trends),
        "check_unfinished": len(result.unfinished),
    }
    words = t.joined([t.listed(bad), *(t(name, n=count) for name, count in counts.items() if count)])
    head = t(f"check_{result.status}")
    head = t("check_counts", head=head, words=words) if words else head
    return plain(t("check_run", head=head, run=result.run) if result.run else head)


def notice_lines(result: CheckResult) -> list[str]:
    """The headline and a line for everything that a person should know; only the headline when all is well."""
    return [headline(result), *(f"  {line}" for line in _findings(result, Texts()))]


def _failing(result: CheckResult) -> Iterator[tuple[str, VendorVerdict]]:
    """The vendors that fail the check, by model and label."""
    for model, verdict in result.verdicts:
        if verdict.status in FAILING:
            yield f"{model} / {verdict.label}", verdict


def _findings(result: CheckResult, t: Texts) -> Iterator[str]:
    if result.error is not None:
        yield plain(result.error)
    for name, judged in _failing(result):
        status = t(f"status_{judged.status}")
        yield plain(t("check_verdict", vendor=name, status=status, reason=judged.reason))
    for model, verdict in result.gates:
        if verdict.outcome == "FAIL":
            vendor, gate = f"{model} / {verdict.label}", str(verdict.threshold)
            yield plain(t("check_gate", outcome=verdict.outcome, vendor=vendor, gate=gate, reason=verdict.reason))
    yield from trend_lines(trend for trend in result.trends if trend.verdict in _LOUD)
    yield from _warned(result, t)
    yield from _not_yet(result, t)
    for model, finding in result.identity:
        yield identity_line(model, finding, t)
    for sentence in result.unfinished:
        yield plain(f"incomplete: {sentence}")
    for sentence in result.notices:
        yield plain(f"warning: {sentence}")


def _warned(result: CheckResult, t: Texts) -> Iterator[str]:
    """One line a vendor whose newest run alone is far off, in whichever figures."""
    vendors: dict[str, list[str]] = {}
    for trend in result.trends:
        if trend.verdict == "warning":
            figure = t("check_warned_by", figure=trend.metric, z=f"{trend.z or 0.0:.1f}")
            vendors.setdefault(f"{trend.model} / {trend.label}", []).append(figure)
    for vendor, figures in vendors.items():
        yield plain(t("check_warned", vendor=vendor, figures=t.joined(figures)))


def _not_yet(result: CheckResult, t: Texts) -> Iterator[str]:
    """At most one line on all gates that these samples cannot decide, and one on drift that takes more runs."""
    vendors: dict[str, list[str]] = {}
    for model, verdict in result.gates:
        if verdict.outcome == "UNDECIDED":
            vendors.setdefault(str(verdict.threshold), []).append(f"{model} / {verdict.label}")
    if vendors:
        which = "; ".join(f"{gate}: {_named(names, t)}" for gate, names in vendors.items())
        yield plain(t("check_undecided", which=which, enough=_enough(result, t)))
    young = [trend for trend in result.trends if trend.verdict == "no_verdict"]
    if young:
        names = list(dict.fromkeys(f"{trend.model} / {trend.label}" for trend in young))
        about = "" if len(young) == len(result.trends) else t("check_young_of", names=_named(names, t))
        runs = min(len(trend.nights) for trend in young)
        yield plain(t("check_young", about=about, runs=runs, least=LEAST_RUNS))


def _enough(result: CheckResult, t: Texts) -> str:
    """The number of samples that would decide the undecided gates, as far as that can be told."""
    undecided = [verdict for _, verdict in result.gates if verdict.outcome == "UNDECIDED"]
    needed = [samples_to_decide(verdict.threshold, verdict.estimate) for verdict in undecided]
    known = [number for number in needed if number is not None]
    if not known:
        return t("check_enough_unknown")
    rest = t("check_enough_rest", count=len(needed) - len(known)) if len(known) < len(needed) else ""
    return t("check_enough", enough=max(known)) + rest


def _named(names: Sequence[str], t: Texts) -> str:
    more = t("check_names_more", count=len(names) - _MOST_NAMES) if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def as_json(result: CheckResult) -> dict[str, Any]:
    """The whole result as data; ``schema`` counts up when a key changes its meaning or goes."""
    return {
        "schema": NOTICE_SCHEMA,
        "tool": "agent-vendor-verifier",
        "status": result.status,
        "exit_code": result.exit_code,
        "headline": headline(result),
        "run": result.run,
        "folder": result.folder,
        "error": result.error,
        "leaders": dict(result.leaders),
        "verdicts": [
            {"model": model, "vendor": verdict.label, **verdict_document(verdict, result.folder or "")}
            for model, verdict in result.verdicts
        ],
        "gates": [
            {
                "model": model,
                "vendor": verdict.label,
                "gate": str(verdict.threshold),
                "outcome": verdict.outcome,
                "value": finite(verdict.estimate.value),
                "low": finite(verdict.estimate.low),
                "high": finite(verdict.estimate.high),
                "n": verdict.estimate.n,
                "reason": verdict.reason,
            }
            for model, verdict in result.gates
        ],
        "trends": [
            {
                "model": trend.model,
                "vendor": trend.label,
                "metric": trend.metric,
                "verdict": trend.verdict,
                "reason": trend.reason,
                "runs": len(trend.nights),
            }
            for trend in result.trends
        ],
        "identity": [
            {"model": model, "vendor": finding.label, "finding": finding.name, **finding.evidence}
            for model, finding in result.identity
        ],
        "unfinished": list(result.unfinished),
        "notices": list(result.notices),
    }


def for_slack(result: CheckResult) -> dict[str, Any]:
    """An incoming webhook's document; text of strangers can neither mention anybody nor make a link."""
    lines = notice_lines(result)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], "  " + Texts()("check_more", count=len(lines) - _MOST_LINES)]
    text = "\n".join(lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text, "mrkdwn": False}
