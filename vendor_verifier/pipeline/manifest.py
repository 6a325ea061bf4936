"""Makes the manifest of a run from its plan and its end, and the function that redacts stored records."""

from __future__ import annotations

import hashlib
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from msgspec import structs, to_builtins

from vendor_verifier import __version__
from vendor_verifier.config.load import describe
from vendor_verifier.errors import RunFolderError
from vendor_verifier.loaders.building import parameter_defects
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.prices import stored_price
from vendor_verifier.records.failures import QUESTION_REFUSED
from vendor_verifier.records.manifest import MANIFEST_SCHEMA, Manifest, ScoreRequest, load_text, manifest_of
from vendor_verifier.records.plan import Entry, LoadShape, Plan, Task
from vendor_verifier.records.record import Record
from vendor_verifier.redaction import redacted_record, redacted_words
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import TRIGGER, suite_kind
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.trigger import KeptCheckers

if TYPE_CHECKING:
    from vendor_verifier.loaders.results import Imported
    from vendor_verifier.pipeline.plan import Prepared
    from vendor_verifier.run.load import LoadReport
    from vendor_verifier.run.local import RunEnd
    from vendor_verifier.run.queue import Part


def redactor(parts: Iterable[Part]) -> Callable[[Record], Record]:
    """A function that redacts a record of ``parts`` before it is written."""
    asked = {part.suite.name: (part.suite, part.samples) for part in parts}
    checkers = KeptCheckers()

    def redact(record: Record) -> Record:
        if keeps_texts(record.suite):
            return record
        suite, samples = asked[record.suite]
        sample = samples.named(record.sample)
        assert sample is not None
        score = judged(record, suite, sample, checkers)
        if _is_refused(record) and (checkers(sample).may_be_refused or parameter_defects(sample.turn.parameters)):
            score = structs.replace(score, anomalies=(*score.anomalies, "refused_defective_sample"))
        return redacted_record(record, score)

    return redact


def keeps_texts(suite: str) -> bool:
    """Whether this evaluation asks our own questions, which are not secret (the checks of features)."""
    kind = suite_kind(suite)
    return kind is not None and kind.apart


def _is_refused(record: Record) -> bool:
    """Whether the question was refused: a redacted sample no longer shows that it brought this on."""
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    return any(attempt.failure is not None and attempt.failure.kind in QUESTION_REFUSED for attempt in finals)


# What is asked of whom and how: equal in all sessions of a run.
ASKED = "model label vendor model_id url wire provider parameters extra_body is_baseline".split()
_MAX_TOLD = 3
_PACKAGES = ("httpx2", "anyio", "jsonschema-rs", "msgspec", "tenacity", "numpy", "scipy", "genai-prices")


def new_manifest(run: str, prepared: Prepared) -> Manifest:
    """The manifest of a run that begins now."""
    plan, now = prepared.plan, datetime.now(UTC)
    return manifest_of(
        {
            "schema": MANIFEST_SCHEMA,
            "run": run,
            "tool": {"name": "agent-vendor-verifier", "version": __version__},
            "python": platform.python_version(),
            "platform": platform.platform(terse=True),
            "packages": package_versions(),
            # To the millisecond: a history orders runs by it, and two may begin within one second.
            "created_at": now.isoformat(timespec="milliseconds"),
            "finished_at": None,
            "status": "running",
            "entries": [
                described | {"repeat": plan.repeat_of(entry)} | stored_price(entry, now)
                for described, entry in zip(describe(plan.entries), plan.entries, strict=True)
            ],
            "tasks": [_stored_task(task, prepared) for task in plan.tasks],
            "settings": _settings(plan) | {"stated": prepared.options.stated()},
            "score": to_builtins(prepared.score),
            "identity": identity(plan),
            "warnings": list(plan.warnings),
            "stopped": {},
            "resent": {},
            "redacted": plan.redact_content,
        }
    )


def imported_manifest(
    run: str, imported: Imported, dataset: Dataset, files: Mapping[str, Mapping[str, str]], score: ScoreRequest
) -> Manifest:
    """The manifest of other people's results; ``files`` are name and digest by label."""
    now = now_text()
    return manifest_of(
        {
            "schema": MANIFEST_SCHEMA,
            "run": run,
            "tool": {"name": "agent-vendor-verifier", "version": __version__},
            "created_at": now,
            "finished_at": now,
            "status": "imported",
            "imported": files,
            "entries": [to_builtins(entry) for entry in imported.entries],
            "tasks": [task_entry(Task(TRIGGER, imported.samples), dataset)],
            "settings": {"repeat": 1},
            "score": to_builtins(score),
            "warnings": list(imported.warnings),
            "stopped": {},
        }
    )


