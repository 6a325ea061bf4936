"""The figures of every vendor, from the frames of a run; docs/metrics.md says which records each is taken over.

Records that were never sent to the vendor (``UNCOUNTED`` charges) and answers of another provider than the pinned one
are left out. Feature checks and probes join none of these figures; checks have a result of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from msgspec import structs

from vendor_verifier.records.failures import UNCOUNTED
from vendor_verifier.records.manifest import BaselineF1, EntryInfo, Manifest, SchemaPolicy, Undecided
from vendor_verifier.records.results import Choice, Finding, ModelResult, Report, SuiteResult, VendorResult
from vendor_verifier.records.sample import Samples
from vendor_verifier.scoring.answer import MOST_DISCARDED, AnswerTexts, EntryKey
from vendor_verifier.scoring.f1 import Decisions, Triggers, compared_repetitions, decisions, triggers_of
from vendor_verifier.scoring.intervals import intervals
from vendor_verifier.scoring.metrics import RANK_METRICS, irf
from vendor_verifier.scoring.money import Money
from vendor_verifier.scoring.set_aside import charge_access, set_misrouted_aside, withhold_speeds
from vendor_verifier.scoring.table import Frames, has_word, judged_calls
from vendor_verifier.suites import OF_CALLS, TRIGGER, is_diagnostic, suite_kind
from vendor_verifier.text import counted, listed

# Of a check's outcomes the worst counts: one broken answer outweighs kept ones, and a finding outweighs none.
_WORST_FIRST = ("broken", "kept", "not_offered", "not_measurable")


@dataclass(frozen=True, kw_only=True)
class ScorePlan:
    """What was planned and how it is scored.

    ``complete`` True: no more records will come, so that a missing one is lost; False: the run was interrupted; None:
    it was interrupted if any record is missing. ``imported``: a missing record was in no file, which is not a failure.
    """

    entries: tuple[EntryInfo, ...]
    samples: Mapping[str, Samples]
    repeat: int = 1
    complete: bool | None = None
    imported: bool = False
    undecided: Undecided = "missed"
    schema_policy: SchemaPolicy = "lenient"
    baseline_f1: BaselineF1 = "fixed"
    rank_metrics: tuple[str, ...] = RANK_METRICS
    # The column of TTFT that ranks.
    ttft: str = "ttft_ms"

    def repeat_of(self, entry: EntryInfo) -> int:
        """The planned repetitions of an entry."""
        return self.repeat if entry.repeat is None else entry.repeat

    @property
    def ranked(self) -> int:
        """The number of samples of the evaluations that rank."""
        return sum(len(samples) for suite, samples in self.samples.items() if not is_diagnostic(suite))


@dataclass(frozen=True)
class Scored:
    """The results, without verdicts.

    ``records`` are the rows of ``Frames.records`` as figures read them, with a column ``misrouted``: served by another
    provider than the pinned one. ``charge`` is ``us`` also where a vendor refused our key or credit for everything, and
    ``vendor`` of what was not sent because it was down. Speeds that were withheld are missing.
    """

    models: dict[str, ModelResult]
    complete: bool
    warnings: list[str]
    records: pd.DataFrame


@dataclass(frozen=True)
class ScoredRun:
    """Everything that renderers read.

    ``records`` are those of :class:`Scored`, ``attempts``, ``evaluations`` and ``texts`` those of :class:`Frames`.
    ``findings`` are all that were made, worst first; the report holds the worst of each facet. ``money`` is by (model,
    label).
    """

    manifest: Manifest
    report: Report
    records: pd.DataFrame
    attempts: pd.DataFrame
    evaluations: pd.DataFrame
    samples: Mapping[str, Samples]
    texts: AnswerTexts
    findings: tuple[Finding, ...] = ()
    money: Mapping[EntryKey, Money] = field(default_factory=dict)


class _Entry(NamedTuple):
    """One entry's rows: those of ranked evaluations, misrouted ones included (``every``) or not (``rows``), and those
    of checks and probes (``diagnostics``). ``charged`` marks the rows that say something of the vendor, ``planned``
    counts those of ranked evaluations, and ``lost_count``: a row that is missing is a failure."""

    info: EntryInfo
    every: pd.DataFrame
    rows: pd.DataFrame
    charged: pd.Series[bool]
    diagnostics: pd.DataFrame
    planned: int
    lost_count: bool


class _Time(NamedTuple):
    """A time's figure over ``n`` rows; ``discarded`` are those that our lateness spoilt."""

    value: float | None
    n: int
    discarded: int


