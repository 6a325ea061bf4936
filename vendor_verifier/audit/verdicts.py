"""The verdict on every vendor: a word for each facet and over all, by what the verdict table says against it.

A facet is as bad as the worst that was found about it. Where nothing was found it is *as sold* if enough was asked to
have found something, else there is *too little evidence*. A vendor is as bad as its worst facet; of facets without
enough evidence only those of ``_NEEDED`` keep a vendor from being as sold. A difference that only a single comparison
would call proven leaves too little evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce

from msgspec import structs

from vendor_verifier.audit.verdict_table import DOUBTFUL_LEVEL, Subject, against, against_baseline, points, success
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Gap, ModelVerdict, ScoreDifference
from vendor_verifier.records.score import ModelScore
from vendor_verifier.records.verdict import FACETS, Facet, FacetName, Status, VendorVerdict
from vendor_verifier.stats.intervals import LEVEL
from vendor_verifier.stats.sample_size import score_seen_drop
from vendor_verifier.stats.score_differences import standard_error
from vendor_verifier.stats.trigger_power import TriggerDesign, f1_seen_drop
from vendor_verifier.words import english

LEAST_ANSWERS = 10
# A run that could only see a larger loss than this says nothing of how a vendor calls tools.
LARGEST_UNSEEN_LOSS = 0.3
_WORST_FIRST: tuple[Status, ...] = ("unusable", "not_as_sold", "doubtful", "too_little_evidence", "as_sold")
_NEEDED: frozenset[FacetName] = frozenset({"model", "tool_calls", "reliability"})


def judge_vendors(model: ModelScore, verdict: ModelVerdict) -> dict[str, VendorVerdict]:
    """The verdict on every vendor of a scored and judged model, by label."""
    baseline = next((vendor for vendor in model.vendors if vendor.label == model.baseline), None)
    return {
        vendor.label: _judge(Subject(vendor, model, verdict, None if vendor is baseline else baseline))
        for vendor in model.vendors
    }


def _judge(about: Subject) -> VendorVerdict:
    found = list(against(about))
    facets = tuple(
        min(
            (each for each in found if each.name == name),
            key=lambda each: _WORST_FIRST.index(each.status),
            default=None,
        )
        or _unblemished(name, about)
        for name in FACETS
    )
    counted = [each.status for each in facets if each.status != "too_little_evidence" or each.name in _NEEDED]
    status: Status = min(counted, key=_WORST_FIRST.index, default="too_little_evidence")
    worst_first = sorted(found, key=lambda each: _WORST_FIRST.index(each.status))
    return VendorVerdict(about.label, status, facets, about.vendor.is_baseline, tuple(worst_first))


def _unblemished(name: FacetName, about: Subject) -> Facet:
    """The facet of which nothing bad was found: as sold, or too little evidence to say so."""
    if not about.vendor.planned:
        # Evaluations that stand apart are asked besides; they say nothing of the other facets.
        return _few(name, about) or _open(name, "verdict_not_asked")
    if about.vendor.succeeded < LEAST_ANSWERS:
        return _few(name, about) or _open(name, "verdict_few_answers", n=about.vendor.succeeded)
    if name == "reliability":
        own = success(about.vendor)
        return _fine(name, "verdict_reliable", own, answered=about.vendor.succeeded, asked=own.n)
    if about.vendor.is_baseline:
        return _fine(name, "verdict_reference")
    if about.reference is None:
        return _open(name, "verdict_no_baseline")
    if about.reference.succeeded < LEAST_ANSWERS:
        return _open(name, "verdict_baseline_silent", n=about.reference.succeeded)
    return _COMPARED[name](about)


def _few(name: FacetName, about: Subject) -> Facet | None:
    """The facet by one-token probes alone, where these were all that was asked; None if they say nothing of it."""
    probed = _probed(about) if name == "model" else None
    return None if probed is None else Facet("model", "as_sold", probed)


def _joined(told: Iterable[str]) -> str:
    return reduce(lambda one, other: english("verdict_both", one=one, other=other), told)


def _probed(about: Subject) -> str | None:
    """The sentence on what the probes of ``identity`` would have seen; None where they measured nothing."""
    test = about.verdict.probes.get(about.label)
    if test is None or test.p_value is None:
        return None
    if test.seen_mixture is None:
        return english("verdict_probes_blind", n=test.n)
    return english("verdict_probes_fine", n=test.n, share=f"{100 * test.seen_mixture:.0f}")


def _model(about: Subject) -> Facet:
    """As sold, with what answers and probes would have shown, or why they do not."""
    facet, probed, test = _by_answers(about), _probed(about), about.verdict.probes.get(about.label)
    told = [facet.reason]
    if test is not None:
        told.append(english("verdict_probes_unmeasured", why=test.not_measurable) if probed is None else probed)
    return Facet("model", "as_sold", _joined(told))


def _by_answers(about: Subject) -> Facet:
    """As sold with what the answers would have shown; where they could not be compared, why."""
    test, n = about.verdict.answers.get(about.label), about.vendor.succeeded
    if test is None:
        return _fine("model", "verdict_model_fine", n=n)
    if test.seen_mixture is None:
        return _fine("model", "verdict_model_uncompared", n=n, why=test.not_measurable)
    share = f"{100 * test.seen_mixture:.0f}"
    return _fine("model", "verdict_model_compared", n=test.n, share=share)


def _bill(about: Subject) -> Facet:
    counted = about.vendor.measured.get("avg_tokens", 0)
    if not counted:
        return _open("bill", "verdict_no_usage")
    return _fine("bill", "verdict_bill_fine", n=counted)


def _speed(about: Subject) -> Facet:
    ranking = about.verdict.ranking
    pair = {about.label, about.model.baseline}
    compared = ranking is not None and any(
        each.metric in ("avg_ttft_ms", "tps") and {each.first, each.second} == pair for each in ranking.differences
    )
    return _fine("speed", "verdict_speed_fine") if compared else _open("speed", "verdict_speed_unknown")


def _tool_calls(about: Subject) -> Facet:
    """As sold where a loss would have been seen: of F1 against the ceiling, else of an evaluation's score."""
    gap, trigger = about.gap, about.vendor.trigger
    floor = about.verdict.noise_floor
    if gap is not None and trigger is not None and floor is not None and trigger.tp + trigger.fn:
        if _hints_at_loss(gap):
            return _open("tool_calls", "verdict_calls_hint", gap.delta, points=points(-(gap.delta.value or 0.0)))
        prevalence = (trigger.tp + trigger.fn) / (trigger.tp + trigger.fp + trigger.fn + trigger.tn)
        level = DOUBTFUL_LEVEL / about.comparisons
        design = TriggerDesign(floor.ceiling.value or 0.0, prevalence, level, floor.runs)
        return _seen(f1_seen_drop(gap.delta.n, design), "verdict_calls_fine", gap.delta)
    scores = against_baseline(about)
    if scores:
        return _of_scores(scores, about)
    return _open("tool_calls", "verdict_baseline_once" if trigger is not None else "verdict_no_calls")


