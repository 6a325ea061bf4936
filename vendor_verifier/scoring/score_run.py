"""Scores a whole run: records in, report out; pure, streaming, and it renders nothing.

Rules that decide what a number is taken over:

- A record counts if the plan holds its model, label, suite and sample, and its repetition is below the entry's
  ``repeat``; others are ignored with a warning. Of two records under one key ``values.record.supersedes`` says which
  stands.
- Success rate = succeeded ÷ planned when the run is complete, so a lost row is a failure. When it was interrupted the
  samples never sent are left out (planned − recorded says how many): a stop at half time is not 50 % failure. Records
  that failed before anything was asked (``untranslatable``, ``harness``) are left out in both cases.
- F1 follows the same rule: a planned sample without a record is undecided in a complete run and ``not_sent`` in an
  interrupted one (see :mod:`vendor_verifier.scoring.trigger_f1`).
- An entry that was asked for a stated time, or by a schedule, was planned what was begun; its decisions are compared
  over whole repetitions (see :mod:`vendor_verifier.scoring.observation_table`).
- An entry without any record was not measured: everything about it is ``None``, nothing is 0.
- Averages are over the successes that measured; ``measured`` says over how many.
- A task that stands ``apart`` (feature checks) joins none of these figures; it has a score of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vendor_verifier.metrics.inter_chunk_latency import gaps_ns
from vendor_verifier.scoring.feature_checks import FeatureRows
from vendor_verifier.scoring.irf import RANK_METRICS, K
from vendor_verifier.scoring.observation import Look, facts_of
from vendor_verifier.scoring.observation_table import Columns, compared
from vendor_verifier.scoring.row_warnings import stall_warnings
from vendor_verifier.scoring.trigger_f1 import Run, baseline_counts, paired, self_counts, trigger_counts
from vendor_verifier.scoring.vendor_figures import regions_of, standings, suite_score
from vendor_verifier.suites.base import Suite
from vendor_verifier.suites.schema import DialectCount
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite
from vendor_verifier.values.record import Record
from vendor_verifier.values.sample import Sample, listed, sample_in
from vendor_verifier.values.score import (
    EntryInfo,
    ModelScore,
    PlayedTask,
    Report,
    SchemaPolicy,
    SuiteScore,
    TriggerCounts,
    Undecided,
    VendorScore,
)

EntryKey = tuple[str, str]
TRIGGER = "trigger"


@dataclass(frozen=True, slots=True)
class _Board:
    """The plan and what was heard of it."""

    entries: Sequence[EntryInfo]
    tasks: Mapping[str, PlayedTask]
    repeat: int
    complete: bool
    undecided: Undecided
    schema_policy: SchemaPolicy
    rank_metrics: tuple[str, ...]
    k: int
    baseline_f1: Literal["fixed", "self"] = "fixed"
    columns: Mapping[EntryKey, Columns] = field(default_factory=dict)
    features: Mapping[EntryKey, FeatureRows] = field(default_factory=dict)

    def repeat_of(self, entry: EntryInfo) -> int:
        """How often the entry was to be asked everything."""
        return self.repeat if entry.repeat is None else entry.repeat

    def planned(self, entry: EntryInfo) -> int:
        """Records the entry should have, without those apart."""
        if entry.begun is not None:
            return entry.begun - len(self.features[entry.model, entry.label].rows)
        return self.repeat_of(entry) * sum(len(task.samples) for task in self.tasks.values() if not task.apart)

    def planned_apart(self, entry: EntryInfo) -> int:
        """Records the entry should have beside them."""
        if entry.begun is not None:
            return len(self.features[entry.model, entry.label].rows)
        return self.repeat_of(entry) * sum(len(task.samples) for task in self.tasks.values() if task.apart)

    @property
    def whole(self) -> bool:
        """No record is missing."""
        return all(
            len(self.columns[entry.model, entry.label].rows) == self.planned(entry)
            and len(self.features[entry.model, entry.label].rows) == self.planned_apart(entry)
            for entry in self.entries
        )

    @property
    def triggers(self) -> tuple[str, ...]:
        """Samples of the suite that F1 is taken over."""
        task = self.tasks.get(TRIGGER)
        return tuple(listed(task.samples).ids) if task else ()

    def runs(self, entry: EntryInfo) -> list[Run]:
        """Trigger decisions of the entry, one mapping per repetition."""
        columns = self.columns[entry.model, entry.label]
        # Of what nobody planned nothing is missing.
        missing = self.triggers if self.complete and columns.rows and entry.begun is None else ()
        each = sum(len(task.samples) for task in self.tasks.values())
        numbers = compared(self.repeat_of(entry), entry.begun, each)
        return [columns.run(TRIGGER, number, missing) for number in numbers]


def score_run(
    entries: Sequence[EntryInfo],
    tasks: Sequence[PlayedTask],
    records: Iterable[Record],
    *,
    suites: Mapping[str, Suite] | None = None,
    repeat: int,
    undecided: Undecided = "missed",
    schema_policy: SchemaPolicy = "lenient",
    rank_metrics: Sequence[str] = RANK_METRICS,
    k: int = K,
    run: str,
    complete: bool | None = None,
    warnings: Sequence[str] = (),
    dataset: Sequence[str] | None = None,
    manifest: Mapping[str, Any] | None = None,
    baseline_f1: Literal["fixed", "self"] = "fixed",
    columns: dict[EntryKey, Columns] | None = None,
    look: Look | None = None,
) -> Report:
    """Score every entry of the plan over ``records``, which are read once and not kept.

    The samples of all ``tasks`` × ``repeat``, or the entry's own, are what was planned for an entry; repetitions are
    numbered from 0.
    ``suites`` judge the records of each task (default: the trigger suite alone). ``complete`` says that
    nothing more is coming, so that a missing record is a lost one (True for imported files), or that the run was
    interrupted (False); ``None`` looks whether any record is missing and then takes the run for interrupted.
    ``dataset`` are defects that reading the samples found; without them the declarations are looked through here.
    ``columns`` is filled with what was counted of each entry, for who judges further. ``baseline_f1``: the baseline's
    F1 in the ranking is 1.0 as published, or its own against its other runs (``self``). ``look`` is shared with others
    who look at the same records.
    Models stand in the order of ``entries``, vendors by IRF, best first.
    """
    columns = {} if columns is None else columns
    columns |= {(entry.model, entry.label): Columns() for entry in entries}
    board = _Board(
        entries=entries,
        tasks={task.suite: task for task in tasks},
        repeat=repeat,
        complete=bool(complete),
        undecided=undecided,
        schema_policy=schema_policy,
        rank_metrics=tuple(rank_metrics),
        k=k,
        baseline_f1=baseline_f1,
        columns=columns,
        features={(entry.model, entry.label): FeatureRows() for entry in entries},
    )
    ignored = _collect(board, suites or {TRIGGER: TriggerSuite()}, records, look or Look())
    if complete is None:
        board = replace(board, complete=board.whole)
    outside = [f"{ignored} records are outside the plan and ignored"] if ignored else []
    report = _report(board, run)
    return replace(
        report,
        dataset=_dataset((sample for task in tasks for sample in task.samples), dataset),
        warnings=(*warnings, *report.warnings, *outside),
        manifest=manifest or {},
    )


def _report(board: _Board, run: str) -> Report:
    """The scores of a filled board; its warnings are what is doubtful about them."""
    models, doubts = _standings(board)
    return Report(
        run=run,
        models=models,
        rank_metrics=board.rank_metrics,
        k=board.k,
        undecided=board.undecided,
        schema_policy=board.schema_policy,
        samples=sum(len(task.samples) for task in board.tasks.values()),
        repeat=board.repeat,
        complete=board.complete,
        warnings=tuple(doubts),
    )


def _standings(board: _Board) -> tuple[tuple[ModelScore, ...], list[str]]:
    """Every model's vendors in their order, and what is doubtful about them."""
    baselines, doubts = _baselines(board.entries)
    doubts += _misrouted(board)
    scores: dict[str, list[VendorScore]] = {}
    for entry in board.entries:
        scores.setdefault(entry.model, []).append(_vendor(board, entry, baselines.get(entry.model)))
    doubts += [words for model, found in scores.items() for words in stall_warnings(model, found)]
    named = {model: entry.label for model, entry in baselines.items()}
    return standings(scores, named, board.rank_metrics, board.k), doubts