def score_models(frames: Frames, plan: ScorePlan) -> Scored:
    """The results of every model, best vendor first, over the frames of its records."""
    baselines = {info.model: info.label for info in reversed(plan.entries) if info.is_baseline}
    records = frames.records.assign(misrouted=False)
    found = records.groupby(["model", "label"], observed=True).indices
    places = {info.key: found.get(info.key, np.array([], int)) for info in plan.entries}
    warnings = set_misrouted_aside(records, places, plan.entries)
    charge_access(records, places)
    withheld = withhold_speeds(records, places, baselines)
    warnings += [f"{model}: TPS of {label} was not measured: {why}" for (model, label), why in withheld.items()]
    complete = plan.complete
    if complete is None:
        each = sum(map(len, plan.samples.values()))
        planned = {info.key: plan.repeat_of(info) * each if info.begun is None else info.begun for info in plan.entries}
        complete = all(len(places[key]) == count for key, count in planned.items())
    entries = {}
    are_diagnostics = records["suite"].map(is_diagnostic).astype(bool)
    for info in plan.entries:
        own = records.iloc[places[info.key]]
        every, diagnostics = own[~are_diagnostics[own.index]], own[are_diagnostics[own.index]]
        rows = every[~every["misrouted"]]
        entries[info.key] = _Entry(
            info=info,
            every=every,
            rows=rows,
            charged=~rows["charge"].isin(UNCOUNTED),
            diagnostics=diagnostics,
            planned=plan.repeat_of(info) * plan.ranked if info.begun is None else info.begun - len(diagnostics),
            lost_count=complete and not plan.imported and len(rows) > 0,
        )
    keys = ["model", "label", "suite"]
    values = frames.evaluations.join(records[[*keys, "misrouted", "charge"]], on="record")
    values = values[~values["misrouted"].astype(bool) & ~values["charge"].isin(UNCOUNTED)]
    sums = values.groupby([*keys, "name"], observed=True)["value"].agg(["sum", "count"])
    samples = list(plan.samples[TRIGGER].ids) if TRIGGER in plan.samples else []
    models: dict[str, ModelResult] = {}
    for model in dict.fromkeys(info.model for info in plan.entries):
        own_entries = {label: entry for (name, label), entry in entries.items() if name == model}
        expected = baselines.get(model)
        times = {label: _times(entry, plan.ttft) for label, entry in own_entries.items()}
        triggers: dict[str, Triggers] = {}
        if expected is not None and samples:
            decided = {label: _decisions(plan, entry, samples) for label, entry in own_entries.items()}
            triggers = triggers_of(decided, expected, plan.undecided, against_itself=plan.baseline_f1 == "self")
        vendors = [
            _vendor(plan, entry, times[label], triggers.get(label), sums, expected)
            for label, entry in own_entries.items()
        ]
        spoilt = {name for found in times.values() for name, time in found.items() if time.discarded and not time.n}
        lost = tuple(sorted(spoilt))
        warnings += [*_late_warnings(model, times), *_unread_calls(own_entries.values())]
        placed = {vendor.label: vendor for vendor in _placed(vendors, plan.rank_metrics, lost)}
        result = ModelResult(baseline=expected, choice=Choice("undecided"), vendors=placed, unranked=lost)
        ranked = records[(records["model"] == model) & ~are_diagnostics & ~records["misrouted"]]
        spans = intervals(result, ranked, plan.undecided, plan.schema_policy)
        placed = {label: structs.replace(each, intervals=spans.get(label, {})) for label, each in placed.items()}
        models[model] = structs.replace(result, vendors=placed)
    return Scored(models, complete, warnings, records)


def _times(entry: _Entry, ttft: str) -> dict[str, _Time]:
    """Mean TTFT, and TPS as a ratio of sums; None where too many rows were discarded for the rest to say anything."""
    rows, found = entry.rows, {}
    first, seconds = rows[ttft].dropna(), rows["decode_s"].dropna()
    for name, column, value, n in (
        ("avg_ttft_ms", ttft, first.mean(), len(first)),
        ("tps", "decode_s", rows["tokens_after"].sum() / (seconds.sum() or 1.0), len(seconds)),
    ):
        late = int(has_word(rows["discarded"], column).sum())
        is_lost = late > MOST_DISCARDED * (late + n)
        found[name] = _Time(None, 0, late) if is_lost or not n else _Time(float(value), n, late)
    return found


