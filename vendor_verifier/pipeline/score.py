"""Scores a stored run and writes its reports, without any network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from vendor_verifier.audit.choice import advise
from vendor_verifier.config.suite_options import known_suite
from vendor_verifier.gates.goodput import with_goodput
from vendor_verifier.pipeline.gates import check_rank_metrics, judge_conditions, read_gates, read_slos
from vendor_verifier.pipeline.judge import judge_report, stretches_warnings
from vendor_verifier.pipeline.manifest import stored_manifest
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.pipeline.rejudging import rejudged
from vendor_verifier.pipeline.suites import hooks_of, ready_suite
from vendor_verifier.pipeline.task_results import TaskResults
from vendor_verifier.records.judgement import ModelVerdict, Threshold
from vendor_verifier.records.manifest import Manifest, Offered, ScoreRequest, StoredLoad, StoredLoop, StoredTask
from vendor_verifier.records.record import Record
from vendor_verifier.records.record_blocks import RecordBlocks
from vendor_verifier.records.sample import Sample, Samples, listed, sample_in
from vendor_verifier.records.score import PlayedTask, Report, Score
from vendor_verifier.reports import REPORTS
from vendor_verifier.run.event_loop_lag import MAX_CORE_SHARE, STALL_NS
from vendor_verifier.scoring.answer_texts import AnswerTexts
from vendor_verifier.scoring.collect import Listener, Tables
from vendor_verifier.scoring.irf import RANK_METRICS
from vendor_verifier.scoring.observation import Observation, tries_of
from vendor_verifier.scoring.observation_table import Standing
from vendor_verifier.scoring.report_samples import Gathering, gather_details
from vendor_verifier.scoring.score_run import score_run, unread_calls
from vendor_verifier.scoring.vendor_figures import with_pace
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import Suite
from vendor_verifier.words import english

# The manifest of a killed run still holds "running"; whether it is complete is then seen from its records.
_COMPLETE = {"finished": True, "imported": True, "interrupted": False}


def score_again(folder: RunFolder, options: RunOptions | None = None, **changes: Any) -> Report:
    """Score a stored run with some of its policies changed, store them in its manifest, and rewrite its files.

    ``options`` state other options of its evaluations, of those that only say how answers are judged.

    Raises:
        RunFolderError: not a readable run folder.
        ProblemsError: options that are invalid, or that decide what is asked.
    """
    manifest = folder.read_manifest()
    if options is not None:
        manifest = rejudged(manifest, folder, options)
    stated = {name: value for name, value in changes.items() if value is not None}
    if "gates" in stated:
        stated["model_gates"] = {}
    stated |= _only_volume(stated)
    check_rank_metrics(stated.get("rank_metrics", ()), manifest.suites)
    chosen = structs.replace(manifest.score, **stated)
    _thresholds(chosen, manifest)  # unreadable thresholds must not be stored
    folder.write_manifest(manifest.changed(score=chosen))
    results = TaskResults.wanted(manifest.suites)
    report = score_folder(folder, results=results)
    write_reports(folder, report)
    write_pages(folder, report)
    if results is not None:
        results.write(folder, report)
    return report


def _only_volume(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Both ways to say the buyer's monthly volume as ``stated``, the other one unsaid; empty where none is stated."""
    names = ("monthly_requests", "monthly_tokens")
    said = {name: stated.get(name) for name in names}
    return said if any(value is not None for value in said.values()) else {}


def score_folder(
    folder: RunFolder,
    gates: Sequence[str] = (),
    *,
    results: TaskResults | None = None,
    asked: Mapping[str, Samples] | None = None,
    **volume: int | None,
) -> Report:
    """Score the records of a run by its manifest, with ``gates`` and a monthly ``volume`` instead of its own if given.

    ``results`` takes every answer as it is judged. ``asked`` are samples by evaluation that stand in the folder and
    need not be read from it again.

    Raises:
        RunFolderError: not a readable run folder.
    """
    manifest = _asked_otherwise(stored_manifest(folder), gates, volume)
    chosen, stored = manifest.score, manifest.tasks
    slos = _thresholds(chosen, manifest)
    warnings = _stored_warnings(manifest)
    played = [_played(folder, task, asked or {}) for task in stored]
    suites = _ready(folder, stored, played)
    hooks = {known.suite: hooks_of(known_suite(known.suite)) for known in played}
    warnings += [words for known in played for words in hooks[known.suite].unjudged(suites[known.suite], known.samples)]
    # Where judging an answer runs code, no answer is judged a second time for an example.
    details = gather_details(
        manifest.infos, [known.suite for known in played if not known.apart and not hooks[known.suite].runs_code]
    )
    tables, texts = Tables(), AnswerTexts.of(() if manifest.redacted else played)
    unreadable: list[str] = []
    report = score_run(
        manifest.infos,
        played,
        _read(folder, unreadable),
        suites=suites,
        repeat=manifest.settings.repeat,
        undecided=chosen.undecided,
        schema_policy=chosen.schema_policy,
        run=manifest.run,
        # For a killed run under a timed load the records cannot show what is missing.
        complete=_COMPLETE.get(manifest.status, False if manifest.is_by_doing else None),
        warnings=warnings,
        rank_metrics=(*RANK_METRICS, *chosen.rank_metrics),
        dataset=[defect for task in stored for defect in task.defects],
        manifest=manifest,
        baseline_f1=chosen.baseline_f1,
        tables=tables,
        listener=_listener(details, texts, results),
    )
    report = _with_rates(report, manifest, tables, slos)
    samples = {task.suite: listed(task.samples) for task in played if not task.apart}
    twice = _duplicates(folder, tables, samples, unreadable)
    unread = unread_calls(tables.rows, suites.values())
    verdicts = judge_report(report, tables.rows, samples, texts, tables.apart)
    report = _with_advice(structs.replace(report, verdicts=verdicts), manifest)
    return structs.replace(
        report,
        # Records are read while scoring, so unreadable lines are only known now.
        warnings=tuple(dict.fromkeys([*report.warnings, *stretches_warnings(verdicts), *unread, *twice, *unreadable])),
        details=details.finished(),
    )


