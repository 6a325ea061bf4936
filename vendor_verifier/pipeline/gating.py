"""Holds a stored run against thresholds: reads its records, estimates with intervals, judges. It sends nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vendor_verifier.compare.bootstrap import Resampled, bootstrap
from vendor_verifier.compare.estimates import estimates_of, gap_to, percentile_estimates
from vendor_verifier.compare.gates import judge_gates
from vendor_verifier.compare.noise_floor import gap
from vendor_verifier.compare.panel import Panel, build_panel
from vendor_verifier.compare.ranking import RANK_METRICS
from vendor_verifier.compare.thresholds import parse_threshold
from vendor_verifier.compare.trials import Trials
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.pipeline.stored_trials import StoredTrials, read_trials
from vendor_verifier.store import RunFolder
from vendor_verifier.values.judgement import Estimate, GateVerdict, Threshold


def read_gates(texts: Sequence[str], suites: Collection[str]) -> tuple[Threshold, ...]:
    """The thresholds in ``texts``; ``suites`` are evaluations whose scores may be named.

    Raises:
        ProblemsError: all that do not follow the grammar, at once.
    """
    found, problems = [], []
    for text in texts:
        try:
            found.append(parse_threshold(text, suites))
        except UsageError as error:
            problems.append(Problem(str(error), key="gates"))
    if problems:
        raise ProblemsError(problems)
    return tuple(found)


def judge_folder(folder: RunFolder, thresholds: Sequence[Threshold]) -> tuple[tuple[str, GateVerdict], ...]:
    """(model, verdict) of every vendor against every threshold, by intervals.

    The baseline is not held to an F1 it has only with itself and only if it was asked twice.

    Raises:
        RunFolderError: not a readable run folder.
    """
    if not thresholds:
        return ()
    stored = read_trials(folder)
    return tuple((model, verdict) for model in stored.trials for verdict in _judge_model(model, stored, thresholds))


def _judge_model(model: str, stored: StoredTrials, thresholds: Sequence[Threshold]) -> list[GateVerdict]:
    import numpy as np

    trials, baseline = stored.trials[model], stored.baselines.get(model)
    metrics = tuple(dict.fromkeys([*RANK_METRICS, *stored.scores, *_own_metrics(trials, thresholds)]))
    panel = build_panel(trials, stored.samples, baseline=baseline, metrics=metrics, undecided=stored.score.undecided)
    # The same numbers from the same records, whenever they are judged.
    resampled = bootstrap(panel, np.random.default_rng(0))
    exact = estimates_of(panel, resampled, exact=True)
    by_label = {each.label: each for each in trials}
    verdicts: list[GateVerdict] = []
    for each in trials:
        due = [one for one in thresholds if one.metric != "f1" or each.label != baseline]
        estimates = exact[each.label] | percentile_estimates(stored.requests[model, each.label])
        gaps = _gaps(panel, resampled, each, by_label.get(baseline or ""), due)
        verdicts += judge_gates(each.label, due, estimates, gaps)
    return verdicts


def _own_metrics(trials: Sequence[Trials], thresholds: Sequence[Threshold]) -> list[str]:
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
