"""The values of scoring: a sample's score, a vendor's figures, a model's ranking and the report that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from vendor_verifier.records.details import ReportDetails
from vendor_verifier.records.event import Amount
from vendor_verifier.records.judgement import ModelVerdict
from vendor_verifier.records.manifest import NO_MANIFEST, Manifest, SchemaPolicy, Undecided
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.verdict import Advice, RankedBy

Decision = Literal["called", "not_called", "undecided"]
CallClass = Literal[
    "valid", "invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments", "schema_unusable",
    "valid_in_dialect", "not_judged",
]  # fmt: skip
FeatureStatus = Literal["kept", "broken", "not_offered", "not_measurable"]


class CallVerdict(msgspec.Struct, frozen=True):
    """The verdict on one tool call's arguments.

    ``empty_arguments`` marks ``""`` sent to a known tool without required arguments, ``valid_in_dialect`` arguments
    that fit the schema only as its dialect means it: both valid when lenient, invalid when strict. ``not_judged``:
    judging would have cost too much. ``pointer`` is the JSON pointer of the first violation inside the arguments.
    """

    tool: str
    verdict: CallClass
    message: str | None = None
    pointer: str | None = None


class Score(msgspec.Struct, frozen=True):
    """One suite's judgement of one record. ``values`` are numbers in [0, 1] or ``None`` (not measurable)."""

    suite: str
    decision: Decision = "undecided"
    calls: tuple[CallVerdict, ...] = ()
    values: Mapping[str, Amount | None] = {}
    details: Mapping[str, Any] = {}
    anomalies: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """The words of the evaluation on why it scores as it does; None where it has none."""
        if not self.details:
            return None
        told = (self.details.get(key) for key in ("error", "reason", "details"))
        texts = ("; ".join(map(str, each)) if isinstance(each, (list, tuple)) else each for each in told)
        return next((text for text in texts if isinstance(text, str) and text), None)


Withheld = Literal["stream_faked", "tokens_not_shown"]
"""The reason why a speed is not measurable at a vendor."""


class Distribution(msgspec.Struct, frozen=True):
    """A summary of ``n`` measured numbers; every field but ``n`` is ``None`` when nothing was measured.

    Percentiles interpolate linearly between closest ranks (NumPy's default, Hyndman–Fan type 7). ``stalled`` rows are
    not among them because we were late ourselves; where these are too many to say anything of the rest, ``n`` is 0.
    """

    n: int
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    min: float | None = None
    max: float | None = None
    stalled: int = 0


class TriggerCounts(msgspec.Struct, frozen=True):
    """The confusion matrix of triggering against the baseline, and the F1 it gives.

    ``dropped_baseline``: pairs whose baseline row failed or is missing; ``dropped_vendor``: pairs left out because the
    vendor was undecided and the policy is ``exclude``; ``not_sent``: the vendor has no record (interrupted run).
    ``failed_as_missed``: those among ``fn`` that are no answer but a failure (policy ``missed``), whatever the baseline
    decided, so ``tp + fn`` is the number of the baseline's calls only where it is zero. With ``--repeat`` the counts
    are summed over ``pairs_of_runs`` ordered pairs and ``f1`` is the mean of their F1s. ``measured_on_itself`` marks a
    baseline whose F1 is no gift.
    """

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0
    dropped_baseline: int = 0
    dropped_vendor: int = 0
    not_sent: int = 0
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    pairs_of_runs: int = 1
    failed_as_missed: int = 0
    measured_on_itself: bool = False


class SchemaCounts(msgspec.Struct, frozen=True):
    """Tool-call argument verdicts of one vendor.

    ``classes`` counts calls per class. ``accuracy`` and ``per_response`` follow ``policy``; both policies are kept so
    that a reader can see what the choice costs. ``strict`` is K2-Vendor-Verifier's convention and divides by all
    ``calls``: it charges ``empty_arguments``, ``valid_in_dialect`` and ``schema_unusable`` to the vendor. ``lenient``
    charges none of them: the first two are valid, the third is left out of numerator and denominator. ``not_judged`` is
    left out in both. ``per_response`` is K2-Vendor-Verifier's unit: responses whose every call is valid ÷ responses
    with calls. ``tool_call_error_rate`` is OpenRouter's (see :mod:`vendor_verifier.metrics.outcome`), over
    ``tool_requests``.
    """

    policy: SchemaPolicy
    calls: int
    classes: Mapping[CallClass, int]
    accuracy: float | None
    accuracy_lenient: float | None
    accuracy_strict: float | None
    per_response: float | None
    per_response_lenient: float | None
    per_response_strict: float | None
    valid_lenient: int = 0
    valid_strict: int = 0
    responses: int = 0
    tool_requests: int = 0
    tool_call_error_rate: float | None = None