def _vendor(
    plan: ScorePlan,
    entry: _Entry,
    times: Mapping[str, _Time],
    triggers: Triggers | None,
    sums: pd.DataFrame,
    baseline: str | None,
) -> VendorResult:
    info, rows = entry.info, entry.rows
    succeeded, uncharged = int(rows["ok"].sum()), int((~entry.charged).sum())
    whole = entry.planned - (len(entry.every) - len(rows)) if entry.lost_count else len(rows)
    # A vendor that refused everything has rows, and none of them is charged to it.
    asked = whole - uncharged if entry.charged.any() else 0
    valid, judged = judged_calls(rows["classes"], plan.schema_policy)
    tokens = (rows["input_tokens"] + rows["output_tokens"]).dropna()
    # Of all answers that report both, also those of probes.
    cache = pd.concat([entry.every, entry.diagnostics])[["input_tokens", "cached_tokens"]].dropna()
    took, cached = float(cache["input_tokens"].sum()), cache["cached_tokens"].clip(upper=cache["input_tokens"]).sum()
    suites = _suites(plan, entry, sums)
    failures = rows["failure"].value_counts()
    return VendorResult(
        label=info.label,
        vendor=info.vendor,
        model_id=info.model_id,
        provider=info.provider,
        is_baseline=info.label == baseline,
        f1=None if triggers is None else triggers.f1,
        success_rate=succeeded / asked if asked else None,
        schema_accuracy=float(valid.sum() / judged.sum()) if judged.sum() else None,
        avg_tokens=float(tokens.mean()) if len(tokens) else None,
        avg_ttft_ms=times["avg_ttft_ms"].value,
        tps=times["tps"].value,
        cached_share=float(cached) / took if took else None,
        counts=None if triggers is None else triggers.counts,
        measured={
            "f1": 0 if triggers is None else triggers.compared,
            "success_rate": asked,
            "schema_accuracy": int((judged > 0).sum()),
            "avg_tokens": len(tokens),
            **{name: time.n for name, time in times.items()},
            **{name: suite.judged for name, suite in suites.items()},
        },
        planned=entry.planned,
        recorded=len(rows),
        succeeded=succeeded,
        failures={str(kind): int(count) for kind, count in failures.items() if count},
        suites=suites,
    )


def _decisions(plan: ScorePlan, entry: _Entry, samples: list[str]) -> Decisions:
    """The entry's decisions; where the number of repetitions was not planned, no sample is missing."""
    info = entry.info
    numbers = compared_repetitions(plan.repeat_of(info), info.begun, plan.ranked)
    own = entry.every[entry.every["suite"] == TRIGGER]
    counts = ~own["misrouted"] & ~own["charge"].isin(UNCOUNTED)
    is_failed = entry.lost_count and info.begun is None
    return decisions(own.assign(counts=counts), samples, numbers, missing_is_failed=is_failed)


def _suites(plan: ScorePlan, entry: _Entry, sums: pd.DataFrame) -> dict[str, SuiteResult]:
    """The results in the evaluations that score by a mean; each lost row counts 0 in it."""
    info, found = entry.info, {}
    for suite, samples in plan.samples.items():
        kind = suite_kind(suite)
        if kind is None or kind.ranks_by is None:
            continue
        planned = len(samples) * plan.repeat_of(info)
        if kind.diagnostic:
            if len(entry.diagnostics):
                found[suite] = _checks(entry, suite, samples, planned)
            continue
        if not len(entry.rows):
            continue
        recorded = int((entry.every["suite"] == suite).sum())
        planned = planned if info.begun is None else recorded
        lost = planned - recorded if entry.lost_count else 0
        key: Any = (info.model, info.label, suite)
        values = {
            str(name): float(row["sum"] / (row["count"] + lost)) if row["count"] else None
            for name, row in (sums.loc[key].iterrows() if key in sums.index else ())
        }
        judged = int(((entry.rows["suite"] == suite) & entry.charged).sum())
        found[suite] = SuiteResult(planned, judged, values.get(kind.ranks_by), values)
    return found


