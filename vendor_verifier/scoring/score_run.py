"""Scores a whole run: records in, report and its warnings out, in one streaming pass without I/O.

Rules that decide which records a figure is taken over:

- A record counts if the plan holds its model, label, suite and sample, and its repetition is below the entry's
  ``repeat``; others are ignored with a warning. Of two records under one key ``records.record.supersedes`` decides
  which stands.
- Success rate = succeeded ÷ planned when the run is complete, so a lost row is a failure. When it was interrupted the
  samples never sent are left out (planned − recorded says how many): a stop at half time is not 50 % failure. Records
  that failed before anything was asked (``untranslatable``, ``harness``) are left out in both cases.
- F1 follows the same rule: a planned sample without a record is undecided in a complete run and ``not_sent`` in an
  interrupted one (see :mod:`vendor_verifier.scoring.trigger_f1`).
- An entry that was asked for a stated time, or by a schedule, was planned what was begun; its decisions are compared
  over whole repetitions (see :mod:`vendor_verifier.scoring.repetitions`).
- An entry without any record was not measured: everything about it is ``None``, nothing is 0. Nor was one that refused
  our key or credit whenever it was asked (see :mod:`vendor_verifier.scoring.refused_access`).
- Times of two vendors are ranked by what was sent while both were being asked (see
  :mod:`vendor_verifier.scoring.common_window`); the figures themselves are over everything.
- Averages are over the successes that measured; ``measured`` says over how many.
- A task that stands ``apart`` (feature checks) joins none of these figures; it has a score of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import structs

from vendor_verifier.metrics import RANKED
from vendor_verifier.metrics.answer import MOST_SPOILT
from vendor_verifier.records.manifest import NO_MANIFEST, EntryInfo, Manifest, SchemaPolicy, Undecided
from vendor_verifier.records.record import Record
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.records.score import ModelScore, PlayedTask, Report, SuiteScore, TriggerCounts, VendorScore
from vendor_verifier.scoring.collect import Listener, Tables, collect
from vendor_verifier.scoring.common_window import common_times
from vendor_verifier.scoring.irf import RANK_METRICS, Beside, K
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.ranked_times import ranked_spread
from vendor_verifier.scoring.refused_access import excuse_refused_access
from vendor_verifier.scoring.repetitions import compared
from vendor_verifier.scoring.trigger_f1 import Run, baseline_counts, paired, self_counts, trigger_counts
from vendor_verifier.scoring.vendor_figures import checks_score, regions_of, standings, suite_score
from vendor_verifier.scoring.withheld_speeds import withhold_speeds
from vendor_verifier.suites import TRIGGER, Suite
from vendor_verifier.suites.schema import dialect_notice
from vendor_verifier.suites.tool_calls.suite import CALLS_ONLY_IN_TEXT, CALLS_ONLY_NATIVE, CallSuite
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite
from vendor_verifier.words import english


def stall_warnings(model: str, vendors: Iterable[VendorScore]) -> Iterator[str]:
    """One sentence for a model that lost rows to our lateness: its vendors, how many, and whose times are missing."""
    rows, lost = dict[str, int](), list[str]()
    for each in vendors:
        # A figure may have lost more than its metric: by the schedule, rows that we began late.
        spoilt = [*(found.stalled for found in each.distributions.values()), *each.stalled.values()]
        if any(spoilt):
            rows[each.label] = max(spoilt)
        # Who lost its few connections and no other time still has the times that it is ranked by.
        if each.lost:
            lost.append(each.label)
    if not rows:
        return
    counted = ", ".join(f"{label} {count}" for label, count in rows.items())
    if lost:
        yield english("warn_lost", model=model, told=counted, lost=", ".join(lost), most=f"{MOST_SPOILT:.0%}")
    else:
        yield english("warn_late", model=model, told=counted)


# Fewer answers than this without any call may as well be a model that missed them.
_TELLING = 3
_ELSEWHERE = {CALLS_ONLY_IN_TEXT: "text", CALLS_ONLY_NATIVE: "native"}


def unread_calls(columns: Mapping[tuple[str, str], ObservationTable], suites: Iterable[Suite]) -> Iterator[str]:
    """One sentence for each vendor and evaluation of tool calls whose answers held no call that was read."""
    reading = [suite for suite in suites if isinstance(suite, CallSuite)]
    for (model, label), own in columns.items():
        for suite in reading:
            answers = [row for row in own.of_suite(suite.name) if row.succeeded]
            if words := _words(suite, answers, f"{model}: {label}"):
                yield words


def _words(suite: CallSuite, answers: Sequence[Traits], who: str) -> str | None:
    wanting = [row for row in answers if row.decision == "not_called" and any(value == 0 for _, value in row.scores)]
    if not wanting or any(row.decision == "called" for row in answers):
        return None
    words = {"who": who, "suite": suite.name, "answers": len(answers)}
    for anomaly, other in _ELSEWHERE.items():
        if holding := sum(anomaly in row.anomalies for row in wanting):
            return english(f"warn_calls_{other}", **words, holding=holding)
    return english("warn_calls_none", **words) if len(wanting) >= _TELLING else None


class _Board(msgspec.Struct, frozen=True):
    """The plan with the observations made of it."""

    entries: Sequence[EntryInfo]
    tasks: Mapping[str, PlayedTask]
    repeat: int
    complete: bool
    undecided: Undecided
    schema_policy: SchemaPolicy
    rank_metrics: tuple[str, ...]
    k: int
    baseline_f1: Literal["fixed", "self"] = "fixed"
    tables: Tables = msgspec.field(default_factory=Tables)

    def rows(self, entry: EntryInfo) -> ObservationTable:
        """The entry's observations of ranked tasks."""
        return self.tables.rows[entry.model, entry.label]

    def apart(self, entry: EntryInfo) -> ObservationTable:
        """The entry's observations of tasks outside the ranking."""
        return self.tables.apart[entry.model, entry.label]

    def repeat_of(self, entry: EntryInfo) -> int:
        """The entry's planned number of repetitions."""
        return self.repeat if entry.repeat is None else entry.repeat

    def planned(self, entry: EntryInfo, *, apart: bool = False) -> int:
        """The number of records planned for the entry, of ranked tasks or, with ``apart``, of the others alone."""
        if entry.begun is not None:
            checks = len(self.apart(entry))
            return checks if apart else entry.begun - checks
        return self.repeat_of(entry) * sum(len(task.samples) for task in self.tasks.values() if task.apart == apart)

    @property
    def whole(self) -> bool:
        """Whether no record is missing."""
        return all(
            len(self.rows(entry)) == self.planned(entry) and len(self.apart(entry)) == self.planned(entry, apart=True)
            for entry in self.entries
        )

    @property
    def triggers(self) -> tuple[str, ...]:
        """Ids of the samples that F1 is taken over."""
        task = self.tasks.get(TRIGGER)
        return tuple(listed(task.samples).ids) if task else ()

    def runs(self, entry: EntryInfo) -> list[Run]:
        """Trigger decisions of the entry, one mapping per repetition."""
        table = self.rows(entry)
        # Where the number of repetitions was not planned, no sample is missing.
        missing = self.triggers if self.complete and len(table) and entry.begun is None else ()
        each = sum(len(task.samples) for task in self.tasks.values())
        numbers = compared(self.repeat_of(entry), entry.begun, each)
        return [table.run(TRIGGER, number, missing) for number in numbers]


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
    manifest: Manifest = NO_MANIFEST,
    baseline_f1: Literal["fixed", "self"] = "fixed",
    tables: Tables | None = None,
    listener: Listener | None = None,
) -> Report:
    """Score every entry of the plan over ``records``, which are read once and not kept.

    The samples of all ``tasks`` × ``repeat``, or the entry's own, are what was planned for an entry; repetitions are
    numbered from 0.
    ``suites`` judge the records of each task (default: the trigger suite alone). ``complete`` True means that
    no more records will come, so that a missing one is lost (as with imported files), and False that the run was
    interrupted; ``None`` takes the run for interrupted if any record is missing.
    ``dataset`` are defects found when the samples were read; without them the declarations are checked here.
    ``tables`` are filled with the observations of each entry, for further judging. ``baseline_f1``: the baseline's
    F1 in the ranking is 1.0 as published, or its own against its other runs (``self``). ``listener`` is called with
    every record that joins the figures.
    Models stand in the order of ``entries``, vendors best first.
    """
    tables = Tables() if tables is None else tables
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
        tables=tables,
    )
    suites = suites or {TRIGGER: TriggerSuite()}
    ignored = collect(tables, entries, board.tasks, records, suites, repeat, listener)
    if complete is None:
        board = structs.replace(board, complete=board.whole)
    outside = [english("warn_outside", ignored=ignored)] if ignored else []
    report = _report(board, run)
    return structs.replace(
        report,
        dataset=_dataset((sample for task in tasks for sample in task.samples), dataset),
        warnings=(*warnings, *report.warnings, *outside),
        manifest=manifest,
    )