class FeatureCheck(msgspec.Struct, frozen=True):
    """The outcome of one check of the contract for one vendor.

    With ``--repeat``, ``status`` is ``broken`` if it ever was, else the first of kept, not offered, not measurable that
    occurs; ``evidence`` is of the first record with that status and ``statuses`` counts them all.
    """

    status: FeatureStatus
    evidence: str
    statuses: Mapping[FeatureStatus, int] = {}


class SuiteScore(msgspec.Struct, frozen=True):
    """One vendor's result in one evaluation whose score is a mean over samples.

    ``values`` are means of what the suite measures, over the ``measured`` records that have each; a failed answer
    counts with 0, so failing never raises a mean. ``groups`` are the same means per group, keyed ``category``,
    ``difficulty`` or ``call_type``, then the group's name. ``problems`` counts the reasons why samples scored
    badly. ``checks`` are by name, for the suite that examines features; there ``judged`` counts the records that
    showed anything.
    """

    planned: int
    judged: int
    values: Mapping[str, float | None]
    measured: Mapping[str, int]
    groups: Mapping[str, Mapping[str, Mapping[str, float | None]]] = {}
    problems: Mapping[str, int] = {}
    checks: Mapping[str, FeatureCheck] = {}


class PlayedTask(msgspec.Struct, frozen=True):
    """One evaluation of a run as scoring sees it: which samples were planned. ``main`` names the value that joins the
    ranking table under the suite's name; ``None`` for the trigger suite. Records of a task that stands ``apart``
    provoke failures on purpose: they join no figure of the vendor but the suite's own."""

    suite: str
    samples: Sequence[Sample]
    main: str | None = None
    apart: bool = False


class Goodput(msgspec.Struct, frozen=True):
    """The number of one vendor's requests that kept every SLO.

    Of ``asked``, ``good`` did; ``failed`` never came, ``unmeasured`` broke none that could be measured, the rest broke
    one. ``kept``: SLO → requests that kept it. ``stalled`` were asked besides and are left out, because only our own
    lateness kept them from being measured. ``per_s`` is the share of all that was sent in ``seconds``, from the first
    send to the last end.
    """

    asked: int
    good: int
    unmeasured: int
    failed: int
    kept: Mapping[str, int]
    share: float | None = None
    seconds: float | None = None
    per_s: float | None = None
    stalled: int = 0


class PaceOverTime(msgspec.Struct, frozen=True):
    """A vendor's load in equal stretches of ``step_s`` from its first request to its last end: requests in flight on
    average, requests begun, answers and their output tokens a second (``None``: no answer reports tokens)."""

    step_s: float
    in_flight: tuple[float, ...]
    requests_per_s: tuple[float, ...]
    answers_per_s: tuple[float, ...]
    tokens_per_s: tuple[float, ...] | None


class Pace(msgspec.Struct, frozen=True):
    """The load that a vendor was asked at, from its first request until its last sample had been sent once.

    ``in_flight`` requests at a time on average, of ``places`` that were asked for (``None`` at a stated rate), and
    ``answers_per_s`` over those ``seconds``; where vendors took turns, or after a pause, only while it was asked.
    ``requests_per_s`` were begun and ``tokens_per_s`` reported as output in that time; ``peak_in_flight`` is the most
    at one moment of the whole run, ``over_time`` the course of all of them, where there are requests enough for one.
    """

    in_flight: float
    answers_per_s: float
    seconds: float
    places: int | None = None
    requests_per_s: float | None = None
    tokens_per_s: float | None = None
    peak_in_flight: int | None = None
    over_time: PaceOverTime | None = None


class RegionScore(msgspec.Struct, frozen=True):
    """One vendor as seen from one region; ``region`` is ``None`` for workers that name none.

    ``asked`` are the records made there that say something of the vendor, ``succeeded`` of them did. A record that was
    lost belongs to no region.
    """

    region: str | None
    asked: int
    succeeded: int
    success_rate: float | None
    ttft_ms: Distribution
    e2e_ms: Distribution