def _listener(details: Gathering, texts: AnswerTexts, results: TaskResults | None) -> Listener:
    """Hand every judged answer to all who keep something of it."""

    def listen(record: Record, sample: Sample, score: Score, row: Observation, standing: Standing) -> None:
        details.take(record, sample, score, row, standing)
        texts.take(record, sample, row)
        if results is not None:
            results.take(record, sample, score, row)

    return listen


def _asked_otherwise(manifest: Manifest, gates: Sequence[str], volume: Mapping[str, int | None]) -> Manifest:
    """The manifest with these gates and this monthly volume in place of its own, where any are given."""
    other = {**({"gates": list(gates), "model_gates": {}} if gates else {}), **_only_volume(volume)}
    return manifest.changed(score={**manifest.raw.get("score", {}), **other}) if other else manifest


def _with_advice(report: Report, manifest: Manifest) -> Report:
    """The report with what follows for a buyer, and then with the gates on verdicts and findings."""
    verdicts, advice = dict(report.verdicts), {}
    for model in report.models:
        found = verdicts.get(model.model, ModelVerdict())
        advice[model.model] = own = advise(model, found)
        gates = read_gates(manifest.score.gates_of(model.model), manifest.suites)
        if conditions := judge_conditions(model, found, own, gates):
            verdicts[model.model] = structs.replace(found, gates=(*found.gates, *conditions))
    return structs.replace(report, verdicts=verdicts, advice=advice)


def _stored_warnings(manifest: Manifest) -> list[str]:
    """The warnings of a stored run from before its scoring."""
    left_out = [english("warn_left_out", sample=skipped) for task in manifest.tasks for skipped in task.skipped]
    return [*manifest.warnings, *ending_warnings(manifest), *left_out]


def _ready(folder: RunFolder, stored: Sequence[StoredTask], played: Sequence[PlayedTask]) -> dict[str, Suite]:
    """The suites of a stored run by name, ready to judge its samples."""
    return {
        task.suite: ready_suite(task.suite, task.options, known.samples, folder)
        for task, known in zip(stored, played, strict=True)
    }


def _read(folder: RunFolder, unreadable: list[str]) -> RecordBlocks:
    """The stored records; lines that are none are named in ``unreadable``."""

    def bad_line(line: str, reason: str) -> None:
        unreadable.append(english("warn_unreadable", line=line, reason=reason))

    return folder.read_records(bad_line)


def _with_rates(report: Report, manifest: Manifest, tables: Tables, slos: Sequence[Threshold]) -> Report:
    """The report with every vendor's pace and, where there are SLOs, with goodput."""
    # Between two sessions there is a pause of ours, which must not count in a vendor's rate.
    is_one_session = len(manifest.executors or ()) < 2
    most = manifest.settings.vendor_concurrency
    in_turns = (most is not None and most < len(manifest.entries)) or not is_one_session
    both = {key: tables.of(key) for key in tables.rows}
    report = with_pace(report, both, _places(manifest), waited_for_turns=in_turns)
    return with_goodput(report, tables.rows, slos, is_timed=is_one_session) if slos else report


def _places(manifest: Manifest) -> dict[tuple[str, str], int | None]:
    """The requested concurrency by (model, label); None where the load was a rate, or it is unknown."""
    settings = manifest.settings
    return {
        entry.key: None if settings.is_open else entry.concurrency or settings.request_concurrency
        for entry in manifest.entries
    }


def _thresholds(chosen: ScoreRequest, manifest: Manifest) -> tuple[Threshold, ...]:
    """The SLOs; gates are read too, to refuse unreadable ones."""
    for texts in (chosen.gates, *chosen.model_gates.values()):
        read_gates(texts, manifest.suites)
    return read_slos(chosen.slos)