def _hints_at_loss(gap: Gap) -> bool:
    """Whether F1 lies below the ceiling, and not only because requests failed, which is judged by itself."""
    return gap.delta.high is not None and gap.delta.high < 0 and gap.proof < 1 - LEVEL


def _of_scores(scores: Sequence[ScoreDifference], about: Subject) -> Facet:
    hint = next((each for each in scores if each.delta.high is not None and each.delta.high < 0), None)
    if hint is not None:
        return _open("tool_calls", "verdict_calls_hint", hint.delta, points=points(-(hint.delta.value or 0.0)))
    level = DOUBTFUL_LEVEL / about.comparisons / len(scores)
    seen = {
        each.suite: score_seen_drop(each.delta.n, error=standard_error(each), level=level)
        for each in scores
        if each.delta.n
    }
    if not seen:
        return _open("tool_calls", "verdict_no_calls")
    blindest = max(scores, key=lambda each: seen.get(each.suite, 0.0))
    return _seen(seen[blindest.suite], "verdict_scores_fine", blindest.delta)


def _seen(loss: float, name: str, estimate: Estimate) -> Facet:
    if loss > LARGEST_UNSEEN_LOSS:
        return _open("tool_calls", "verdict_calls_few", estimate, points=points(min(1.0, loss)), n=estimate.n)
    return structs.replace(_fine("tool_calls", name, estimate, points=points(loss)), unseen_loss=loss)


_COMPARED: Mapping[FacetName, Callable[[Subject], Facet]] = {
    "model": _model, "tool_calls": _tool_calls, "bill": _bill, "speed": _speed,
}  # fmt: skip


def _fine(name: FacetName, words: str, estimate: Estimate | None = None, **values: object) -> Facet:
    return Facet(name, "as_sold", english(words, **values), estimate=estimate)


def _open(name: FacetName, words: str, estimate: Estimate | None = None, **values: object) -> Facet:
    return Facet(name, "too_little_evidence", english(words, **values), estimate=estimate)