class VendorScore(msgspec.Struct, frozen=True):
    """All figures of one entry of one model.

    ``metrics`` holds the rank metrics by their public names (``f1``, ``success_rate``, ``schema_accuracy``,
    ``avg_tokens``, ``avg_ttft_ms``, ``tps`` and any suite score); ``measured`` says over how many records each was
    taken (``f1``: pairs; ``schema_accuracy``: responses; ``tps``: requests), ``stalled`` how many records each lost to
    our own lateness (``avg_ttft_ms``, ``tps``). ``planned`` is what should have been sent; ``succeeded`` counts
    records, after retries; ``resent`` of the ``attempts`` were sent twice, because a kept connection ended under them.
    ``regions`` are by name, empty where no worker named one. ``withheld`` are metrics of single requests, by their
    names in ``distributions``, that are not measurable at this vendor, with the reason.
    """

    label: str
    vendor: str
    model_id: str
    is_baseline: bool
    provider: str | None
    planned: int
    recorded: int
    succeeded: int
    succeeded_first_try: int
    metrics: Mapping[str, float | None]
    measured: Mapping[str, int]
    distributions: Mapping[str, Distribution]
    schema: SchemaCounts
    trigger: TriggerCounts | None = None
    tps_mean: float | None = None
    tps_p50: float | None = None
    e2e_tps: float | None = None
    failures: Mapping[str, int] = {}
    finish_reasons: Mapping[str, int] = {}
    decisions: Mapping[str, int] = {}
    anomalies: Mapping[str, int] = {}
    served_models: Mapping[str, int] = {}
    attempts: int = 0
    resent: int = 0
    irf: float | None = None
    irf_metrics: int = 0
    irf_global: float | None = None
    ranks: Mapping[str, float] = {}
    suites: Mapping[str, SuiteScore] = {}
    goodput: Goodput | None = None
    pace: Pace | None = None
    regions: tuple[RegionScore, ...] = ()
    stalled: Mapping[str, int] = {}
    withheld: Mapping[str, Withheld] = {}

    @property
    def lost(self) -> list[str]:
        """The figures that would rank if our own lateness had left any of their records; none that is withheld."""
        return [
            name
            for name, rows in self.stalled.items()
            if rows and not self.measured[name] and name not in self.withheld
        ]

    @property
    def scores(self) -> dict[str, float]:
        """The main score by evaluation, where it was measured."""
        return {name: score for name in self.suites if (score := self.metrics.get(name)) is not None}

    @property
    def mean_score(self) -> float | None:
        """The mean of the main scores; None where no evaluation was measured."""
        return sum(self.scores.values()) / len(self.scores) if self.scores else None


class ModelScore(msgspec.Struct, frozen=True):
    """The vendors of one model, best first by what they are ranked by."""

    model: str
    baseline: str | None
    vendors: tuple[VendorScore, ...]

    @property
    def unranked(self) -> frozenset[str]:
        """The figures by which no vendor of the model is ranked."""
        return unranked(self.vendors)

    @property
    def ranked_by(self) -> RankedBy:
        """``score`` where vendors were asked for evaluations only and never held against the baseline's decisions."""
        return ranked_by(self.vendors)


def unranked(vendors: Iterable[VendorScore]) -> frozenset[str]:
    """The figures that some vendor lost to our own lateness: were others ranked by them, that one would pay for it."""
    return frozenset(name for each in vendors for name in each.lost)


def ranked_by(vendors: Iterable[VendorScore]) -> RankedBy:
    """The figure that the vendors of a model are ranked by."""
    found = tuple(vendors)
    if any(one.trigger is not None for one in found):
        return "irf"
    return "score" if any(score.values for one in found for score in one.suites.values()) else "irf"


class Report(msgspec.Struct, frozen=True):
    """A scored run, ready for any renderer. ``dataset`` lists the defects of the samples themselves.

    By model ``verdicts`` are what the statistics say and ``advice`` what follows for a buyer; without them, or
    ``details``, a renderer shows less.
    """

    run: str
    models: tuple[ModelScore, ...]
    rank_metrics: tuple[str, ...]
    k: int
    undecided: Undecided
    schema_policy: SchemaPolicy
    samples: int
    repeat: int = 1
    complete: bool = True
    dataset: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    manifest: Manifest = msgspec.field(default_factory=lambda: NO_MANIFEST)
    details: ReportDetails | None = None
    verdicts: Mapping[str, ModelVerdict] = {}
    advice: Mapping[str, Advice] = {}