def _collect(board: _Board, suites: Mapping[str, Suite], records: Iterable[Record], look: Look) -> int:
    """Fill the board's columns; the number of records that do not belong to the plan."""
    asked = {task.suite: listed(task.samples) for task in board.tasks.values()}
    trigger = suites.get(TRIGGER)
    checkers = trigger.checkers if isinstance(trigger, TriggerSuite) else KeptCheckers()
    repeats = {(entry.model, entry.label): board.repeat_of(entry) for entry in board.entries}
    ignored = 0
    for record in records:
        columns = board.columns.get((record.model, record.label))
        most = repeats.get((record.model, record.label), 0)
        sample = sample_in(asked, record.suite, record.sample)
        suite = suites.get(record.suite)
        if columns is None or sample is None or suite is None or not 0 <= record.repetition < most:
            ignored += 1
            continue
        if board.tasks[record.suite].apart:
            board.features[record.model, record.label].add(record, suite, sample)
            continue
        # Only a refusal is explained by it.
        defective = not record.succeeded and bool(checkers(sample).schema_defects)
        facts = facts_of(record, suite, sample, defective=defective, look=look)
        columns.add(sample.id, record.repetition, facts, gaps_ns(record))
    return ignored


def _misrouted(board: _Board) -> list[str]:
    """Take answers of other providers than the pinned one out of every entry's numbers; what was found, in words."""
    found = []
    for entry in board.entries:
        columns = board.columns[entry.model, entry.label]
        others = columns.set_misrouted_aside(entry.provider) if entry.provider else None
        if others is None:
            continue
        rows = f"{len(columns.misrouted)} rows are left out" if columns.misrouted else "taken for another spelling"
        found.append(f"{entry.model}: {entry.label} is pinned to {entry.provider} and was served by {others}; {rows}")
    return found