def _report(board: _Board, run: str) -> Report:
    """The report of a filled board, with warnings about doubtful figures."""
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
    """Every model's vendors in ranking order, and warnings about them."""
    baselines, doubts = _baselines(board.entries)
    for entry in board.entries:
        excuse_refused_access(board.rows(entry))
    doubts += [*_misrouted(board), *_withheld(board, baselines)]
    scores: dict[str, list[VendorScore]] = {}
    for entry in board.entries:
        scores.setdefault(entry.model, []).append(_vendor(board, entry, baselines.get(entry.model)))
    doubts += [words for model, found in scores.items() for words in stall_warnings(model, found)]
    named = {model: entry.label for model, entry in baselines.items()}
    return standings(scores, named, board.rank_metrics, board.k, _beside(board)), doubts


def _beside(board: _Board) -> Beside[tuple[str, str]]:
    """The times by which vendors of one model are compared that were not asked over the same time."""
    tables: dict[str, dict[tuple[str, str], ObservationTable]] = {}
    for entry in board.entries:
        tables.setdefault(entry.model, {})[entry.model, entry.label] = board.rows(entry)
    by_model = (common_times(found, board.rank_metrics) for found in tables.values())
    return {pair: figures for pairs in by_model for pair, figures in pairs.items()}


def _withheld(board: _Board, baselines: Mapping[str, EntryInfo]) -> Iterator[str]:
    """Withhold speeds that say nothing of a vendor; yields a warning for each reason."""
    for entry in board.entries:
        baseline, table = baselines.get(entry.model), board.rows(entry)
        reference = None if baseline is None else board.rows(baseline)
        withhold_speeds(table, reference, is_baseline=entry is baseline)
        for reason in dict.fromkeys(table.withheld.values()):
            yield english(f"warn_{reason}", model=entry.model, label=entry.label)


