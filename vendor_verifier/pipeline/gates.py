"""Reads thresholds and judges one model's vendors by them, by intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec import structs

from vendor_verifier.audit.verdict_table import RULES
from vendor_verifier.config.gates import StatedGate
from vendor_verifier.config.suite_options import known_suite
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.gates.judge import judge_finding, judge_gates, judge_status
from vendor_verifier.gates.thresholds import parse_gate, parse_slo
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Gate, GateVerdict, ModelVerdict, Threshold, VerdictGate
from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.records.score import ModelScore
from vendor_verifier.records.verdict import Advice
from vendor_verifier.stats.bootstrap import Resampled, bootstrap
from vendor_verifier.stats.intervals import estimates_of, gap_to, percentile_estimates
from vendor_verifier.stats.noise_floor import gap
from vendor_verifier.stats.overlap import common_times, overlaps_of
from vendor_verifier.stats.panel import Panel
from vendor_verifier.stats.ratio_table import TIMES, Trials


def read_gates(texts: Sequence[str], suites: Collection[str]) -> tuple[Gate, ...]:
    """The gates in ``texts``, or of the presets named there; ``suites`` are evaluations whose scores may be named.

    Where two bound the same figure on the same side, the later one applies: a model's own replaces that of all models.

    Raises:
        ProblemsError: all that do not follow the grammar, at once.
    """
    found = _all_or_none(*_read_gates([(text, Problem("", key="gates")) for text in texts], suites))
    return tuple({_bound(one): one for one in found}.values())


def _bound(gate: Gate) -> tuple[object, ...]:
    """The key of what a gate bounds: of two with the same key the later one applies."""
    if isinstance(gate, Threshold):
        return gate.subject, gate.comparison, gate.ceiling
    return type(gate), gate.metric


def with_stated(typed: ScoreRequest, gates: Sequence[StatedGate], slos: Sequence[StatedGate]) -> ScoreRequest:
    """``typed`` with the config's gates and SLOs before its own; a model's own gates come between both."""
    everybody = [gate.text for gate in gates if gate.model is None]
    own = {
        model: (*everybody, *(gate.text for gate in gates if gate.model == model), *typed.gates)
        for model in dict.fromkeys(gate.model for gate in gates)
        if model is not None
    }
    return structs.replace(
        typed,
        gates=(*everybody, *typed.gates),
        model_gates=own,
        slos=(*(slo.text for slo in slos), *typed.slos),
    )


def check_gates(stated: Sequence[StatedGate], typed: Sequence[str], suites: Collection[str]) -> tuple[Gate, ...]:
    """Every gate of the config and of the command line.

    Raises:
        ProblemsError: all that do not follow the grammar, each with its place.
    """
    return tuple(_all_or_none(*_read_gates(_places(stated, typed, "--gate"), suites)))


def check_conditions(
    typed: ScoreRequest,
    suites: Collection[str],
    gates: Sequence[StatedGate] = (),
    slos: Sequence[StatedGate] = (),
) -> None:
    """Check gates and SLOs of the config and of the command line, before anything is sent.

    Raises:
        ProblemsError: all of both kinds that do not follow the grammar, each with its place.
    """
    _, bad_gates = _read_gates(_places(gates, typed.gates, "--gate"), suites)
    _, bad_slos = _read_slos(_places(slos, typed.slos, "--slo"))
    _all_or_none((), [*bad_gates, *bad_slos])


def check_rank_metrics(metrics: Sequence[str], suites: Collection[str]) -> None:
    """Check that every rank metric that is a suite's score belongs to a suite that takes part and has one.

    Raises:
        ProblemsError: with those that can.
    """
    for metric in metrics:
        able = [name for name in suites if known_suite(name).ranks_by is not None]
        if metric not in able:
            which = f"of this run's evaluations {', '.join(able)} can" if able else "no evaluation of this run has one"
            raise ProblemsError([Problem(f"{metric!r} is no score that can rank; {which}", key="--rank-metric")])


def read_slos(texts: Sequence[str]) -> tuple[Threshold, ...]:
    """The SLOs in ``texts``, each once.

    Raises:
        ProblemsError: all that do not follow the grammar or are not about one request, at once.
    """
    found = _all_or_none(*_read_slos([(text, Problem("", key="slos")) for text in texts]))
    return tuple(dict.fromkeys(found))


_Place = tuple[str, Problem]
_One = TypeVar("_One", bound=Gate)
_Read = tuple[list[_One], list[Problem]]


def _places(stated: Sequence[StatedGate], typed: Sequence[str], flag: str) -> list[_Place]:
    return [(one.text, one.place) for one in stated] + [(text, Problem("", key=flag)) for text in typed]


def _read_gates(places: Sequence[_Place], suites: Collection[str]) -> _Read[Gate]:
    return _read(places, lambda text: parse_gate(text, suites, RULES))


def _read_slos(places: Sequence[_Place]) -> _Read[Threshold]:
    return _read(places, lambda text: (parse_slo(text),))


def _read(places: Sequence[_Place], read: Callable[[str], Sequence[_One]]) -> _Read[_One]:
    """(gates or SLOs that could be read, problems of the others)."""
    found: list[_One] = []
    problems: list[Problem] = []
    for text, place in places:
        try:
            found += read(text)
        except UsageError as error:
            problems.append(replace(place, message=str(error)))
    return found, problems


def _all_or_none(found: Sequence[_One], problems: Sequence[Problem]) -> Sequence[_One]:
    if problems:
        raise ProblemsError(problems)
    return found


def judge_panel(
    panel: Panel,
    resampled: Resampled,
    trials: Sequence[Trials],
    baseline: Trials | None,
    thresholds: Sequence[Threshold],
    requests: Mapping[str, Mapping[str, Sequence[float]]],
) -> tuple[GateVerdict, ...]:
    """The verdicts on every vendor of one model; ``requests``: label → metric → values of single requests.

    The baseline is not judged by F1, which it has only with itself.
    """
    exact = estimates_of(panel, resampled, exact=True)
    verdicts: list[GateVerdict] = []
    for each in trials:
        due = [one for one in thresholds if one.metric != "f1" or each is not baseline]
        estimates = exact[each.label] | percentile_estimates(requests.get(each.label, {}))
        gaps = _gaps(panel, resampled, each, baseline, due)
        verdicts += judge_gates(each.label, due, estimates, gaps)
    return tuple(verdicts)


def judge_conditions(
    model: ModelScore, verdict: ModelVerdict, advice: Advice, gates: Sequence[Gate]
) -> tuple[GateVerdict, ...]:
    """The outcomes of gates on verdicts and findings, for every vendor with a record.

    They are judged when the verdicts are known and change none of them.
    """
    asked = [vendor for vendor in model.vendors if vendor.recorded]
    return tuple(
        judge_status(gate, advice.vendors[vendor.label])
        if isinstance(gate, VerdictGate)
        else judge_finding(gate, vendor, verdict.findings)
        for vendor in asked
        for gate in gates
        if not isinstance(gate, Threshold)
    )


def own_metrics(trials: Sequence[Trials], thresholds: Sequence[Threshold]) -> list[str]:
    """Metrics of the thresholds that the trials have and that do not rank."""
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
        elif metric in TIMES and metric in panel.metrics and overlaps_of((vendor, baseline), panel).rows:
            found[metric] = _gap_in_time(panel, vendor, baseline, metric)
        elif metric in panel.metrics:
            found[metric] = gap_to(panel, resampled, vendor.label, baseline.label, metric)
    return found


def _gap_in_time(panel: Panel, vendor: Trials, baseline: Trials, metric: str) -> Estimate:
    """The vendor's time minus the baseline's, over what was sent while both were being asked."""
    import numpy as np

    common = common_times(vendor, baseline, panel, metric)
    if not common.samples:
        return Estimate(None)
    return gap_to(common, bootstrap(common, np.random.default_rng(0)), vendor.label, baseline.label, metric)