def _stored_task(task: Task, prepared: Prepared) -> dict[str, Any]:
    stored = task_entry(task, prepared.datasets[task.suite])
    if not prepared.plan.redact_content or keeps_texts(task.suite):
        return stored
    # These sentences quote samples.
    return stored | {key: [redacted_words(words) for words in stored[key]] for key in ("skipped", "defects")}


def identity(plan: Plan) -> dict[str, Any]:
    """The settings that must be equal for two sessions to belong to one run; pace and timeouts may differ."""
    return {
        "entries": [{key: entry[key] for key in ASKED} for entry in describe(plan.entries)],
        "samples": {task.suite: _digest(task) for task in plan.tasks},
        "suites": {task.suite: dict(task.options) for task in plan.tasks},
        "repeat": plan.repeat,
        **({"baseline_repeats": most} if (most := _most_repeats(plan)) > plan.repeat else {}),
        # Only where it is set: a run stored without texts cannot be resumed with them, nor the other way round.
        **({"redacted": True} if plan.redact_content else {}),
        **_questions(plan),
    }


def _questions(plan: Plan) -> dict[str, int]:
    """The seed of what was made anew for this run; empty where nothing was."""
    if plan.question_seed is None:
        return {}
    return {"question_seed": plan.question_seed}


def _most_repeats(plan: Plan) -> int:
    return max((plan.repeat_of(entry) for entry in plan.entries), default=plan.repeat)


def _digest(task: Task) -> str:
    return hashlib.sha256("\n".join(sample.id for sample in task.samples).encode()).hexdigest()


def task_entry(task: Task, dataset: Dataset) -> dict[str, Any]:
    """One evaluation as the manifest stores it."""
    return {
        "suite": task.suite,
        "options": dict(task.options),
        "file": dataset.name,
        "sha256": dataset.sha256,
        **({"source": dataset.source} if dataset.source else {}),
        "count": len(task.samples),
        "skipped": list(dataset.skipped),
        "defects": list(dataset.defects),
        "not_run": dict(dataset.not_run),
        **({"job": dict(dataset.job)} if dataset.job else {}),
    }


def refuse_other_plan(folder: RunFolder, stored: Manifest, plan: Plan) -> None:
    """Raise RunFolderError naming the differences between a stored run and the plan that would resume it."""
    if stored.is_by_doing:
        raise RunFolderError(
            f"{folder.path} lasted a stated time or followed a schedule: it is one stretch of time and cannot be gone "
            "on with; start a new run with another --output-dir"
        )
    sent_as, now_as = (load_text(load or {}) for load in (stored.raw["settings"].get("load"), stored_load(plan.load)))
    if sent_as != now_as:
        raise RunFolderError(
            f"{folder.path} was sent as {sent_as}, this would be {now_as}, and times under two loads are not one "
            "measurement; resume with the same flags, or start a new run with another --output-dir"
        )
    before, now = stored.identity, identity(plan)
    if before == now:
        return
    known = before or {}
    differing = [key for key in {**now, **known} if known.get(key) != now.get(key)]
    details = list(_differences(known, now))
    told = "; ".join(details[:_MAX_TOLD]) + (f"; and {len(details) - _MAX_TOLD} more" if details[_MAX_TOLD:] else "")
    raise RunFolderError(
        f"{folder.path} was made with other {', '.join(differing)}{f' ({told})' if told else ''}; "
        "resume with the same configuration, samples, --repeat and --baseline-repeats, or start a new run with another "
        "--output-dir"
    )


