"""Runs the levels of a sweep as ordinary runs, one vendor after the other, until a level does not hold.

Level 1 comes first and is sent twice in one run. F1 compares every later answer with the first of level 1 to the same
sample, so it needs no baseline, and the second pass of level 1 shows the vendor's own noise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import pandas as pd
from msgspec import structs

from vendor_verifier.findings.gates import REQUEST_METRICS, Gate, GateError, meets, parse_gate
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.run import RunOutcome, run
from vendor_verifier.records.plan import Entry, LoadShape
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.formats import finite
from vendor_verifier.scoring.breakdowns import pace
from vendor_verifier.scoring.f1 import Decisions, Triggers, decisions, trigger_counts
from vendor_verifier.scoring.metrics import REQUEST_VALUES

End = Literal["missed", "highest", "not_reached", "client", "stopped", "budget", "interrupted"]

# Every place is used this often at a level; level 1 is sent twice.
_USES, _PASSES = 4, 2
# Below this share of a level the vendor was not under that load.
_REACHED = 0.9
# F1 or schema accuracy is lost where it is this far below level 1's own; F1 where chance is this unlikely, too.
_LOSS, _MOST_P = 0.05, 0.01
_SHARES = ("success_rate", "f1", "schema_accuracy")


class VendorSweep(msgspec.Struct, frozen=True):
    """The sweep of one vendor: ``holds`` is the highest level that holds, None where none does.

    ``levels`` are rows of the table: figures by name, and ``misses`` in words.
    """

    model: str
    label: str
    holds: int | None
    ended_by: End
    summary: str
    levels: list[dict[str, Any]]
    signal_number: int | None


class _Measured(msgspec.Struct, frozen=True):
    """A level as it was scored: its row of the table, its records, and the first pass of level 1, which F1 needs."""

    row: dict[str, Any]
    records: pd.DataFrame
    samples: list[str]
    reference: Decisions
    triggers: Triggers
    is_lost: bool

    def missed(self, limit: Gate) -> tuple[str, bool] | None:
        """A missed limit in words, and whether our own lateness explains it; None where the limit is met."""
        if limit.metric in _SHARES:
            value, is_lost = self.row[limit.metric], False
        elif limit.metric == "tps" and limit.percentile is None:
            # Of all answers together, as in the table.
            value, is_lost = self.row["tps"], self.is_lost
        else:
            values, is_lost = REQUEST_VALUES[limit.metric][0](self.records).dropna(), self.is_lost
            of_all = values.mean() if limit.percentile is None else values.quantile(limit.percentile / 100)
            value = None if is_lost or not len(values) else float(of_all)
        if value is None:
            return f"{limit} (not measured)", is_lost
        if meets(limit, pd.Series([value])).iloc[0]:
            return None
        is_ours = limit.metric.endswith("_ms") and (self.row["lag_p99_ms"] or 0.0) >= value - limit.limit
        return f"{limit} ({value:.4g})", is_ours

    def losses(self, first: _Measured) -> Iterator[tuple[str, bool]]:
        """What level 1 did better: schema accuracy, and F1 where more decisions changed than by chance (Fisher)."""
        valid, valid_first = self.row["schema_accuracy"], first.row["schema_accuracy"]
        if valid is not None and valid_first is not None and valid < valid_first - _LOSS:
            yield f"schema accuracy {valid:.2f} (level 1: {valid_first:.2f})", False
        f1, f1_first = self.triggers.f1, first.triggers.f1
        if f1 is None or f1_first is None or f1 >= f1_first - _LOSS:
            return
        from scipy.stats import fisher_exact

        both = (self.triggers.counts, first.triggers.counts)
        changed, unchanged = ([each.fp + each.fn for each in both], [each.tp + each.tn for each in both])
        if fisher_exact([changed, unchanged], alternative="greater").pvalue <= _MOST_P:
            yield f"F1 {f1:.2f} (level 1: {f1_first:.2f})", False


def read_limits(slos: Sequence[str]) -> tuple[Gate, ...]:
    """The limits of every level; a stated one replaces the usual one on the same metric.

    Raises:
        GateError: the first that does not follow the grammar, or that no level measures.
    """
    stated = [limit for text in slos for limit in parse_gate(text)]
    for limit in stated:
        if limit.metric not in (*_SHARES, *REQUEST_METRICS):
            known = ", ".join((*_SHARES, *REQUEST_METRICS))
            raise GateError(f"--slo {str(limit)!r}: not measured by level; use one of {known}")
    usual = (*parse_gate("success_rate >= 0.99"), *parse_gate("ttft_ms.p95 <= 2000"))
    named = {limit.metric.removeprefix("avg_") for limit in stated}
    return (*stated, *(limit for limit in usual if limit.metric not in named))


def sweep_vendors(
    prepared: Prepared, levels: Sequence[int], limits: Sequence[Gate], folder: Path, progress: Callable[[str], object]
) -> Iterator[VendorSweep]:
    """Sweep one vendor after the other; the cost limit of the plan is for all together, and a signal ends all of it.

    Raises:
        StorageError: the disk refused a write.
    """
    left_usd = prepared.plan.max_cost_usd
    for number, entry in enumerate(prepared.plan.entries, 1):
        own = folder / f"{number:02}-{re.sub(r'[^A-Za-z0-9.-]', '_', entry.label)}"
        plan = structs.replace(prepared.plan, entries=(entry,), max_cost_usd=left_usd)
        found, left_usd = _sweep(replace(prepared, plan=plan), levels, limits, own, progress)
        yield found
        if found.signal_number is not None:
            return


def _sweep(
    prepared: Prepared, levels: Sequence[int], limits: Sequence[Gate], folder: Path, progress: Callable[[str], object]
) -> tuple[VendorSweep, float | None]:
    """The sweep of the plan's only vendor, and what is left of its cost limit."""
    (entry,), left_usd = prepared.plan.entries, prepared.plan.max_cost_usd
    samples = len(prepared.plan.tasks[0].samples)
    repeats = {1: _PASSES} | {size: math.ceil(size * _USES / samples) for size in levels if size != 1}
    end: tuple[End, str] = ("highest", "this is the highest level of the sweep")
    first: _Measured | None = None
    rows: list[dict[str, Any]] = []
    holds, signal_number = None, None
    for size, repeat in repeats.items():
        plan = structs.replace(
            prepared.plan,
            entries=(structs.replace(entry, concurrency=size, is_baseline=False),),
            load=LoadShape(),
            request_concurrency=size,
            repeat=repeat,
            max_cost_usd=left_usd,
        )
        options = prepared.options.model_copy(update={"output_dir": folder / f"level-{size}"})
        outcome = run(replace(prepared, plan=plan, options=options))
        left_usd = None if left_usd is None else max(0.0, left_usd - (outcome.spent_usd or 0.0))
        seen = _measured(outcome, size, first)
        missed = [miss for limit in limits if (miss := seen.missed(limit)) is not None]
        missed += [] if first is None else seen.losses(first)
        rows.append({**seen.row, "misses": [words for words, _ in missed]})
        progress(f"{plain(entry.label)}: {size} in flight: {seen.row['requests']} requests")
        signal_number = outcome.signal_number
        if (ended := _ended(outcome, seen, missed, entry, is_first=first is None)) is not None:
            end = ended
            break
        first, holds = first or seen, size
    held = "holds no level" if holds is None else f"holds {holds} in flight"
    words = f"{entry.model} / {entry.label} {held}; {end[1]}."
    return VendorSweep(entry.model, entry.label, holds, end[0], words, rows, signal_number), left_usd


