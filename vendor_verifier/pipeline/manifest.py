"""Makes the manifest of a run from its plan and its end, and the function that redacts stored records."""

from __future__ import annotations

import hashlib
import platform
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from msgspec import structs

from vendor_verifier import __version__
from vendor_verifier.errors import RunFolderError
from vendor_verifier.loaders.building import parameter_defects
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.records.failures import QUESTION_REFUSED
from vendor_verifier.records.manifest import (
    EntryInfo,
    Executor,
    LoadReport,
    Manifest,
    ScoreRequest,
    StoredSettings,
    StoredTask,
    Tool,
)
from vendor_verifier.records.plan import Entry, LoadShape, Plan, Task
from vendor_verifier.records.record import Record
from vendor_verifier.redaction import redacted_record, redacted_sample, redacted_words
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import TRIGGER, is_diagnostic, suite_kind
from vendor_verifier.suites.schema import checker_of
from vendor_verifier.suites.trigger import judged

if TYPE_CHECKING:
    from vendor_verifier.loaders.results import Imported
    from vendor_verifier.pipeline.plan import Prepared
    from vendor_verifier.run.local import RunEnd
    from vendor_verifier.run.queue import Part


def redactor(plan: Plan, parts: Iterable[Part]) -> Callable[[Record], Record]:
    """A function that redacts a record of ``parts`` before it is written."""
    asked = {part.suite.name: (part.suite, part.samples) for part in parts}

    def redact(record: Record) -> Record:
        if not hides(plan, record.suite):
            return record
        suite, samples = asked[record.suite]
        sample = samples.named(record.sample)
        assert sample is not None
        score = judged(record, suite, sample)
        # A redacted sample no longer shows that it brought a refusal on.
        refused = any(each.failure is not None and each.failure.kind in QUESTION_REFUSED for each in record.finals)
        if refused and (checker_of(sample.turn.tools).may_be_refused or parameter_defects(sample.turn.parameters)):
            score = structs.replace(score, anomalies=(*score.anomalies, "refused_defective_sample"))
        return redacted_record(record, score)

    return redact


def hides(plan: Plan, suite: str) -> bool:
    """Whether texts of this evaluation are redacted; our own questions (the checks of features) are not secret."""
    return plan.redact_content and not is_diagnostic(suite)


_TOOL = Tool("agent-vendor-verifier", __version__)
_PACKAGES = ("httpx2", "anyio", "jsonschema-rs", "msgspec", "tenacity", "numpy", "scipy", "genai-prices")
# What is asked of an entry and how: equal in all sessions of a run.
_ASKED = "vendor model_id url wire provider parameters extra_body is_baseline".split()
_LONG = ("parameters", "extra_body", "samples", "options")
_MAX_SHOWN = 3


def begun(folder: RunFolder, prepared: Prepared) -> Manifest:
    """The manifest of a new run, written into its folder with the samples."""
    if folder.manifest_file.exists():
        raise RunFolderError(f"{folder.path} already holds a run; name another, or resume it with `run --incremental`")
    manifest = _new_manifest(f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}", prepared)
    for task in prepared.plan.tasks:
        is_hidden = hides(prepared.plan, task.suite)
        folder.write_samples(task.suite, map(redacted_sample, task.samples) if is_hidden else task.samples)
    # By the manifest the folder is a run.
    folder.write_manifest(manifest)
    return manifest


def resumed(folder: RunFolder, prepared: Prepared) -> Manifest:
    """The manifest of the run to resume, with the gates, SLOs and options of judging that are stated now."""
    score, manifest = prepared.configuration.score, folder.read_manifest()
    now = _new_manifest(manifest.run, prepared)
    _refuse_other_plan(folder, manifest, now)
    stated = {task.suite: task.options for task in now.tasks}
    tasks = [structs.replace(task, options={**task.options, **stated[task.suite]}) for task in manifest.tasks]
    kept = manifest.score
    if score.gates or score.model_gates:
        kept = structs.replace(kept, gates=score.gates, model_gates=score.model_gates)
    if score.slos:
        kept = structs.replace(kept, slos=score.slos)
    return structs.replace(manifest, status="running", score=kept, tasks=tasks)