def _differences(known: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The entries and numbers that differ between two identities, with both values where they are short."""
    before, after = (
        {(entry["model"], entry["label"]): entry for entry in each.get("entries", ())} for each in (known, now)
    )
    for key in {**before, **after}:
        name, old, new = " / ".join(key), before.get(key), after.get(key)
        if old is None or new is None:
            yield f"{name} is {'new' if old is None else 'gone'}"
            continue
        for field in (field for field in {**old, **new} if old.get(field) != new.get(field)):
            is_short = field not in ("parameters", "extra_body")
            yield f"{name}: {field}" + (f" was {old.get(field)}, is {new.get(field)}" if is_short else "")
    for field in ("repeat", "baseline_repeats"):
        if known.get(field) != now.get(field):
            yield f"{field.replace('_', '-')} was {known.get(field)}, is {now.get(field)}"


def stored_manifest(folder: RunFolder) -> Manifest:
    """The manifest of a run; for a killed run under a timed load the requests started are counted from its records.

    Raises:
        RunFolderError: there is none, or it cannot be read.
    """
    manifest = folder.read_manifest()
    if not manifest.tasks:
        raise RunFolderError(f"{folder.manifest_file} names no evaluation; it is damaged, or no run of this tool")
    if not manifest.is_by_doing or all(entry.begun is not None for entry in manifest.entries):
        return manifest
    begun: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], int] = {}
    for record in folder.read_records(lambda _line, _reason: None):
        key = (record.model, record.label)
        begun[key] += 1
        last[key] = max(record.repetition, last.get(key, 0))
    counted = [
        raw | {"begun": begun[entry.key], "repeat": last.get(entry.key, 0) + 1}
        for raw, entry in zip(manifest.raw["entries"], manifest.entries, strict=True)
    ]
    return manifest.changed(entries=counted)


def with_executor(manifest: Manifest, executor: Mapping[str, Any]) -> Manifest:
    """The manifest with the executor of this session added to those of earlier ones."""
    return manifest.changed(executors=_executors(manifest, executor))


def _executors(manifest: Manifest, executor: Mapping[str, Any]) -> list[Any]:
    return [*manifest.raw.get("executors", []), dict(executor)]


def with_ending(
    manifest: Manifest, end: RunEnd, plan: Plan, *, executor: Mapping[str, Any], resent: Mapping[str, int]
) -> Manifest:
    """The manifest with the end of a session, its executor and, under a timed load, the number of requests started."""
    reasons = (
        (entry, end.refused.get((entry.model, entry.label)) or end.stopped.get(entry.account)) for entry in plan.entries
    )
    words = redacted_words if plan.redact_content else str
    is_whole = end.signal_number is None and end.limit is None
    return manifest.changed(
        status="finished" if is_whole else "interrupted",
        limit=end.limit,
        stopped={f"{entry.model}: {entry.label}": words(reason) for entry, reason in reasons if reason is not None},
        concurrency_lowered={
            f"{entry.model}: {entry.label}": dict(
                zip(("given", "lowest", "last"), end.eased[entry.account], strict=True)
            )
            for entry in plan.entries
            if entry.account in end.eased
        },
        event_loop=None if end.loop is None else asdict(end.loop),
        load={
            f"{entry.model}: {entry.label}": _offered(manifest, entry, plan, kept)
            for entry in plan.entries
            if (kept := (end.load or {}).get((entry.model, entry.label))) is not None
        }
        or None,
        finished_at=now_text(),
        entries=[_with_begun(raw, plan, end) for raw in manifest.raw["entries"]],
        executors=_executors(manifest, executor),
        resent=dict(resent),
    )


def _offered(manifest: Manifest, entry: Entry, plan: Plan, kept: LoadReport) -> dict[str, Any]:
    """The load offered to an entry, and whether a cap of the user's, in this session or before, held requests back."""
    # Scoring reads manifests and sends nothing.
    from vendor_verifier.pipeline.load_profile import places

    before = (manifest.load or {}).get(f"{entry.model}: {entry.label}")
    # Where nobody set a cap, it is what this system can do, and no load that was asked for.
    is_asked = kept.cap < places(plan.load, None, plan.entries)
    by_schedule = (kept.held_back > 0 and is_asked) or (before is not None and before.by_schedule)
    return {**asdict(kept), "by_schedule": by_schedule}


def _with_begun(entry: Mapping[str, Any], plan: Plan, end: RunEnd) -> dict[str, Any]:
    if not plan.load.plans_by_doing:
        return dict(entry)
    report = (end.load or {}).get((entry["model"], entry["label"]))
    repeat, begun = (1, 0) if report is None else (max(1, report.repetitions), report.begun)
    return {**entry, "repeat": repeat, "begun": begun}


def stored_load(load: LoadShape) -> dict[str, Any] | None:
    """The load shape as the manifest stores it, a schedule as count and length only; None without a shape."""
    if not load.is_shaped:
        return None
    stored: dict[str, Any] = to_builtins(load)
    if load.schedule:
        stored["schedule"] = {"count": len(load.schedule), "last_s": load.schedule[-1]}
    else:
        del stored["schedule"]
    return stored


def now_text() -> str:
    """The UTC wall time as text, used as a label only."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "repeat": plan.repeat,
        "baseline_repeats": _most_repeats(plan),
        "seed": plan.seed,
        **_questions(plan),
        "client": plan.client,
        "request_concurrency": plan.request_concurrency,
        "vendor_concurrency": plan.vendor_concurrency,
        "load": stored_load(plan.load),
        "limits": to_builtins(plan.limits),
        "retry": to_builtins(plan.retry),
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
