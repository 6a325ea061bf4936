"""The results of a run: figures, findings and verdicts. ``scores.json`` is a :class:`Report`, written as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

FacetName = Literal["model", "tool_calls", "bill", "reliability", "speed"]
Status = Literal["matches", "check", "differs", "down", "not_tested", "reference"]
ChoiceKind = Literal["recommended", "undecided", "none", "no_vendors", "nobody_answered"]
GateOutcome = Literal["passed", "failed", "not_decided"]

FACETS: tuple[FacetName, ...] = ("model", "tool_calls", "bill", "reliability", "speed")
WORST_FIRST: tuple[Status, ...] = ("down", "differs", "check", "not_tested", "matches", "reference")


class Figure(msgspec.Struct, frozen=True):
    """A number with its 95 % interval, over ``n`` observations; ``value`` is None where nothing was measured."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An observation about a vendor; docs/verdict.md lists the names.

    ``status`` is what it means for the facet, ``not_tested`` for a reason why it could not be judged, ``matches`` for
    what is noted only. ``p_value`` is corrected for all tests of the facet; None of a fact. ``value``, ``low`` and
    ``high`` are the difference and its interval over ``n``. ``samples`` show it, and ``command`` lists them.
    """

    model: str
    vendor: str
    facet: FacetName
    name: str
    status: Status
    text: str
    p_value: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    samples: tuple[str, ...] = ()
    command: str = ""


class Facet(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one facet of a vendor: its worst finding, or in ``reason`` what would have been found."""

    status: Status
    reason: str
    p_value: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    samples: tuple[str, ...] = ()
    command: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """The verdict on a vendor: the worst status of its facets that counts, the reason, and every facet."""

    status: Status
    reason: str
    facets: Mapping[FacetName, Facet] = {}


class Choice(msgspec.Struct, frozen=True):
    """The advice on a model. ``labels`` are who is recommended, in alphabetical order; where nobody can be for want of
    data (``undecided``) those against whom nothing was found. ``text`` is the first line of every report."""

    kind: ChoiceKind
    labels: tuple[str, ...] = ()
    text: str = ""


class TriggerCounts(msgspec.Struct, frozen=True):
    """The confusion matrix of tool calls against the baseline, summed over the pairs of repetitions.

    ``precision`` and ``recall`` come from the sums; ``pairs`` of repetitions were compared.
    """

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0
    precision: float | None = None
    recall: float | None = None
    pairs: int = 1


class SuiteResult(msgspec.Struct, frozen=True):
    """One vendor's result in one evaluation: its main ``score`` with all ``values`` (means, a failure counts 0), over
    ``judged`` of ``planned`` samples. ``checks`` are the contract's statuses by feature."""

    planned: int
    judged: int
    score: float | None = None
    values: Mapping[str, float | None] = {}
    checks: Mapping[str, str] = {}


class VendorResult(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one vendor. ``measured`` says over how many records each rank metric was taken (f1: pairs,
    schema_accuracy: responses); ``failures`` counts records by kind. ``place`` is by ``irf``, without a comparison by
    the mean score of the evaluations; ties share it. ``cached_share`` is the cached share of all input tokens,
    ``input_price_usd`` the price of a million input tokens at it."""

    label: str
    vendor: str
    model_id: str
    provider: str | None = None
    is_baseline: bool = False
    verdict: Verdict = Verdict("not_tested", "not judged yet")
    place: float | None = None
    irf: float | None = None
    f1: float | None = None
    success_rate: float | None = None
    schema_accuracy: float | None = None
    avg_tokens: float | None = None
    avg_ttft_ms: float | None = None
    tps: float | None = None
    cached_share: float | None = None
    input_price_usd: float | None = None
    counts: TriggerCounts | None = None
    measured: Mapping[str, int] = {}
    intervals: Mapping[str, tuple[float, float]] = {}
    planned: int = 0
    recorded: int = 0
    succeeded: int = 0
    failures: Mapping[str, int] = {}
    suites: Mapping[str, SuiteResult] = {}

    def metric(self, name: str) -> float | None:
        """The rank metric of that name; of an evaluation's name its main score, None where it was not asked."""
        if name in self.suites:
            return self.suites[name].score
        found: float | None = getattr(self, name, None)
        return found


class ModelResult(msgspec.Struct, frozen=True, kw_only=True):
    """The vendors of one model, best place first, and the advice. ``unranked`` are metrics by which nobody is ranked,
    because this machine was too busy to time a vendor."""

    baseline: str | None
    choice: Choice
    vendors: Mapping[str, VendorResult]
    unranked: tuple[str, ...] = ()


class GateResult(msgspec.Struct, frozen=True):
    """One gate for one vendor: ``text`` as the user wrote it, the outcome, and the measured value with its interval."""

    model: str
    vendor: str
    text: str
    outcome: GateOutcome
    value: float | str | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A scored run. ``settings`` are those of scoring and sending that decide the figures; ``dataset`` lists the
    defects of the samples themselves, ``not_run`` what an evaluation could not ask, with the reason."""

    schema: int = 2
    run: str
    complete: bool
    settings: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    not_run: Mapping[str, str] = {}
    models: Mapping[str, ModelResult] = {}
    gates: tuple[GateResult, ...] = ()