def _duplicates(folder: RunFolder, tables: Tables, samples: Mapping[str, Samples], unreadable: list[str]) -> list[str]:
    """Add the cost of records that came twice and return a warning of them; unreadable lines go to ``unreadable``."""

    def bad_line(line: str, reason: str) -> None:
        unreadable.append(english("warn_unreadable_cost", line=line, reason=reason))

    count = 0
    for record in folder.read_duplicates(bad_line):
        table = tables.rows.get((record.model, record.label))
        if table is not None and sample_in(samples, record.suite, record.sample) is not None:
            table.duplicates.add(0, tries_of(record))
        count += 1
    return [english("warn_twice", count=count, file=folder.duplicates_file.name)] if count else []


def _played(folder: RunFolder, task: StoredTask, asked: Mapping[str, Samples]) -> PlayedTask:
    kind = known_suite(task.suite)
    samples = asked[kind.name] if kind.name in asked else folder.read_samples(kind.name)
    return PlayedTask(kind.name, samples, kind.ranks_by, kind.apart)


def ending_warnings(manifest: Manifest) -> Iterator[str]:
    """The warnings about the course of a run, from its manifest."""
    if manifest.limit:
        yield english("warn_ended", limit=manifest.limit)
    for label, reason in manifest.stopped.items():
        yield english("warn_stopped", label=label, reason=reason)
    for label, places in manifest.concurrency_lowered.items():
        yield english("warn_slowed", label=label, given=places.given, lowest=places.lowest, last=places.last)
    for loss in (loss for executor in manifest.executors or () for loss in executor.lost_sessions):
        yield english("warn_worker", worker=loss.session, reason=loss.reason)
    yield from _load_warnings(manifest.load or {}, by_schedule=manifest.ranks_by_schedule)
    if manifest.event_loop is not None:
        yield from _loop_warnings(manifest.event_loop, _advice(manifest))
    if manifest.redacted:
        yield english("warn_redacted")
    for executor in manifest.executors or ():
        for run, labels in (executor.beside or {}).items():
            yield english("warn_beside", run=run, labels=", ".join(labels))


def _load_warnings(load: Mapping[str, Offered], *, by_schedule: bool) -> Iterator[str]:
    """Warnings where the load differed from the one asked for, or the whole warm-up failed; and by which times vendors
    then rank."""
    if by_schedule:
        yield english("warn_by_schedule")
    for label, kept in load.items():
        if kept.held_back:
            name = "warn_held_back_capped" if by_schedule else "warn_held_back"
            yield english(name, label=label, held=kept.held_back, cap=kept.cap)
        elif (kept.lag_p99_ms or 0.0) > STALL_NS / 1e6:
            yield english("warn_began_late", label=label, ms=f"{kept.lag_p99_ms:.0f}")
        if kept.warmup and kept.warmup_failed == kept.warmup:
            yield english("warn_warmup", label=label, count=kept.warmup)


def _advice(manifest: Manifest) -> str:
    """Advice for an overloaded process: a smaller load, or more processes where there are cores for them."""
    less = _less_of(manifest.settings.load)
    executor = next(reversed(manifest.executors or ()), None)
    processes = 1 if executor is None else max(1, len(executor.workers))
    if executor is None or executor.name == "dask" or processes >= (executor.cores or 1):
        return less
    return english("advice_workers", less=less, more=min(2 * processes, executor.cores or 1))


def _less_of(load: StoredLoad | None) -> str:
    if load is not None and load.schedule:
        return english("advice_schedule")
    return english("advice_rate" if load is not None and load.request_rate else "advice_concurrency")


def _loop_warnings(loop: StoredLoop, advice: str) -> Iterator[str]:
    """Warnings where the load was more than this process could time truthfully."""
    if loop.p99_ms is not None and loop.p99_ms > STALL_NS / 1e6:
        yield english("warn_loop", ms=f"{loop.p99_ms:.0f}", advice=advice)
    if loop.core_share is not None and loop.core_share > MAX_CORE_SHARE:
        yield english("warn_core", share=f"{loop.core_share:.0%}", most=f"{MAX_CORE_SHARE:.0%}", advice=advice)


def write_pages(folder: RunFolder, report: Report) -> None:
    """Write the result pages that evaluations have of their own."""
    for task in report.manifest.tasks:
        hooks_of(known_suite(task.suite)).pages(folder, task)


def write_reports(folder: RunFolder, report: Report, formats: Iterable[str] | None = None) -> list[Path]:
    """Write the chosen formats (default: those of every run) into the run folder and return the paths."""
    chosen = set(formats) if formats is not None else {form.name for form in REPORTS if form.by_default}
    return [folder.write(form.file_name, form.text(report)) for form in REPORTS if form.name in chosen]