def _baselines(entries: Sequence[EntryInfo]) -> tuple[dict[str, EntryInfo], list[str]]:
    """The baseline of each model that has one, and what is doubtful about them."""
    found: dict[str, EntryInfo] = {}
    doubts = []
    for entry in entries:
        if entry.is_baseline and entry.model in found:
            first = found[entry.model].label
            doubts.append(f"{entry.model}: both {first} and {entry.label} are baselines; {first} is used")
        elif entry.is_baseline:
            found[entry.model] = entry
    return found, doubts


def _vendor(board: _Board, entry: EntryInfo, baseline: EntryInfo | None) -> VendorScore:
    """Everything about one entry but its ranks."""
    columns = board.columns[entry.model, entry.label]
    asked = columns.asked(board.planned(entry), complete=board.complete)
    suites = _suites(board, entry)
    schema = columns.schema(board.schema_policy)
    distributions = columns.distributions()
    trigger, pairs = _trigger(board, entry, baseline)
    metrics = {
        "f1": None if trigger is None else trigger.f1,
        "success_rate": columns.count("succeeded") / asked if asked else None,
        "schema_accuracy": schema.accuracy,
        "avg_tokens": distributions["total_tokens"].mean,
        "avg_ttft_ms": distributions["ttft_ms"].mean,
        "tps": columns.tps(),
    }
    measured = {
        "f1": pairs,
        "success_rate": asked,
        "schema_accuracy": columns.judged_responses(board.schema_policy),
        "avg_tokens": distributions["total_tokens"].n,
        "avg_ttft_ms": distributions["ttft_ms"].n,
        "tps": distributions["tps"].n,
    }
    return VendorScore(
        label=entry.label,
        vendor=entry.vendor,
        model_id=entry.model_id,
        is_baseline=entry is baseline,
        provider=entry.provider,
        planned=board.planned(entry),
        recorded=len(columns.rows),
        succeeded=columns.count("succeeded"),
        succeeded_first_try=columns.count("succeeded_first_try"),
        metrics={**metrics, **{name: _main(board, name, score) for name, score in suites.items()}},
        measured={**measured, **{name: score.judged for name, score in suites.items()}},
        distributions=distributions,
        schema=schema,
        trigger=trigger,
        tps_mean=distributions["tps"].mean,
        tps_p50=distributions["tps"].p50,
        e2e_tps=columns.e2e_tps(),
        failures=columns.tally("failure"),
        finish_reasons=columns.tally("finish_reason"),
        decisions=columns.tally("decision"),
        anomalies=columns.anomalies(),
        served_models=columns.tally("served_model"),
        attempts=columns.count("attempts"),
        resent=columns.count("resent"),
        suites=suites,
        regions=regions_of(columns),
        stalled={"avg_ttft_ms": distributions["ttft_ms"].stalled, "tps": distributions["tps"].stalled},
    )


