"""Scores a stored run and writes its reports; nothing is sent.

The steps: manifest → samples and suites → frames → figures → verdicts → report.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs, to_builtins

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import build_suite, rank_problems
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.findings.base import ModelRun, percent
from vendor_verifier.findings.gates import GateError, judge_gates, parse_gate, parse_slo, read_gates
from vendor_verifier.findings.verdict import judge
from vendor_verifier.pipeline.manifest import stored_manifest
from vendor_verifier.pipeline.suites import rejudged
from vendor_verifier.records.manifest import Manifest, ScoreRequest
from vendor_verifier.records.record import Record, Score
from vendor_verifier.records.results import Finding, GateResult, ModelResult, Report
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.reports import BY_DEFAULT, rendered
from vendor_verifier.scoring.answer import STALL_NS, AnswerTexts, EntryKey
from vendor_verifier.scoring.breakdowns import group_scores
from vendor_verifier.scoring.figures import Scored, ScoredRun, ScorePlan, score_models
from vendor_verifier.scoring.metrics import RANK_METRICS
from vendor_verifier.scoring.money import Money, costs_of_vendors, input_price_usd
from vendor_verifier.scoring.table import Frames, read_frames
from vendor_verifier.store import RUNS, RunFolder
from vendor_verifier.suites import Suite, is_diagnostic, known_suite
from vendor_verifier.suites.probes import NAME, group_of
from vendor_verifier.text import counted

_MOST_LAG_MS = STALL_NS / 1e6
# The share of a core above which every client's time stamps go wrong.
_MOST_CORE = 0.7
# A single standstill of this length is reported: a stopped process, a machine that slept.
_STANDSTILL_MS = 1_000.0
# Whether a run with this status is complete. One that was killed still says "running": its records decide.
_COMPLETE = {"finished": True, "imported": True, "interrupted": False}
# Tags of a sample that results.json repeats.
_GROUPS = ("category", "difficulty", "call_type")
# Settings of sending that decide no figure.
_NOT_SHOWN = ("baseline_repeats", "client", "limits", "retry", "max_requests", "max_cost_usd", "stated")


def score_again(folder: RunFolder, options: RunOptions, **changes: Any) -> ScoredRun:
    """Score a stored run with other policies, keep them in its manifest, and rewrite its files.

    ``options`` are options of its evaluations that say how answers are judged; ``changes`` are fields of
    :class:`vendor_verifier.records.manifest.ScoreRequest`, None where the run's own applies.

    Raises:
        RunFolderError: not a readable run folder.
        ProblemsError: options that are invalid, or that decide what is sent.
    """
    manifest = rejudged(folder.read_manifest(), options)
    stated = {name: value for name, value in changes.items() if value is not None}
    if "gates" in stated:
        stated["model_gates"] = {}
    manifest = structs.replace(manifest, score=structs.replace(manifest.score, **stated))
    check_score(manifest.score, manifest.suites)
    folder.write_manifest(manifest)
    for task in manifest.tasks:
        known_suite(task.suite).around().after_run(folder, task)
    return score_and_write(folder, manifest.suites)


def score_and_write(folder: RunFolder, suites: Sequence[str], results_file: Path | None = None) -> ScoredRun:
    """Score the records of a run and write its reports; the results of its tasks to ``results_file``, too."""
    # What is only compared with the baseline has no score of its own.
    has_scores = any(kind.ranks_by is not None and not kind.diagnostic for kind in map(known_suite, suites))
    results = TaskResults() if results_file is not None or has_scores else None
    scored = score_folder(folder, results=results)
    write_reports(folder, scored)
    if results is not None:
        results.write(folder, scored, results_file)
    return scored


def score_folder(folder: RunFolder, *, gates: Sequence[str] = (), results: TaskResults | None = None) -> ScoredRun:
    """Score the records of a run by its manifest, with ``gates`` in place of its own where any are given.

    ``results`` takes every answer as it is judged.

    Raises:
        RunFolderError: not a readable run folder.
    """
    manifest = stored_manifest(folder)
    if gates:
        score = structs.replace(manifest.score, gates=tuple(gates), model_gates={})
        manifest = structs.replace(manifest, score=score)
    asked = {name: folder.read_samples(name) for name in manifest.suites}
    warnings = [*run_warnings(manifest)]
    suites: dict[str, Suite] = {}
    for task in manifest.tasks:
        kind, samples = known_suite(task.suite), asked[task.suite]
        suite, hooks = build_suite(kind, task.options), kind.around()
        suites[task.suite] = suite = hooks.ready(suite, task.options, samples, folder)
        # A redacted sample no longer shows what it can measure.
        warnings += () if manifest.redacted else hooks.notes(suite, samples)
    ranked = {name: samples for name, samples in asked.items() if not is_diagnostic(name)}
    plan = ScorePlan(
        entries=tuple(manifest.entries),
        samples=asked,
        repeat=manifest.settings.repeat,
        # What a killed run under a timed load lacks cannot be seen from its records.
        complete=_COMPLETE.get(manifest.status, False if manifest.is_by_doing else None),
        imported=manifest.status == "imported",
        undecided=manifest.score.undecided,
        schema_policy=manifest.score.schema_policy,
        baseline_f1=manifest.score.baseline_f1,
        rank_metrics=(*RANK_METRICS, *manifest.score.rank_metrics),
        ttft="ttft_due_ms" if manifest.ranks_by_schedule else "ttft_ms",
    )
    unread: list[str] = []
    frames = read_frames(
        folder.read_records(lambda line, reason: unread.append(f"{line} cannot be read and is not scored: {reason}")),
        suites,
        asked,
        repeats={entry.key: entry.repeat or plan.repeat for entry in plan.entries},
        texts=AnswerTexts.of({} if manifest.redacted else ranked),
        listener=None if results is None else results.take,
    )
    scored = score_models(frames, plan)
    warnings += scored.warnings
    if frames.outside:
        warnings.append(f"{counted(frames.outside, 'record')} of no sample or vendor of this run: ignored.")
    return _judged(manifest, asked, frames, scored, [*warnings, *unread])


def _judged(
    manifest: Manifest, asked: Mapping[str, Samples], frames: Frames, scored: Scored, warnings: Sequence[str]
) -> ScoredRun:
    """The scored run: the results of every model with their verdicts, all findings, and the outcome of every gate."""
    prices = {entry.key: entry.price for entry in manifest.entries if entry.price is not None}
    money = costs_of_vendors(frames.records, frames.attempts, prices, manifest.score.schema_policy)
    models: dict[str, ModelResult] = {}
    findings: list[Finding] = []
    gates: list[GateResult] = []
    # Answers of another provider than the pinned one say nothing of the vendor.
    own = replace(frames, records=frames.records[~scored.records["misrouted"]])
    for model, result in scored.models.items():
        run = _model_run(model, result, manifest, asked, own, money)
        judged = judge(run, result.vendors)
        findings += judged.findings
        wanted = read_gates(manifest.score.gates_of(model), manifest.suites)
        # Gates read what figures read: without speeds that were withheld.
        run = replace(run, records=scored.records.loc[run.records.index])
        gates += judge_gates(run, result.vendors, judged.verdicts, wanted)
        vendors = {
            label: structs.replace(
                vendor,
                verdict=judged.verdicts[label],
                input_price_usd=input_price_usd(prices.get((model, label)), vendor.cached_share),
            )
            for label, vendor in result.vendors.items()
        }
        models[model] = structs.replace(result, vendors=vendors, choice=judged.choice)
    report = Report(
        run=manifest.run,
        complete=scored.complete,
        settings=_settings(manifest),
        warnings=tuple(dict.fromkeys(warnings)),
        dataset=tuple(dict.fromkeys(defect for task in manifest.tasks for defect in task.defects)),
        not_run={f"{task.suite} {name}": str(why) for task in manifest.tasks for name, why in task.not_run.items()},
        models=models,
        gates=tuple(gates),
    )
    return ScoredRun(
        manifest=manifest,
        report=report,
        records=scored.records,
        attempts=frames.attempts,
        evaluations=frames.evaluations,
        samples=asked,
        texts=frames.texts,
        findings=tuple(findings),
        money=money,
    )


def check_score(score: ScoreRequest, suites: Sequence[str]) -> None:
    """Refuse rank metrics that are not scores, and gates and SLOs that cannot be read, before records are read."""
    problems = rank_problems(score.rank_metrics, suites)
    stated = [("--gate", text) for texts in (score.gates, *score.model_gates.values()) for text in texts]
    for key, text in dict.fromkeys([*stated, *(("--slo", text) for text in score.slos)]):
        try:
            parse_slo(text) if key == "--slo" else parse_gate(text, suites)
        except GateError as error:
            problems.append(Problem(str(error), key=key))
    if problems:
        raise ProblemsError(problems)


def _settings(manifest: Manifest) -> dict[str, Any]:
    """What decides the figures: how it was sent and how it is scored, as far as it is stated."""
    sent, score = to_builtins(manifest.settings), to_builtins(manifest.score)
    stated = {**sent, **score, "suites": manifest.suites}
    return {name: value for name, value in stated.items() if name not in _NOT_SHOWN and value not in (None, {}, (), [])}


def write_reports(folder: RunFolder, scored: ScoredRun, names: Sequence[str] = BY_DEFAULT) -> list[Path]:
    """Write these report files and return their paths."""
    return [folder.write(name, text) for name, text in rendered(scored, names).items()]


def _model_run(
    model: str,
    result: ModelResult,
    manifest: Manifest,
    asked: Mapping[str, Samples],
    frames: Frames,
    money: Mapping[EntryKey, Money],
) -> ModelRun:
    records = frames.records[frames.records["model"] == model]
    are_diagnostics = records["suite"].map(is_diagnostic).astype(bool)
    entries = [entry for entry in manifest.entries if entry.model == model]
    return ModelRun(
        model=model,
        baseline=result.baseline,
        labels=tuple(entry.label for entry in entries),
        records=records[~are_diagnostics],
        attempts=frames.attempts[frames.attempts["model"] == model],
        diagnostics=records[are_diagnostics],
        planned={label: vendor.planned for label, vendor in result.vendors.items()},
        model_ids={entry.label: entry.model_id for entry in entries},
        keys={entry.label: entry.key_name for entry in entries if entry.key_name is not None},
        texts={entry.label: frames.texts.kept.get((model, entry.label), {}) for entry in entries},
        money={label: spent for (name, label), spent in money.items() if name == model},
        prices={entry.label: entry.price for entry in entries if entry.price is not None},
        probe_texts={group_of(each.id): str(each.turn.messages[-1]["content"]) for each in asked.get(NAME, ())},
        redacted=manifest.redacted,
        is_imported=manifest.status == "imported",
        # Reports name a run by its id, so they do not reveal its path.
        run=(RUNS / manifest.run).as_posix(),
        seed=abs(manifest.settings.seed or 0),
    )


def run_warnings(manifest: Manifest) -> Iterator[str]:
    """One sentence for each departure from what was asked for."""
    yield from manifest.warnings
    if manifest.limit:
        yield f"The run ended early: {manifest.limit}."
    for label, reason in manifest.stopped.items():
        yield f"{label} was stopped: {reason}"
    for label, (given, lowest, last) in manifest.concurrency_lowered.items():
        yield f"{label} limited our rate. Concurrency was lowered from {given} to {lowest} ({last} at the end)."
    for executor in manifest.executors:
        for loss in executor.lost_sessions:
            yield f"Worker {loss.session} was lost ({loss.reason}). Other workers repeated its open requests."
    yield from _load_warnings(manifest)
    yield from _lag_warnings(manifest)
    if manifest.redacted:
        yield "Content is redacted: prompts and answers are shown as digests."
    for task in manifest.tasks:
        for skipped in task.skipped:
            yield f"Sample left out: {skipped}"


def _load_warnings(manifest: Manifest) -> Iterator[str]:
    """Warnings where the load was another than asked for, or the warm-up failed."""
    if manifest.ranks_by_schedule:
        yield "The concurrency limit delayed requests: avg_ttft_ms counts from the due time, ttft_ms from sending."
    for label, kept in (manifest.load or {}).items():
        if kept.held_back:
            yield f"{label}: {kept.held_back} requests started late because {kept.cap} were already in flight."
        elif (kept.lag_p99_ms or 0.0) > _MOST_LAG_MS:
            yield (
                f"{label}: requests started up to {kept.lag_p99_ms:.0f} ms late (p99). This machine was too busy for "
                "the rate; lower it."
            )
        if kept.warmup and kept.warmup_failed == kept.warmup:
            yield f"{label}: the whole warm-up failed ({counted(kept.warmup, 'request')})."


def _lag_warnings(manifest: Manifest) -> Iterator[str]:
    """Warnings where this machine was too busy to time answers well."""
    loop = manifest.event_loop
    if loop is None:
        return
    if (loop.max_ms or 0.0) > _STANDSTILL_MS:
        yield (
            f"This process stopped for up to {(loop.max_ms or 0.0) / 1000:.1f} s; requests in flight then are not "
            "timed, and no time limit counts it."
        )
    advice = "Use an idle machine, less load, or more --workers where there are cores for them."
    if loop.p99_ms is not None and loop.p99_ms > _MOST_LAG_MS:
        yield f"This machine was busy: times may be up to {loop.p99_ms:.0f} ms too long (p99). {advice}"
    if loop.core_share is not None and loop.core_share > _MOST_CORE:
        used, most = percent(loop.core_share), percent(_MOST_CORE)
        yield f"Sending used {used} of a core; above {most} times are too long. {advice}"


class TaskResults:
    """``results.json``: every answer as its evaluation judges it, with the fields of the evaluation's page.

    Rows are taken one by one; of several records under one key a success replaces a failure.
    """

    def __init__(self) -> None:
        # (suite, line, sample, repetition, model, label) → (succeeded, the row as JSON)
        self._rows: dict[tuple[str, int, str, int, str, str], tuple[bool, bytes]] = {}

    def take(self, record: Record, sample: Sample, score: Score) -> None:
        """Add one record of the plan."""
        line = sample.source.line if sample.source else 0
        key = (record.suite, line, record.sample, record.repetition, record.model, record.label)
        known = self._rows.get(key)
        if known is None or (record.succeeded and not known[0]):
            self._rows[key] = record.succeeded, json.dumps(_row(record, sample, score), default=str).encode()

    def write(self, folder: RunFolder, scored: ScoredRun, also: Path | None = None) -> None:
        """Write the file into the folder, and the same to another file if one is named.

        Raises:
            StorageError: the disk refused.
        """
        folder.write("results.json", self._pieces(scored))
        if also is not None:
            other = RunFolder(also.absolute().parent)
            other.create()
            other.write(also.name, self._pieces(scored))

    def _pieces(self, scored: ScoredRun) -> Iterator[bytes]:
        head = {"run": scored.report.run, "complete": scored.report.complete, "summary": _summary(scored)}
        yield json.dumps(head, indent=1).encode().removesuffix(b"\n}") + b',\n "tasks": ['
        for at, key in enumerate(sorted(self._rows)):
            yield (b",\n  " if at else b"\n  ") + self._rows[key][1]
        yield b"\n ]\n}\n"


def _row(record: Record, sample: Sample, score: Score) -> dict[str, Any]:
    failure = next((each.failure for each in record.finals if each.failure is not None), None)
    own = sample.tags.get("id")
    return {
        "task_id": record.sample if own is None else str(own),
        "sample": record.sample,
        "repetition": record.repetition,
        "model": record.model,
        "vendor": record.label,
        "suite": record.suite,
        **{name: sample.tags[name] for name in _GROUPS if isinstance(sample.tags.get(name), str)},
        "succeeded": record.succeeded,
        **({} if failure is None else {"failure": failure.kind}),
        "decision": score.decision,
        **({"calls": [[call.tool, call.verdict] for call in score.calls]} if score.calls else {}),
        **score.values,
        **score.details,
    }


def _summary(scored: ScoredRun) -> list[dict[str, Any]]:
    groups = group_scores(scored.evaluations, scored.records)
    return [
        {
            "model": name,
            "vendor": label,
            "suite": suite,
            "tasks": result.planned,
            "judged": result.judged,
            **result.values,
            "groups": groups.get((name, label, suite), {}),
        }
        for name, model in scored.report.models.items()
        for label, vendor in model.vendors.items()
        for suite, result in vendor.suites.items()
    ]