def _ended(
    outcome: RunOutcome, seen: _Measured, missed: Sequence[tuple[str, bool]], entry: Entry, *, is_first: bool
) -> tuple[End, str] | None:
    """Why the sweep ends after this level; None where the level holds."""
    size, reached = seen.row["level"], seen.row["in_flight"]
    at = f"{size} in flight"
    if outcome.signal_number is not None:
        return "interrupted", f"the sweep was interrupted at {at}"
    if outcome.limit is not None:
        return "budget", f"a budget ended the sweep at {at}: {outcome.limit}"
    # A vendor that cannot be reached under load misses its success rate.
    for reason in outcome.scored.manifest.stopped.values() if is_first else ():
        return "stopped", f"the vendor was stopped: {reason}"
    if missed:
        words = "; ".join(limit for limit, _ in missed)
        if all(ours for _, ours in missed):
            return "client", f"at {at} this machine was too slow: {words}. Use an idle machine"
        return "missed", f"at {at} it misses {words}"
    if not is_first and reached is not None and reached < _REACHED * size:
        # Held back by the entry's budgets or the vendor's refusals; else our own machine sent too slowly.
        is_held = entry.requests_per_minute or entry.tokens_per_minute or not seen.records["ok"].all()
        words = "" if is_held else "; this machine sent too slowly"
        return ("not_reached" if is_held else "client"), f"{at} was not reached ({reached:.1f} on average){words}"
    return None


def _measured(outcome: RunOutcome, size: int, first: _Measured | None) -> _Measured:
    """The run of a level; the passes of level 1 after its first are compared with that."""
    scored, manifest = outcome.scored, outcome.scored.manifest
    (model,) = scored.report.models.values()
    (vendor,) = model.vendors.values()
    names = list(scored.samples[manifest.suites[0]].ids) if first is None else first.samples
    made = scored.records[["sample", "repetition", "decision"]].assign(counts=True)
    found = decisions(made, names, sorted(made["repetition"].unique()), missing_is_failed=False)
    reference, own = (found[:1], found[1:]) if first is None else (first.reference, found)
    triggers = trigger_counts(reference, own, "exclude")
    lags = [None if manifest.event_loop is None else manifest.event_loop.p99_ms]
    lags += [load.lag_p99_ms for load in (manifest.load or {}).values() if not load.held_back]
    load = pace(scored.records, scored.attempts)
    reached: Any = load.iloc[0] if len(load) else {}
    ttft = scored.records["ttft_ms"]
    row = {
        "level": size,
        "requests": vendor.recorded,
        "success_rate": vendor.success_rate,
        "ttft_p50_ms": finite(ttft.quantile(0.5)),
        "ttft_p95_ms": finite(ttft.quantile(0.95)),
        "tps": vendor.tps,
        **{name: finite(reached.get(name)) for name in ("in_flight", "requests_per_s")},
        "f1": triggers.f1,
        "schema_accuracy": vendor.schema_accuracy,
        "lag_p99_ms": max((lag for lag in lags if lag is not None), default=None),
    }
    return _Measured(row, scored.records, names, reference, triggers, bool(model.unranked))