def _new_manifest(run: str, prepared: Prepared) -> Manifest:
    """The manifest of a run that begins now."""
    plan = prepared.plan
    sent = {name: getattr(plan, name) for name in StoredSettings.__struct_fields__ if hasattr(plan, name)} | {
        "baseline_repeats": max((plan.repeat_of(entry) for entry in plan.entries), default=plan.repeat),
        "load": plan.load if plan.load.is_shaped else None,
        "stated": prepared.options.stated(),
    }
    return Manifest(
        run=run,
        tool=_TOOL,
        python=platform.python_version(),
        platform=platform.platform(terse=True),
        packages={package: version(package) for package in _PACKAGES},
        # To the millisecond: a history orders runs by it, and two may begin within one second.
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        status="running",
        entries=[_stored_entry(entry, plan.repeat_of(entry)) for entry in plan.entries],
        tasks=[
            # These sentences quote samples.
            _stored_task(task, each.dataset, redacted_words if hides(plan, task.suite) else str)
            for each, task in zip(prepared.evaluations, plan.tasks, strict=True)
        ],
        settings=StoredSettings(**sent),
        score=prepared.configuration.score,
        warnings=list(plan.warnings),
        redacted=plan.redact_content,
    )


def imported_manifest(
    run: str, imported: Imported, dataset: Dataset, files: Mapping[str, Mapping[str, str]], score: ScoreRequest
) -> Manifest:
    """The manifest of other people's results; ``files`` are name and digest by label."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Manifest(
        run=run,
        tool=_TOOL,
        created_at=now,
        finished_at=now,
        status="imported",
        imported={label: dict(file) for label, file in files.items()},
        entries=list(imported.entries),
        tasks=[_stored_task(Task(TRIGGER, imported.samples), dataset)],
        settings=StoredSettings(repeat=1),
        score=score,
        warnings=list(imported.warnings),
    )


def _stored_entry(entry: Entry, repeat: int) -> EntryInfo:
    """The entry without any secret: no key, and of the headers only their names."""
    same = {name: getattr(entry, name) for name in EntryInfo.__struct_fields__ if hasattr(entry, name)}
    return EntryInfo(
        **same,
        model_id=entry.endpoint.model_id,
        repeat=repeat,
        url=entry.endpoint.base_url,
        extra_body=dict(entry.endpoint.body),
        extra_headers=sorted(entry.endpoint.headers),
    )


def _stored_task(task: Task, dataset: Dataset, words: Callable[[str], str] = str) -> StoredTask:
    return StoredTask(
        suite=task.suite,
        options=dict(task.options),
        skipped=[words(each) for each in dataset.skipped],
        defects=[words(each) for each in dataset.defects],
        count=len(task.samples),
        asked=hashlib.sha256("\n".join(sample.id for sample in task.samples).encode()).hexdigest(),
        file=dataset.name,
        sha256=dataset.sha256,
        source=dataset.source,
        not_run={name: dict(reasons) for name, reasons in dataset.not_run.items()},
        job=dict(dataset.job),
    )


def _refuse_other_plan(folder: RunFolder, stored: Manifest, now: Manifest) -> None:
    """Check that a run may be resumed as ``now`` plans it; pace and timeouts may differ."""
    if stored.is_by_doing:
        raise RunFolderError(
            f"{folder.path} is a run with a duration and cannot be resumed; start a new run with another --output-dir"
        )
    if differences := list(_differences(_asked(stored), _asked(now))):
        more = len(differences) - _MAX_SHOWN
        shown = "; ".join(differences[:_MAX_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise RunFolderError(
            f"{folder.path} was made with other settings: {shown}. Resume with the same configuration, samples and "
            "flags, or start a new run with another --output-dir"
        )


def _asked(manifest: Manifest) -> dict[str, dict[str, Any]]:
    """What is asked of whom and how, which all sessions of a run share, by words for it."""
    settings = manifest.settings
    run = {
        "repeat": settings.repeat,
        "baseline-repeats": settings.baseline_repeats,
        "question seed": settings.question_seed,
        "redact_content": manifest.redacted,
        "load": str(settings.load or LoadShape()),
    }
    suites = {}
    for task in manifest.tasks:
        kind = suite_kind(task.suite)
        judges = () if kind is None else kind.judges_by
        options = {name: value for name, value in task.options.items() if name not in judges}
        suites[f"suite {task.suite}"] = {"samples": task.asked, "options": options}
    entries = {
        f"{entry.model} / {entry.label}": {name: getattr(entry, name) for name in _ASKED} for entry in manifest.entries
    }
    return {"run": run, **suites, **entries}


def _differences(before: Mapping[str, Mapping[str, Any]], now: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What differs, with both values where they are short."""
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            yield f"{name} is {'new' if old is None else 'gone'}"
            continue
        for field in (field for field in old if old[field] != new[field]):
            yield f"{name}: {field} " + ("differ" if field in _LONG else f"was {old[field]}, is {new[field]}")