def _misrouted(board: _Board) -> list[str]:
    """Take answers of other providers than the pinned one out of every entry's table; returns warnings."""
    found: list[str] = []
    for entry in board.entries:
        table = board.rows(entry)
        others = table.set_misrouted_aside(entry.provider) if entry.provider else None
        if others is None:
            continue
        words = {"who": f"{entry.model}: {entry.label}", "provider": entry.provider, "others": others}
        rows = len(table.misrouted)
        found.append(english("warn_misrouted", **words, rows=rows) if rows else english("warn_spelling", **words))
    return found


def _baselines(entries: Sequence[EntryInfo]) -> tuple[dict[str, EntryInfo], list[str]]:
    """The baseline of each model that has one, and warnings about them."""
    found: dict[str, EntryInfo] = {}
    doubts: list[str] = []
    for entry in entries:
        if entry.is_baseline and entry.model in found:
            first = found[entry.model].label
            doubts.append(english("warn_baselines", model=entry.model, first=first, second=entry.label))
        elif entry.is_baseline:
            found[entry.model] = entry
    return found, doubts


def _vendor(board: _Board, entry: EntryInfo, baseline: EntryInfo | None) -> VendorScore:
    """The score of one entry without its ranks."""
    table = board.rows(entry)
    asked = table.asked(board.planned(entry), complete=board.complete)
    suites = _suites(board, entry)
    schema = table.schema(board.schema_policy)
    spreads = table.distributions()
    trigger, pairs = _trigger(board, entry, baseline)
    succeeded = table.count(lambda traits: traits.succeeded)
    metrics = {
        "f1": (None if trigger is None else trigger.f1, pairs),
        "success_rate": (succeeded / asked if asked else None, asked),
        "schema_accuracy": (schema.accuracy, table.judged_responses(board.schema_policy)),
    }
    ranked = {
        name: ranked_spread(table, name, spreads[metric.name], metric.name)
        for name, metric in RANKED.items()
        if metric.name in spreads
    }
    for name, metric in RANKED.items():
        if name not in metrics:
            spread = ranked[name]
            metrics[name] = (table.pooled(metric.name) if metric.pooled else spread.mean, spread.n)
    metrics |= {name: (score.values.get(board.tasks[name].main or ""), score.judged) for name, score in suites.items()}
    return VendorScore(
        label=entry.label,
        vendor=entry.vendor,
        model_id=entry.model_id,
        is_baseline=entry is baseline,
        provider=entry.provider,
        planned=board.planned(entry),
        recorded=len(table),
        succeeded=succeeded,
        succeeded_first_try=table.count(lambda traits: traits.succeeded_first_try),
        metrics={name: value for name, (value, _) in metrics.items()},
        measured={name: number for name, (_, number) in metrics.items()},
        distributions=spreads,
        schema=schema,
        trigger=trigger,
        tps_mean=spreads["tps"].mean,
        tps_p50=spreads["tps"].p50,
        e2e_tps=table.pooled("e2e_tps"),
        failures=table.tally(lambda traits: traits.failure),
        finish_reasons=table.tally(lambda traits: traits.ending),
        decisions=table.tally(lambda traits: traits.decision),
        anomalies=table.anomalies(),
        served_models=table.tally(lambda traits: traits.served_model),
        attempts=table.count(lambda traits: traits.attempts),
        resent=table.count(lambda traits: traits.resent),
        suites=suites,
        regions=regions_of(table),
        stalled={name: ranked[name].stalled for name, metric in RANKED.items() if metric.is_timed},
        withheld=dict(table.withheld),
    )