def _suites(board: _Board, entry: EntryInfo) -> dict[str, SuiteScore]:
    """Results of the evaluations that score by a mean; nothing for an entry without any record."""
    columns, features = board.columns[entry.model, entry.label], board.features[entry.model, entry.label]
    scores, repeat = {}, board.repeat_of(entry)
    for task in board.tasks.values():
        if task.apart:
            if features.rows:
                scores[task.suite] = features.score(task.suite, task.samples, repeat, entry.provider)
        elif task.main is not None and columns.rows:
            rows = columns.of_suite(task.suite)
            aside = sum(key[0] == task.suite for key in columns.misrouted)
            planned = len(task.samples) * repeat if entry.begun is None else len(rows) + aside
            lost = planned - len(rows) - aside if board.complete else 0
            scores[task.suite] = suite_score(planned, rows, lost)
    return scores


def _main(board: _Board, suite: str, score: SuiteScore) -> float | None:
    return score.values.get(board.tasks[suite].main or "")


def _trigger(board: _Board, entry: EntryInfo, baseline: EntryInfo | None) -> tuple[TriggerCounts | None, int]:
    """The comparison with the baseline, and how many of the entry's records took part in it."""
    if baseline is None or not board.triggers:
        return None, 0
    own, expected = board.runs(entry), board.runs(baseline)
    if entry is baseline:
        counts = baseline_counts(board.triggers, own)
        if board.baseline_f1 == "self" and len(own) > 1:
            counts = self_counts(board.triggers, own, board.undecided)
        return counts, counts.tp + counts.tn
    counts = trigger_counts(board.triggers, expected, own, board.undecided)
    return counts, paired(board.triggers, expected, own, board.undecided)


def _dataset(samples: Iterable[Sample], known: Sequence[str] | None) -> tuple[str, ...]:
    """Defects that were found when the samples were read, each once; those of the declarations if nobody looked."""
    if known is not None:
        return tuple(dict.fromkeys(known))
    checkers, dialects, told = KeptCheckers(), DialectCount(), list[str]()
    for sample in samples:
        told += (f"{_where(sample)}: {defect}" for defect in checkers(sample).defects)
        dialects.add(checkers(sample))
    return (*told, *dialects.notice())


def _where(sample: Sample) -> str:
    source = sample.source
    return f"sample {sample.id}" if source is None else f"{source.dataset} line {source.line}"
