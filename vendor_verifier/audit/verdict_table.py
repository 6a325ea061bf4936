"""The one table that maps findings, gates, scores and failures to a facet of a vendor and a word for it.

A difference from the baseline is doubtful at an error of 1 % and *not as sold* at 0.1 %, over all vendors of a run.
Speed alone is never worse than doubtful, because nobody sells a speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import msgspec
from msgspec import structs

from vendor_verifier.audit.billing import TEMPLATE_TOKENS
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.failures import KINDS, Charge
from vendor_verifier.records.judgement import Finding, Gap, GateVerdict, ModelVerdict, ScoreDifference
from vendor_verifier.records.model_names import same_model
from vendor_verifier.records.score import ModelScore, VendorScore
from vendor_verifier.records.verdict import Facet, FacetName, Status
from vendor_verifier.stats.intervals import wilson
from vendor_verifier.words import english

# From these levels on a difference is doubtful, or not as sold; divided by the number of vendors compared (Bonferroni).
DOUBTFUL_LEVEL, CERTAIN_LEVEL = 0.01, 0.001
# Losses of F1, schema accuracy or a score that count as small: below, a difference is at most doubtful.
SMALL_LOSS = 0.02
# Success rates that the whole interval lies below.
_UNUSABLE, _BAD, _LACKING = 0.5, 0.9, 0.99
_MANY = 0.05


class Subject(msgspec.Struct, frozen=True):
    """One vendor with what is known of it and of the baseline; ``reference`` is None for the baseline itself."""

    vendor: VendorScore
    model: ModelScore
    verdict: ModelVerdict
    reference: VendorScore | None

    @property
    def label(self) -> str:
        return self.vendor.label

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(found for found in self.verdict.findings if found.label == self.label)

    @property
    def gap(self) -> Gap | None:
        return next((gap for gap in self.verdict.gaps if gap.label == self.label), None)

    @property
    def comparisons(self) -> int:
        """The number of vendors held against the baseline."""
        return max(1, len(self.model.vendors) - 1)

    def baseline_has(self, name: str) -> bool:
        return any(found.name == name and found.label == self.model.baseline for found in self.verdict.findings)


_Rule = Callable[[Finding, Subject], Status | None]


def _always(status: Status) -> _Rule:
    return lambda _found, _about: status


def _unless_baseline(status: Status) -> _Rule:
    """That status where the baseline does not show the same: then it is a trait of the model, not of the vendor."""
    return lambda found, about: None if about.baseline_has(found.name) else status


def _noted(_found: Finding, _about: Subject) -> None:
    """An observation that says nothing against the vendor."""


def _another_model(found: Finding, about: Subject) -> Status | None:
    """Another name is another model, unless it is the model's own or the baseline's; of the baseline it may be an
    alias."""
    if about.vendor.is_baseline:
        return "doubtful"
    served = str(found.evidence["served"])
    # A reseller that passes an alias on is told by the model's own name, or by what the baseline is asked for.
    known = [about.model.model]
    if about.reference is not None:
        known += [about.reference.model_id, *about.reference.served_models]
    return None if any(same_model(name, served) for name in known) else "not_as_sold"


def _share(found: Finding, _about: Subject) -> Status:
    return "not_as_sold" if _number(found, "low") > _MANY else "doubtful"


def _calls_unlike(_found: Finding, about: Subject) -> Status | None:
    gap = about.gap
    return None if gap is None else _loss(gap.proof * about.comparisons, gap.delta)


def _loss(p_value: float, delta: Estimate) -> Status | None:
    """The status that a difference from the baseline gives; ``delta`` is below 0 for a loss."""
    if p_value > DOUBTFUL_LEVEL or delta.value is None or delta.value >= 0:
        return None
    is_large = delta.high is not None and delta.high < -SMALL_LOSS
    return "not_as_sold" if p_value <= CERTAIN_LEVEL and is_large else "doubtful"


def _calls_invalid(found: Finding, _about: Subject) -> Status:
    return "not_as_sold" if _number(found, "low") > SMALL_LOSS else "doubtful"


def _more_tokens(found: Finding, _about: Subject) -> Status:
    return "not_as_sold" if _number(found, "slope_low") > 0 else "doubtful"


def _constant_tokens(found: Finding, _about: Subject) -> Status | None:
    return "doubtful" if abs(_number(found, "median")) > TEMPLATE_TOKENS else None


def _tokenizer(found: Finding, _about: Subject) -> Status:
    """Another tokenizer is another model; a prompt cut or counts made up are told by other findings as well."""
    return "not_as_sold" if found.evidence["pattern"] == "tokenizer" else "doubtful"


def _dearer(found: Finding, _about: Subject) -> Status | None:
    return "not_as_sold" if _number(found, "ratio") > 1 else None


def _number(found: Finding, name: str) -> float:
    value = found.evidence.get(name)
    return float(value) if isinstance(value, int | float) else math.nan


# Finding → the facet it is about, and how bad it is. None: it is shown and says nothing against the vendor.
RULES: Mapping[str, tuple[FacetName, _Rule]] = {
    "another_model_served": ("model", _another_model),
    # Other hardware or batching answers otherwise as well, so this alone proves no other model.
    "answers_unlike_baseline": ("model", _always("doubtful")),
    "answers_too_like_baseline": ("model", _always("doubtful")),
    # Of other hardware the same holds as of answers_unlike_baseline.
    "probes_unlike_baseline": ("model", _always("doubtful")),
    # Nobody pays for them: who makes numbers up may make up others.
    "tokenizer_unlike_baseline": ("model", _tokenizer),
    "prompt_truncated": ("model", _always("not_as_sold")),
    "served_model_changes": ("model", _unless_baseline("doubtful")),
    "fingerprint_changes": ("model", _noted),
    "id_families": ("model", _unless_baseline("doubtful")),
    "answers_repeated": ("model", _unless_baseline("doubtful")),
    "max_tokens_exceeded": ("model", _unless_baseline("doubtful")),
    "cut_below_max_tokens": ("model", _unless_baseline("doubtful")),
    "shared_response_ids": ("model", _noted),
    "identical_answers": ("model", _noted),
    "served_model_changed_since": ("model", _noted),
    "fingerprint_changed_since": ("model", _noted),
    # Told by `check` beside the verdict on its run, which stands on that run alone.
    "calls_unlike_baseline": ("tool_calls", _calls_unlike),
    "calls_invalid": ("tool_calls", _calls_invalid),
    "calls_in_text": ("tool_calls", _share),
    "prompt_tokens_slope": ("bill", _more_tokens),
    "prompt_tokens_constant": ("bill", _constant_tokens),
    "output_tokens_inflated": ("bill", _always("not_as_sold")),
    "cache_not_discounted": ("bill", _always("not_as_sold")),
    "reported_cost_differs": ("bill", _dearer),
    "cache_impossible": ("bill", _unless_baseline("doubtful")),
    "cache_unexplained": ("bill", _noted),
    "reasoning_not_shown": ("bill", _unless_baseline("doubtful")),
    "same_token_counter": ("bill", _noted),
    "nothing_answered": ("reliability", _always("unusable")),
    # Our key or our credit may be at fault.
    "access_refused": ("reliability", _always("too_little_evidence")),
    "answers_cut": ("reliability", _share),
    "refused_at_first": ("reliability", _always("doubtful")),
    "requests_lost": ("reliability", _always("doubtful")),
    "stream_buffered": ("speed", _always("doubtful")),
    "stream_faked": ("speed", _always("doubtful")),
    "first_token_late_at_times": ("speed", _always("doubtful")),
    "slow_first_token": ("speed", _always("doubtful")),
    "slow_decoding": ("speed", _always("doubtful")),
}

# Metric of a gate → the facet that a failed gate is about; besides, tokens and money are billed, the rest is speed.
_GATE_FACETS: Mapping[str, FacetName] = {
    **dict.fromkeys(("f1", "schema_accuracy", "tool_call_error_rate"), "tool_calls"),
    **dict.fromkeys(("success_rate", "first_attempt_success_rate"), "reliability"),
}


def against(about: Subject) -> Iterator[Facet]:
    """All that speaks against a vendor, each under the facet that it is about."""
    yield from _by_findings(about)
    yield from _by_gates(about)
    yield from _by_scores(about)
    yield from _by_success(about)


def _by_findings(about: Subject) -> Iterator[Facet]:
    for found in about.findings:
        name, rule = RULES[found.name]
        status = rule(found, about)
        if status is not None:
            yield Facet(name, status, found.statement, found.name, _p_value(found), _interval(found), found.samples)


def _p_value(found: Finding) -> float | None:
    return _number(found, "p_value") if "p_value" in found.evidence else None


# The names under which findings keep a figure and its interval.
_INTERVALS = (("share", "low", "high"), ("difference", "low", "high"), ("slope", "slope_low", "slope_high"))


def _interval(found: Finding) -> Estimate | None:
    """The figure of a finding that has an interval."""
    for value, low, high in _INTERVALS:
        if value in found.evidence:
            return Estimate(_number(found, value), _number(found, low), _number(found, high))
    return None


def _by_gates(about: Subject) -> Iterator[Facet]:
    for gate in about.verdict.gates:
        if gate.label == about.label and gate.outcome == "FAIL":
            name = _gate_facet(gate, about)
            status: Status = "doubtful" if name == "speed" else "not_as_sold"
            reason = english("verdict_gate_failed", gate=str(gate.threshold), reason=gate.reason)
            yield Facet(name, status, reason, None, None, gate.estimate)


def _gate_facet(gate: GateVerdict, about: Subject) -> FacetName:
    metric = gate.threshold.metric
    if metric in about.vendor.suites:
        return "tool_calls"
    is_billed = metric.endswith(("_usd", "_tokens"))
    return _GATE_FACETS.get(metric, "bill" if is_billed else "speed")


def _by_scores(about: Subject) -> Iterator[Facet]:
    """Evaluations in which the vendor scores below the baseline."""
    found = against_baseline(about)
    for each in found:
        # Where no sample moves it, each of them shows the same difference: a sign test.
        p_value = 0.5 ** (each.delta.n - 1) if each.p_value is None else each.p_value
        status = _loss(p_value * about.comparisons * len(found), each.delta)
        if status is not None:
            reason = english(
                "verdict_scores_below", suite=each.suite, points=points(-(each.delta.value or 0.0)), n=each.delta.n
            )
            yield Facet("tool_calls", status, reason, None, p_value, each.delta)


def against_baseline(about: Subject) -> list[ScoreDifference]:
    """vendor − baseline in each evaluation."""
    pairs = {about.label, about.model.baseline}
    if about.reference is None:
        return []
    found = [each for each in about.verdict.score_differences if {each.first, each.second} == pairs]
    return [each if each.first == about.label else _turned(each) for each in found]


def _turned(one: ScoreDifference) -> ScoreDifference:
    value, low, high = (None if part is None else -part for part in (one.delta.value, one.delta.high, one.delta.low))
    return structs.replace(
        one, first=one.second, second=one.first, delta=structs.replace(one.delta, value=value, low=low, high=high)
    )


def _by_success(about: Subject) -> Iterator[Facet]:
    """The success rate over what says something of the vendor, and what a rate limit refused in the end."""
    own = success(about.vendor)
    if own.n and own.value is not None and own.high is not None and own.value < 1:
        status: Status | None = (
            "unusable" if own.high < _UNUSABLE
            else "not_as_sold" if own.high < _BAD
            else "doubtful" if own.high < _LACKING
            else None
        )  # fmt: skip
        if status is not None and (status == "unusable" or not _fails_likewise(own, about)):
            failed = own.n - about.vendor.succeeded
            yield Facet("reliability", status, english("verdict_fails", failed=failed, asked=own.n), None, None, own)
    limited = _failures(about.vendor, frozenset({"rate_limit"}))
    share = wilson(limited, limited + own.n)
    if limited and share.low is not None and share.low > 1 - _LACKING:
        yield Facet("reliability", "doubtful", english("verdict_limited", n=limited), None, None, share)


def success(vendor: VendorScore) -> Estimate:
    """The share of answered requests among those that the vendor answered or is to blame for."""
    blamed = _failures(vendor, frozenset({"vendor", "question", "door"}))
    blamed -= vendor.anomalies.get("refused_defective_sample", 0)
    return wilson(vendor.succeeded, vendor.succeeded + blamed)


def _failures(vendor: VendorScore, charges: frozenset[Charge]) -> int:
    return sum(count for kind, count in vendor.failures.items() if kind in KINDS and KINDS[kind].charge in charges)


def _fails_likewise(own: Estimate, about: Subject) -> bool:
    """Whether the baseline fails about as often, so that the samples may be at fault.

    Given all failures of both, those of the vendor are binomial with its share of the requests.
    """
    from vendor_verifier.special_functions import bdtrc

    if about.reference is None:
        return False
    other = success(about.reference)
    failed, of_other = own.n - about.vendor.succeeded, other.n - about.reference.succeeded
    return float(bdtrc(failed - 1, failed + of_other, own.n / (own.n + other.n))) > DOUBTFUL_LEVEL / about.comparisons


def points(share: float) -> str:
    """A share of 0..1 in percentage points, as a reason says it."""
    return f"{100 * share:.2g}" if share < 0.095 else f"{100 * share:.0f}"