def _suites(board: _Board, entry: EntryInfo) -> dict[str, SuiteScore]:
    """Scores of the evaluations that score by a mean; empty for an entry without any record."""
    table, checks = board.rows(entry), board.apart(entry)
    scores, repeat = {}, board.repeat_of(entry)
    for task in board.tasks.values():
        if task.apart:
            # Without a main score it is judged side against side, elsewhere.
            if len(checks) and task.main is not None:
                scores[task.suite] = checks_score(checks, task.suite, task.samples, repeat, entry.provider)
        elif task.main is not None and len(table):
            rows = table.of_suite(task.suite)
            aside = sum(key[0] == task.suite for key in table.misrouted)
            planned = len(task.samples) * repeat if entry.begun is None else len(rows) + aside
            lost = planned - len(rows) - aside if board.complete else 0
            scores[task.suite] = suite_score(planned, rows, lost)
    return scores


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
    """The given defects of the samples, each once, or those of their tool declarations where none are given."""
    if known is not None:
        return tuple(dict.fromkeys(known))
    checkers, dialects, defects = KeptCheckers(), list[tuple[str, ...]](), list[str]()
    for sample in samples:
        defects += (f"{_where(sample)}: {defect}" for defect in checkers(sample).defects)
        dialects.append(checkers(sample).dialect)
    return (*defects, *dialect_notice(dialects))


def _where(sample: Sample) -> str:
    source = sample.source
    return f"sample {sample.id}" if source is None else f"{source.dataset} line {source.line}"