def _checks(entry: _Entry, suite: str, samples: Samples, planned: int) -> SuiteResult:
    """``kept`` = kept ÷ (kept + broken). A row that another provider than the pinned one served measures nothing."""
    names = {sample.id: str(sample.tags.get("check", sample.id)) for sample in samples}
    rows = entry.diagnostics[entry.diagnostics["suite"] == suite]
    statuses = rows["status"].astype(object).where(~rows["misrouted"]).fillna("not_measurable")
    found: dict[str, str] = dict.fromkeys(names.values(), "not_measurable")
    for name, part in statuses.groupby(rows["sample"].astype(object).map(names)):
        found[str(name)] = next(status for status in _WORST_FIRST if (part == status).any())
    kept, broken = int((statuses == "kept").sum()), int((statuses == "broken").sum())
    share = kept / (kept + broken) if kept + broken else None
    return SuiteResult(planned, kept + broken, share, {"kept": share}, found)


def _placed(vendors: list[VendorResult], rank_metrics: tuple[str, ...], lost: Sequence[str]) -> Iterator[VendorResult]:
    """The vendors with IRF and place, best first.

    Where no vendor was compared with a baseline the mean score of the evaluations orders them, more of them before
    fewer, and nobody has an IRF: a second order would contradict the first. Nobody has a place where nobody answered,
    or where the baseline did not.
    """
    scores = {
        vendor.label: [
            suite.score for name, suite in vendor.suites.items() if not is_diagnostic(name) and suite.score is not None
        ]
        for vendor in vendors
    }
    found: dict[str, float] = {}
    order: dict[str, tuple[float, ...]] = {}
    order |= {label: (len(own), sum(own) / len(own)) for label, own in scores.items() if own}
    if not order or any(vendor.counts is not None for vendor in vendors):
        names = [name for name in rank_metrics if name not in lost]
        found = irf({vendor.label: {name: vendor.metric(name) for name in names} for vendor in vendors})
        order = {label: (value,) for label, value in found.items() if value}
    answered = any(vendor.succeeded for vendor in vendors)
    answered = answered and all(vendor.succeeded for vendor in vendors if vendor.is_baseline)
    for vendor in sorted(vendors, key=lambda vendor: order.get(vendor.label, (-1.0,)), reverse=True):
        own, value = order.get(vendor.label), found.get(vendor.label) or None
        place = None if own is None else 1.0 + sum(other > own for other in order.values())
        yield structs.replace(vendor, place=place, irf=value) if answered else vendor


def _late_warnings(model: str, times: Mapping[str, Mapping[str, _Time]]) -> Iterator[str]:
    """One sentence where times were discarded: whose, how many, and whose figures are missing for it."""
    rows = {label: max(time.discarded for time in found.values()) for label, found in times.items()}
    lost = [label for label, found in times.items() if any(time.discarded and not time.n for time in found.values())]
    if any(rows.values()):
        names = ", ".join(f"{label} {count}" for label, count in rows.items() if count)
        text = f"{model}: this machine was late while answers came in, so times were discarded: {names}"
        if lost:
            text += f"; {listed(lost)} lost more than {MOST_DISCARDED * 100:.0f} % of them, so no vendor is ranked by "
            text += "these times. Run again on a less busy machine, or with fewer requests at a time"
        yield text


def _unread_calls(entries: Iterable[_Entry]) -> Iterator[str]:
    """One sentence for each vendor and evaluation of tool calls whose answers held no call that was read."""
    for entry in entries:
        for suite in entry.rows["suite"].unique():
            rows = entry.rows[entry.rows["ok"] & (entry.rows["suite"] == suite)]
            if suite not in OF_CALLS or (rows["decision"] == "called").any():
                continue
            missed = rows[(rows["decision"] == "not_called") & (rows["score"] < 1)]
            start = f"{entry.info.model}: {entry.info.label}: {suite} read no call in {counted(len(rows), 'answer')}"
            for where, other in (("calls_only_in_text", "text"), ("calls_only_native", "native")):
                holding = int(has_word(missed["anomalies"], where).sum())
                if holding:
                    yield f"{start}; {holding} hold {other} calls: read them with --answer-format {other}"
