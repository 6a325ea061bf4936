"""The manifest of a run, and the redaction of what a run stores; neither ever holds a secret."""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from vendor_verifier import __version__
from vendor_verifier.config import describe
from vendor_verifier.errors import RunFolderError
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.load_profile import told_load
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.prices import told_price
from vendor_verifier.pipeline.request import ScoreRequest
from vendor_verifier.redaction import redacted_record, redacted_words
from vendor_verifier.reports.run_conditions import load_words
from vendor_verifier.run.work_queue import Part
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import suite_kind
from vendor_verifier.suites.base import Suite, judged
from vendor_verifier.suites.schema import schema_defects
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite
from vendor_verifier.values.failure_kinds import QUESTION_REFUSED
from vendor_verifier.values.plan import Plan, Task
from vendor_verifier.values.record import Record
from vendor_verifier.values.sample import Samples, listed
from vendor_verifier.values.score import EntryInfo, Report
from vendor_verifier.words import Texts, english


def redactor(parts: Iterable[Part]) -> Callable[[Record], Record]:
    """What to pass every record of ``parts`` through before it is written."""
    kept = TriggerSuite(checkers=KeptCheckers())
    asked: dict[str, tuple[Suite, Samples]] = {
        part.suite.name: (kept if isinstance(part.suite, TriggerSuite) else part.suite, part.samples) for part in parts
    }

    def redact(record: Record) -> Record:
        if keeps_texts(record.suite):
            return record
        suite, samples = asked[record.suite]
        sample = samples.named(record.sample)
        assert sample is not None
        score = judged(record, suite, sample)
        if _is_refused(record) and schema_defects(sample):
            score = replace(score, anomalies=(*score.anomalies, "refused_defective_sample"))
        return redacted_record(record, score)

    return redact


def keeps_texts(suite: str) -> bool:
    """Whether this evaluation asks questions of our own, which are nobody's secret (the checks of features)."""
    kind = suite_kind(suite)
    return kind is not None and kind.apart


def redacted_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """One evaluation of the manifest without sentences that quote samples."""
    return {
        **task,
        "skipped": [redacted_words(words) for words in task["skipped"]],
        "defects": [redacted_words(words) for words in task["defects"]],
    }


def _is_refused(record: Record) -> bool:
    """Whether the question was refused: a redacted sample no longer shows that its own schema brought it on."""
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    return any(attempt.failure is not None and attempt.failure.kind in QUESTION_REFUSED for attempt in finals)


MANIFEST_SCHEMA = 1
_PACKAGES = ("httpx2", "anyio", "jsonschema-rs", "msgspec", "tenacity", "numpy", "scipy", "genai-prices")


def new_manifest(run: str, prepared: Prepared, score: ScoreRequest) -> dict[str, Any]:
    """The manifest of a run that begins now."""
    plan, now = prepared.plan, datetime.now(UTC)
    return {
        "schema": MANIFEST_SCHEMA,
        "run": run,
        "tool": {"name": "agent-vendor-verifier", "version": __version__},
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": package_versions(),
        "created_at": now.isoformat(timespec="seconds"),
        "finished_at": None,
        "status": "running",
        "entries": [
            told | {"repeat": plan.repeat_of(entry)} | told_price(entry, now)
            for told, entry in zip(describe(plan.entries), plan.entries, strict=True)
        ],
        "tasks": [_told_task(task, prepared) for task in plan.tasks],
        "settings": _settings(plan),
        "score": asdict(score),
        "identity": identity(plan),
        "warnings": list(plan.warnings),
        "stopped": {},
        "resent": {},
        "redacted": plan.redact_content,
    }


def _told_task(task: Task, prepared: Prepared) -> dict[str, Any]:
    told = task_entry(task, prepared.datasets[task.suite])
    return redacted_task(told) if prepared.plan.redact_content and not keeps_texts(task.suite) else told


def identity(plan: Plan) -> dict[str, Any]:
    """What must be the same for records of two sittings to belong to one run; pace and patience may differ."""
    asked = (
        "model",
        "label",
        "vendor",
        "model_id",
        "url",
        "wire",
        "provider",
        "parameters",
        "extra_body",
        "is_baseline",
    )
    return {
        "entries": [{key: entry[key] for key in asked} for entry in describe(plan.entries)],
        "samples": {task.suite: _digest(task) for task in plan.tasks},
        "suites": {task.suite: dict(task.options) for task in plan.tasks},
        "repeat": plan.repeat,
        **({"baseline_repeats": most} if (most := _most_repeats(plan)) > plan.repeat else {}),
        # Only where it is so: what was stored without texts cannot be gone on with them, nor the other way round.
        **({"redacted": True} if plan.redact_content else {}),
    }


def _most_repeats(plan: Plan) -> int:
    return max((plan.repeat_of(entry) for entry in plan.entries), default=plan.repeat)


def _digest(task: Task) -> str:
    return hashlib.sha256("\n".join(listed(task.samples).ids).encode()).hexdigest()


def task_entry(task: Task, dataset: Dataset) -> dict[str, Any]:
    """One evaluation as the manifest tells it."""
    return {
        "suite": task.suite,
        "options": dict(task.options),
        "file": dataset.name,
        "sha256": dataset.sha256,
        "count": len(task.samples),
        "skipped": list(dataset.skipped),
        "defects": list(dataset.defects),
        "not_run": dict(dataset.not_run),
        **({"job": dict(dataset.job)} if dataset.job else {}),
    }