def stored_manifest(folder: RunFolder) -> Manifest:
    """The manifest of a run; for a killed run under a timed load the requests started are counted from its records."""
    manifest = folder.read_manifest()
    if not manifest.tasks:
        raise RunFolderError(f"{folder.manifest_file} names no evaluation; it is damaged, or no run of this tool")
    if not manifest.is_by_doing or all(entry.begun is not None for entry in manifest.entries):
        return manifest
    asked: dict[tuple[str, str], list[int]] = {entry.key: [] for entry in manifest.entries}
    for record in folder.read_records(lambda _line, _reason: None):
        asked.get((record.model, record.label), []).append(record.repetition)
    entries = [
        structs.replace(each, begun=len(asked[each.key]), repeat=max(asked[each.key], default=0) + 1)
        for each in manifest.entries
    ]
    return structs.replace(manifest, entries=entries)


def with_ending(manifest: Manifest, end: RunEnd, plan: Plan, executor: Executor) -> Manifest:
    """The manifest with the end of a session, its executor and, under a timed load, the number of requests started."""
    # Scoring reads manifests and sends nothing.
    from vendor_verifier.pipeline.plan import places

    words = redacted_words if plan.redact_content else str
    loads = end.load or {}
    stopped, lowered = {}, {}
    for entry, info in zip(plan.entries, manifest.entries, strict=True):
        if reason := end.refused.get(info.key) or end.stopped.get(entry.account):
            stopped[info.name] = words(reason)
        if entry.account in end.eased:
            lowered[info.name] = end.eased[entry.account]
    entries = manifest.entries
    if plan.load.is_timed:
        done = ((info, loads.get(info.key, LoadReport())) for info in entries)
        entries = [structs.replace(info, repeat=max(1, load.repetitions), begun=load.begun) for info, load in done]
    is_whole = end.signal_number is None and end.limit is None
    # Where nobody set a cap, it is what this system can open, and no load that was asked for.
    own = places(plan.load, None, plan.entries)
    is_late = any(load.held_back and load.cap < own for load in loads.values())
    return structs.replace(
        manifest,
        status="finished" if is_whole else "interrupted",
        limit=end.limit,
        stopped=stopped,
        concurrency_lowered=lowered,
        event_loop=end.loop,
        load={info.name: loads[info.key] for info in entries if info.key in loads} or None,
        ranks_by_schedule=manifest.ranks_by_schedule or is_late,
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        entries=entries,
        executors=[*manifest.executors, executor],
    )
