"""Runs the levels of a sweep as ordinary runs, one vendor after the other, until a level does not hold.

Level 1, one request at a time, comes first and is sent twice in one run. F1 compares every later answer with the first
of level 1 to the same sample, so it needs no baseline, and the second pass of level 1 shows the vendor's own noise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import structs

from vendor_verifier.gates.thresholds import REQUEST_METRICS, ThresholdError, meets, parse_threshold
from vendor_verifier.pipeline.load_profile import places
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.prices import costs_of
from vendor_verifier.pipeline.run import RunOutcome, run
from vendor_verifier.records.judgement import Threshold
from vendor_verifier.records.plan import Entry, LoadShape, Plan
from vendor_verifier.records.record import Record
from vendor_verifier.records.score import Decision, TriggerCounts, VendorScore
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.budgets import Spending
from vendor_verifier.scoring.trigger_f1 import trigger_counts
from vendor_verifier.suites.trigger import complete_calls, decide

LoadKind = Literal["concurrency", "rate"]
End = Literal["missed", "highest", "not_reached", "client", "stopped", "budget", "interrupted"]

# Every place is used this often at a level; a rate is kept up for this many seconds; level 1 is sent twice.
_USES, _SECONDS, _PASSES = 4, 10, 2
# Below this share of a level the vendor was not under that load.
_REACHED = 0.9
# F1 is lost where it is this far below level 1's own and chance is this unlikely.
_F1_LOSS, _MOST_P = 0.05, 0.01
# Our own lateness matters from this share of the room between level 1 and a limit.
_RELEVANT = 0.1
_METRICS = ("success_rate", "f1", "schema_accuracy", "avg_tokens", *REQUEST_METRICS)


class Sweep(msgspec.Struct, frozen=True):
    """What to send; ``max_requests`` is for each vendor, ``max_cost`` (US dollars) for all together."""

    prepared: Prepared
    by: LoadKind
    levels: Sequence[float]
    limits: Sequence[Threshold]
    folder: Path
    max_requests: int | None
    max_cost: float | None
    progress: Callable[[str], object] | None


class VendorSweep(msgspec.Struct, frozen=True):
    """The sweep of one vendor: ``holds`` is the highest level that holds, None where none does.

    ``levels`` are rows of the table: figures by name, and ``misses`` in words.
    """

    model: str
    label: str
    holds: float | None
    ended_by: End
    summary: str
    levels: list[dict[str, Any]]
    signal_number: int | None


class _Measured(msgspec.Struct, frozen=True):
    """A level as it was scored; ``reference`` are the decisions of its first pass by sample."""

    vendor: VendorScore
    reference: Mapping[str, Decision]
    counts: TriggerCounts
    lag_ms: float | None

    def figure(self, limit: Threshold) -> float | None:
        """The figure that a limit is about."""
        if limit.metric == "f1":
            return self.counts.f1
        if limit.percentile is None and limit.metric in self.vendor.metrics:
            return self.vendor.metrics[limit.metric]
        name = REQUEST_METRICS[limit.metric]
        # One request at a time is due when it is sent.
        found = self.vendor.distributions.get(name) or self.vendor.distributions[name.replace("_from_schedule", "")]
        value: float | None = getattr(found, limit.percentile or "mean")
        return value


def read_limits(slos: Sequence[str], by: LoadKind) -> tuple[Threshold, ...]:
    """The limits of every level; a stated one replaces the usual one on the same metric.

    Raises:
        ThresholdError: the first that does not follow the grammar, or that no level measures.
    """
    stated = [parse_threshold(text) for text in slos]
    for limit in stated:
        if limit.metric not in _METRICS:
            raise ThresholdError(f"--slo {str(limit)!r}: not measured by level; use one of {', '.join(_METRICS)}")
    ttft = "avg_ttft_ms" if by == "concurrency" else "ttft_from_schedule_ms"
    usual = ("success_rate >= 0.99", f"{ttft}.p95 <= 2000", "schema_accuracy >= ceiling - 0.05")
    named = {limit.metric for limit in stated}
    return (*stated, *(limit for limit in map(parse_threshold, usual) if limit.metric not in named))


def sweep_vendors(asked: Sweep) -> list[VendorSweep]:
    """Sweep one vendor after the other; a signal ends all of it.

    Raises:
        ProblemsError: there is a cost limit, and the price of a vendor is not known.
        StorageError: the disk refused a write.
    """
    spending = Spending(max_cost_usd=asked.max_cost, costs=costs_of(asked.prepared.plan))
    found: list[VendorSweep] = []
    for number, entry in enumerate(asked.prepared.plan.entries, 1):
        name = f"{number:02}-{re.sub(r'[^A-Za-z0-9.-]', '_', entry.label)}"
        found.append(_sweep(asked, entry, asked.folder / name, spending))
        if found[-1].signal_number is not None:
            break
    return found


def _sweep(asked: Sweep, entry: Entry, folder: Path, spending: Spending) -> VendorSweep:
    prepared = asked.prepared
    samples = len(prepared.plan.tasks[0].samples)
    # By rate, level 1 is one request at a time, too.
    first_size = 1.0 if asked.by == "concurrency" else None
    uses, unit = (_USES, "in flight") if asked.by == "concurrency" else (_SECONDS, "requests per second")
    repeats = {first_size: _PASSES}
    repeats |= {size: math.ceil(size * uses / samples) for size in asked.levels if size != first_size}
    end: tuple[End, str] = ("highest", "this is the highest level of the sweep")
    first: _Measured | None = None
    levels: list[dict[str, Any]] = []
    holds, sent, signal_number = None, 0, None
    for size, repeat in repeats.items():
        at = "1 in flight" if size is None else f"{size:g} {unit}"
        budgets = {
            "max_requests": None if asked.max_requests is None else max(0, asked.max_requests - sent),
            "max_cost_usd": None if asked.max_cost is None else max(0.0, asked.max_cost - spending.cost_usd),
        }
        plan = structs.replace(_plan(prepared.plan, asked.by, entry, size), repeat=repeat, **budgets)
        place = folder / ("unloaded" if size is None else f"level-{size:g}")
        outcome = run(replace(prepared, plan=plan, options=replace(prepared.options, output_dir=place)))
        records = list(outcome.folder.read_records(lambda _line, _reason: None))
        for attempt in (attempt for record in records for turn in record.turns for attempt in turn.attempts):
            spending.pay(entry, attempt, 0)
        seen = _measured(outcome, records, first)
        missed = [miss for limit in asked.limits if (miss := _missed(limit, seen, first or seen)) is not None]
        if first is not None and _loses_f1(seen, first):
            missed.append((f"F1 {seen.counts.f1:.2f} (level 1: {first.counts.f1:.2f})", False))
        levels.append(_row(size, seen, [words for words, _ in missed]))
        sent += seen.vendor.recorded
        if asked.progress is not None:
            asked.progress(f"{plain(entry.label)}: {at}: {seen.vendor.recorded} requests")
        signal_number = outcome.signal_number
        if (ended := _ended(outcome, missed, at, is_first=first is None)) is not None:
            end = ended
            break
        reached = levels[-1]["in_flight" if asked.by == "concurrency" else "requests_per_s"]
        if first is not None and size is not None and reached is not None and reached < _REACHED * size:
            # Held back by the entry's budgets or the vendor's refusals; else our own machine sent too slowly.
            is_held = entry.requests_per_minute or entry.tokens_per_minute or seen.vendor.failures
            words = "" if is_held else "; this machine sent too slowly"
            end = ("not_reached" if is_held else "client", f"{at} was not reached ({reached:.1f} on average){words}")
            break
        first, holds = first or seen, size
    held = "holds no level" if holds is None else f"holds {holds:g} {unit}"
    words = f"{entry.model} / {entry.label} {held}; {end[1]}."
    return VendorSweep(entry.model, entry.label, holds, end[0], words, levels, signal_number)


def _plan(plan: Plan, by: LoadKind, entry: Entry, size: float | None) -> Plan:
    load = LoadShape(request_rate=size if by == "rate" else None)
    entry = structs.replace(entry, concurrency=None if load.is_open else int(size or 1), is_baseline=False)
    return structs.replace(
        plan, entries=(entry,), load=load, request_concurrency=places(load, entry.concurrency, [entry])
    )


def _ended(
    outcome: RunOutcome, missed: Sequence[tuple[str, bool]], at: str, *, is_first: bool
) -> tuple[End, str] | None:
    """Why the sweep ends after this level; None where it kept all limits."""
    if outcome.signal_number is not None:
        return "interrupted", f"the sweep was interrupted at {at}"
    if outcome.limit is not None:
        return "budget", f"a budget ended the sweep at {at}: {outcome.limit}"
    # A vendor that cannot be reached under load misses its success rate.
    for reason in outcome.report.manifest.stopped.values() if is_first else ():
        return "stopped", f"the vendor was stopped: {reason}"
    if not missed:
        return None
    words = "; ".join(limit for limit, _ in missed)
    if all(ours for _, ours in missed):
        return "client", f"at {at} this machine was too slow: {words}. Use an idle machine"
    return "missed", f"at {at} it misses {words}"


def _measured(outcome: RunOutcome, records: Sequence[Record], first: _Measured | None) -> _Measured:
    """The run of a level; the passes of level 1 after its first are compared with that."""
    runs: dict[int, dict[str, Decision]] = {}
    for record in records:
        response = record.final.response if record.final is not None and record.succeeded else None
        decision = "undecided" if response is None else decide(response, complete_calls(response)[0])
        runs.setdefault(record.repetition, {})[record.sample] = decision
    passes = [runs[repetition] for repetition in sorted(runs)] or [{}]
    reference, own = (passes[0], passes[1:]) if first is None else (first.reference, passes)
    manifest = outcome.report.manifest
    lags = [None if manifest.event_loop is None else manifest.event_loop.p99_ms]
    lags += [load.lag_p99_ms for load in (manifest.load or {}).values() if not load.held_back]
    return _Measured(
        vendor=outcome.report.models[0].vendors[0],
        reference=reference,
        counts=trigger_counts(reference, [reference], own, "exclude"),
        lag_ms=max((lag for lag in lags if lag is not None), default=None),
    )


def _row(size: float | None, seen: _Measured, misses: Sequence[str]) -> dict[str, Any]:
    """The level in the table; by rate TTFT counts from the moment when a request was due."""
    vendor, pace = seen.vendor, seen.vendor.pace
    ttft = vendor.distributions.get("ttft_from_schedule_ms") or vendor.distributions["ttft_ms"]
    return {
        "level": size,
        "requests": vendor.recorded,
        "success_rate": vendor.metrics.get("success_rate"),
        "ttft_p50_ms": ttft.p50,
        "ttft_p95_ms": ttft.p95,
        "tps": vendor.metrics.get("tps"),
        "in_flight": None if pace is None else pace.in_flight,
        "requests_per_s": None if pace is None else pace.requests_per_s,
        "f1": seen.counts.f1,
        "schema_accuracy": vendor.metrics.get("schema_accuracy"),
        "lag_p99_ms": seen.lag_ms,
        "misses": misses,
    }


def _missed(limit: Threshold, seen: _Measured, first: _Measured) -> tuple[str, bool] | None:
    """A missed limit in words and whether our own lateness explains it; None where the limit is kept."""
    value, unloaded = seen.figure(limit), first.figure(limit)
    if limit.ceiling and (value is None or unloaded is None):
        # No tool was called, so there is nothing to compare.
        return None
    if value is None:
        return f"{limit} (not measured)", limit.metric in seen.vendor.lost
    bound = limit.number + (unloaded or 0.0) * limit.ceiling
    if meets(structs.replace(limit, number=bound, ceiling=False), value):
        return None
    room = bound - unloaded if unloaded is not None and unloaded < bound else math.inf
    is_ours = limit.metric.endswith("_ms") and (seen.lag_ms or 0.0) >= min(_RELEVANT * room, value - bound)
    return f"{limit} ({value:.4g})", is_ours


def _loses_f1(seen: _Measured, first: _Measured) -> bool:
    """Whether F1 is below level 1's own and more decisions changed than by chance (Fisher's exact test)."""
    own, unloaded = seen.counts, first.counts
    if own.f1 is None or unloaded.f1 is None or own.f1 >= unloaded.f1 - _F1_LOSS:
        return False
    from scipy.stats import fisher_exact

    changed, unchanged = ([each.fp + each.fn, each.tp + each.tn] for each in (own, unloaded))
    return bool(fisher_exact([changed, unchanged], alternative="greater").pvalue <= _MOST_P)