def refuse_other_plan(folder: RunFolder, stored: Mapping[str, Any], plan: Plan) -> None:
    """Raise RunFolderError naming what differs between a stored run and the plan that would continue it."""
    if is_by_doing(stored):
        raise RunFolderError(
            f"{folder.path} lasted a stated time or followed a schedule: it is one stretch of time and cannot be gone "
            "on with; start a new run with another --output-dir"
        )
    sent_as, now_as = (load_words(load or {}, Texts("en")) for load in (_stored_load(stored), told_load(plan.load)))
    if sent_as != now_as:
        raise RunFolderError(
            f"{folder.path} was sent as {sent_as}, this would be {now_as}, and times under two loads are not one "
            "measurement; resume with the same flags, or start a new run with another --output-dir"
        )
    before, now = stored.get("identity"), identity(plan)
    if before == now:
        return
    known = before if isinstance(before, dict) else {}
    differing = [key for key in {**now, **known} if known.get(key) != now.get(key)]
    raise RunFolderError(
        f"{folder.path} was made with other {', '.join(differing)}; "
        "resume with the same configuration, samples, --repeat and --baseline-repeats, or start a new run with another "
        "--output-dir"
    )


def is_by_doing(manifest: Mapping[str, Any]) -> bool:
    """Whether nobody planned how much is asked: the run lasted a stated time, or followed a schedule."""
    shape = _stored_load(manifest) or {}
    return shape.get("duration_s") is not None or bool(shape.get("schedule"))


def _stored_load(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    shape: dict[str, Any] | None = (manifest.get("settings") or {}).get("load")
    return shape


def stored_manifest(folder: RunFolder) -> dict[str, Any]:
    """The manifest of a run; what was begun of a run by doing that was killed is counted from its records.

    Raises:
        RunFolderError: there is none, or it cannot be read.
    """
    manifest = folder.read_manifest()
    missing = [key for key in ("run", "settings", "entries") if key not in manifest]
    if missing and manifest.get("tasks"):
        raise RunFolderError(f"{folder.manifest_file} has no {missing[0]}; it is damaged, or no run of this tool")
    if not is_by_doing(manifest) or all("begun" in entry for entry in manifest.get("entries", ())):
        return manifest
    begun: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], int] = {}
    for record in folder.read_records(lambda _number, _reason: None):
        key = (record.model, record.label)
        begun[key] += 1
        last[key] = max(record.repetition, last.get(key, 0))
    for entry in manifest["entries"]:
        key = (entry["model"], entry["label"])
        entry |= {"begun": begun[key], "repeat": last.get(key, 0) + 1}
    return manifest


def entry_infos(manifest: Mapping[str, Any]) -> tuple[EntryInfo, ...]:
    """The lines of the ranking, from a stored manifest.

    Raises:
        RunFolderError: the manifest does not describe its entries.
    """
    try:
        return tuple(
            EntryInfo(
                model=entry["model"],
                label=entry["label"],
                vendor=entry["vendor"],
                model_id=entry["model_id"],
                provider=entry.get("provider"),
                is_baseline=bool(entry.get("is_baseline")),
                repeat=entry.get("repeat"),
                begun=entry.get("begun"),
            )
            for entry in manifest["entries"]
        )
    except (KeyError, TypeError) as error:
        raise RunFolderError(f"the manifest's entries are damaged: {error!r}") from None


def places_of(manifest: Mapping[str, Any]) -> dict[tuple[str, str], int | None]:
    """Requests in flight that were asked for, by (model, label); None where the load was a rate, or nobody knows."""
    shape, usual = _stored_load(manifest) or {}, (manifest.get("settings") or {}).get("request_concurrency")
    is_open = bool(shape.get("request_rate") or shape.get("schedule"))
    return {
        (entry["model"], entry["label"]): None if is_open else entry.get("concurrency") or usual
        for entry in manifest["entries"]
    }


def takes_turns(manifest: Mapping[str, Any]) -> bool:
    """Whether only so many vendors were asked at a time."""
    most = (manifest.get("settings") or {}).get("vendor_concurrency")
    return most is not None and most < len(manifest["entries"])


def told_pace(report: Report) -> dict[str, Any]:
    """Every vendor's requests in flight and answers a second, for the manifest."""
    return {
        "pace": {
            f"{model.model}: {vendor.label}": asdict(vendor.pace)
            for model in report.models
            for vendor in model.vendors
            if vendor.pace is not None
        }
    }


def with_executor(manifest: Mapping[str, Any], executor: Mapping[str, Any]) -> dict[str, Any]:
    """From where this sitting was sent; a run of several sittings lists them all."""
    return {"executors": [*manifest.get("executors", []), dict(executor)]}


def runs_beside(manifest: Mapping[str, Any]) -> Iterator[str]:
    """A warning for each run that used the same accounts over the same cluster meanwhile: limits are each run's own."""
    for executor in manifest.get("executors") or ():
        for run, labels in (executor.get("beside") or {}).items():
            yield english("warn_beside", run=run, labels=", ".join(labels))


def now_text() -> str:
    """UTC wall time, a label."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "repeat": plan.repeat,
        "baseline_repeats": _most_repeats(plan),
        "seed": plan.seed,
        "client": plan.client,
        "transport": plan.transport,
        "request_concurrency": plan.request_concurrency,
        "vendor_concurrency": plan.vendor_concurrency,
        "load": told_load(plan.load),
        "limits": asdict(plan.limits),
        "retry": asdict(plan.retry),
        "max_requests": plan.max_requests,
        "max_cost_usd": plan.max_cost_usd,
    }


def package_versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
