"""Reads thresholds and holds one model's vendors against them, by intervals; it reads no records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vendor_verifier.compare.bootstrap import Resampled
from vendor_verifier.compare.estimates import estimates_of, gap_to, percentile_estimates
from vendor_verifier.compare.gates import judge_gates
from vendor_verifier.compare.noise_floor import gap
from vendor_verifier.compare.panel import Panel
from vendor_verifier.compare.thresholds import PRESETS, parse_threshold
from vendor_verifier.compare.trials import Trials
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.values.judgement import Estimate, GateVerdict, Threshold


def read_gates(texts: Sequence[str], suites: Collection[str]) -> tuple[Threshold, ...]:
    """The thresholds in ``texts``, or of the presets named there; ``suites`` are evaluations whose scores may be named.

    Raises:
        ProblemsError: all that do not follow the grammar, at once.
    """
    found: list[Threshold] = []
    problems = []
    for text in texts:
        try:
            found += PRESETS.get(text.strip()) or (parse_threshold(text, suites),)
        except UsageError as error:
            problems.append(Problem(str(error), key="gates"))
    if problems:
        raise ProblemsError(problems)
    return tuple(found)


def judge_panel(
    panel: Panel,
    resampled: Resampled,
    trials: Sequence[Trials],
    baseline: Trials | None,
    thresholds: Sequence[Threshold],
    requests: Mapping[str, Mapping[str, Sequence[float]]],
) -> tuple[GateVerdict, ...]:
    """Every vendor of one model against every threshold; ``requests``: label → metric → values of single requests.

    The baseline is not held to an F1 that it has only with itself.
    """
    exact = estimates_of(panel, resampled, exact=True)
    verdicts: list[GateVerdict] = []
    for each in trials:
        due = [one for one in thresholds if one.metric != "f1" or each is not baseline]
        estimates = exact[each.label] | percentile_estimates(requests.get(each.label, {}))
        gaps = _gaps(panel, resampled, each, baseline, due)
        verdicts += judge_gates(each.label, due, estimates, gaps)
    return tuple(verdicts)


def own_metrics(trials: Sequence[Trials], thresholds: Sequence[Threshold]) -> list[str]:
    """Metrics of the thresholds that the trials hold beside those that rank."""
    held = {metric for each in trials for metric in each.ratios}
    return [one.metric for one in thresholds if one.metric in held]


def _gaps(
    panel: Panel, resampled: Resampled, vendor: Trials, baseline: Trials | None, thresholds: Sequence[Threshold]
) -> dict[str, Estimate]:
    if baseline is None:
        return {}
    found = {}
    for metric in dict.fromkeys(one.metric for one in thresholds if one.ceiling):
        if metric == "f1":
            found[metric] = gap(panel, baseline, vendor).delta
        elif metric in panel.metrics:
            found[metric] = gap_to(panel, resampled, vendor.label, baseline.label, metric)
    return found
