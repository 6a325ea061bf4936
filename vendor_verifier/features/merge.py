"""The command ``merge``: runs that asked the same questions in the same way become one run folder.

The repetitions of a vendor are numbered on from run to run, so that no record takes the place of another, and so are
the blocks, so that what was asked on two mornings is not taken for one moment. A record keeps the name of the run it is
of. The manifests are kept in ``merged/``, and the new one has the SHA-256 of every file of records that was read.

Runs under a shaped load are merged where the load is the same and they follow each other. What a rate was, and the most
in flight on average, holds for each of them; what was asked and answered is over all.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number
from msgspec import structs, to_builtins

from vendor_verifier import __version__
from vendor_verifier.config.suite_options import known_suite
from vendor_verifier.console.output import gates_exit_code, print_report
from vendor_verifier.errors import Problem, ProblemsError, RunFolderError
from vendor_verifier.pipeline.execute import duplicates_of
from vendor_verifier.pipeline.manifest import ASKED, now_text, stored_manifest
from vendor_verifier.pipeline.options import OUTPUT, flag, option
from vendor_verifier.pipeline.score import score_folder, write_pages, write_reports
from vendor_verifier.pipeline.suites import hooks_of
from vendor_verifier.redaction import Scrubber
from vendor_verifier.reports.run_conditions import load_words
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.record_writer import RecordForm
from vendor_verifier.sample_store import file_digest
from vendor_verifier.scoring.repetitions import whole_of
from vendor_verifier.store import RunFolder
from vendor_verifier.values.manifest import MANIFEST_SCHEMA, Manifest, manifest_of
from vendor_verifier.values.record import Record
from vendor_verifier.words import Texts, english

KEPT = "merged"
# Of the load that was offered to an entry by several runs in a row, the figures that are no sums.
_MOST_OF = ("most_under_way", "lag_p50_ms", "lag_p99_ms", "lag_max_ms", "by_schedule")
_BATCH = 500
_MOST_SHOWN = 20
Name = tuple[str, str]


@dataclass(frozen=True)
class Source:
    """A run that is merged."""

    folder: RunFolder
    manifest: Manifest

    @cached_property
    def repeats(self) -> dict[Name, int]:
        """By (model, label), how often it was asked everything."""
        return {entry.key: entry.repeat or self.manifest.settings.repeat for entry in self.manifest.entries}

    @cached_property
    def whole(self) -> dict[Name, int]:
        """By (model, label), how many repetitions are whole: where a time or a schedule ended the run, the last is a
        part."""
        samples = sum(task.count for task in self.manifest.tasks)
        return {
            entry.key: whole_of(self.repeats[entry.key], entry.begun, samples) if entry.whole is None else entry.whole
            for entry in self.manifest.entries
        }


@dataclass(frozen=True, slots=True)
class Before:
    """The repetitions and blocks that stand before those of a run.

    ``whole`` and ``parts`` are by (model, label) where its whole repetitions begin, and those that are parts: these
    stand behind the whole ones of all runs.
    """

    whole: Counter[Name]
    parts: Counter[Name]
    blocks: int = 0

    def after(self, source: Source, blocks: int) -> Before:
        """The same for the next run."""
        parts = {name: repeat - source.whole[name] for name, repeat in source.repeats.items()}
        return Before(self.whole + Counter(source.whole), self.parts + Counter(parts), self.blocks + blocks)


def _names(raw: Mapping[str, Any]) -> Iterator[str]:
    """The run of a manifest, and all those of which it was merged itself."""
    yield str(raw["run"])
    for each in raw.get("merged") or ():
        yield from _names(each)


def merge_runs(folders: Sequence[RunFolder], target: RunFolder, form: RecordForm) -> None:
    """Write the records, samples and manifests of the runs into a new folder; the order given does not matter.

    Raises:
        ProblemsError: they are not of one measurement; every difference, with both values.
        RunFolderError: one is no readable run or is being written, or the target holds something already.
        StorageError: the disk refused; the target has no manifest then.
    """
    if target.manifest_file.exists() or target.records_files():
        raise RunFolderError(f"{target.path} already holds a run or a part of one; name another folder with --output")
    if len({folder.path.resolve() for folder in folders}) < len(folders):
        raise ProblemsError([Problem("a run is named twice; its records would count twice", key="merge")])
    with ExitStack() as stack:
        for folder in folders:
            stack.enter_context(folder.at_rest())
        found = (Source(folder, stored_manifest(folder)) for folder in folders)
        sources = sorted(found, key=lambda source: source.manifest.created_at or "")
        problems = list(_problems(sources))
        if problems:
            raise ProblemsError([Problem(words, key="merge") for words in problems[:_MOST_SHOWN]])
        target.create()
        for task in sources[0].manifest.tasks:
            target.write_samples(task.suite, sources[0].folder.read_samples(task.suite))
        target.create_inside(KEPT)
        for number, source in enumerate(sources, 1):
            target.write(f"{KEPT}/{number:04d}.json", source.folder.manifest_file.read_bytes())
        warnings: list[str] = []
        with Journal(target, Scrubber(), form) as journal:
            counts = _copy(sources, target, journal, warnings)
        if sources[0].manifest.settings.load is not None:
            warnings.append(english("warn_merged_rates", count=len(sources)))
        for task in sources[0].manifest.tasks:
            hooks_of(known_suite(task.suite)).merge([source.folder for source in sources], target)
        target.write_manifest(_merged(sources, counts, warnings))


def _problems(sources: Sequence[Source]) -> Iterator[str]:
    """A sentence for each reason why the runs are not of one measurement."""
    if len(sources) < 2:
        yield "name two runs or more"
    twice = [
        run
        for run, count in Counter(run for source in sources for run in _names(source.manifest.raw)).items()
        if count > 1
    ]
    yield from (f"run {run} is named or contained twice; its records would count twice" for run in twice)
    shaped = [source for source in sources if source.manifest.settings.load is not None]
    for first, second in pairwise(shaped):
        ended, began = first.manifest.raw.get("finished_at"), second.manifest.created_at
        # Both are UTC in ISO 8601, which sorts.
        if ended and began and began < ended:
            both = f"{first.folder.path} and {second.folder.path}"
            yield f"{both} were sent at the same time, so that vendors bore both loads; merge such as follow each other"
    stated: dict[str, tuple[Any, Source]] = {}
    for source in sources:
        for name, value in _facts(source).items():
            first, of = stated.setdefault(name, (value, source))
            if first != value:
                yield f"{name}: {of.folder.path} has {first!r}, {source.folder.path} has {value!r}"


def _facts(source: Source) -> dict[str, Any]:
    """All that must be equal between runs that both have it, by name."""
    manifest = source.manifest
    known = manifest.identity or {}
    facts: dict[str, Any] = {"evaluations": sorted(manifest.suites), "redacted texts": manifest.redacted}
    facts |= {name: known.get(name) for name in ("question_seed",)}
    load = manifest.raw["settings"].get("load")
    facts["load"] = load_words(load or {}, Texts())
    if load:
        settings = manifest.settings
        facts["requests in flight"] = settings.request_concurrency
        facts["vendors in flight"] = settings.vendor_concurrency
        caps = {f"{entry.model}: {entry.label}": entry.concurrency for entry in manifest.entries}
        facts |= {f"requests in flight of {name}": cap for name, cap in caps.items()}
    for task in manifest.tasks:
        ids = sorted(source.folder.read_samples(task.suite).ids)
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        facts[f"samples of {task.suite}"] = f"{len(ids)} samples ({digest[:12]})"
        facts[f"options of {task.suite}"] = task.options
    for entry in manifest.raw["entries"]:
        name = f"{entry['model']}: {entry['label']}"
        facts |= {f"{key} of {name}": entry.get(key) for key in ASKED}
        if entry.get("is_baseline"):
            facts[f"baseline of {entry['model']}"] = entry["label"]
    return facts | {f"{key} (score)": value for key, value in to_builtins(manifest.score).items()}


def _copy(sources: Sequence[Source], target: RunFolder, journal: Journal, warnings: list[str]) -> list[int]:
    """Write the records of all runs, numbered on; how many each had. ``warnings`` get what was left out."""
    whole = sum((Counter(source.whole) for source in sources), Counter[Name]())
    before, counts = Before(Counter(), whole), []
    for source in sources:
        count, blocks = _copy_one(source, before, target, journal, warnings)
        counts.append(count)
        before = before.after(source, blocks)
    return counts


def _copy_one(
    source: Source, before: Before, target: RunFolder, journal: Journal, warnings: list[str]
) -> tuple[int, int]:
    """Write the records of a run; their number, and that of the blocks in it."""
    path, count, last = source.folder.path, 0, -1

    def bad_line(line: str, reason: str) -> None:
        warnings.append(english("warn_unreadable", line=f"{path.name}/{line}", reason=reason))

    batch: list[Record] = []
    for record in source.folder.read_records(bad_line):
        last = max(last, -1 if record.block is None else record.block)
        count += 1
        batch.append(_renumbered(record, source, before))
        if len(batch) == _BATCH:
            journal.append(batch)
            batch = []
    journal.append(batch)
    keep_duplicate = duplicates_of(target, Scrubber())
    for record in source.folder.read_duplicates(bad_line):
        keep_duplicate(_renumbered(record, source, before))
    return count, last + 1


def _renumbered(record: Record, source: Source, before: Before) -> Record:
    """The record with the repetitions and blocks of earlier runs before it.

    Raises:
        RunFolderError: it is of no entry or of no planned repetition, so that it might take another's place.
    """
    name = (record.model, record.label)
    planned = source.repeats.get(name, 0)
    if record.repetition >= planned:
        raise RunFolderError(
            f"{source.folder.path}: repetition {record.repetition} of {record.model}: {record.label} is not in its "
            f"manifest ({planned} planned); the run cannot be merged"
        )
    block = None if record.block is None else record.block + before.blocks
    part = record.repetition - source.whole[name]
    number = before.whole[name] + record.repetition if part < 0 else before.parts[name] + part
    return structs.replace(record, repetition=number, block=block)


def _merged(sources: Sequence[Source], counts: Sequence[int], warnings: Sequence[str]) -> Manifest:
    """The manifest of the merged run."""
    raws = [source.manifest.raw for source in sources]
    stated = [source.manifest for source in sources]
    executors: list[Any] = [each for raw in raws for each in raw.get("executors") or [{}]]
    finished = [raw["finished_at"] for raw in raws if raw.get("finished_at")]
    return manifest_of(
        to_builtins(
            {
                "schema": MANIFEST_SCHEMA,
                "run": f"merged-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}",
                "tool": {"name": "agent-vendor-verifier", "version": __version__},
                "created_at": stated[0].created_at,
                "finished_at": max(finished, default=None),
                "merged_at": now_text(),
                "merged": [_described(source, count) for source, count in zip(sources, counts, strict=True)],
                "status": _status([manifest.status for manifest in stated]),
                "limit": next((manifest.limit for manifest in stated if manifest.limit), None),
                "entries": _entries(sources),
                "tasks": raws[0]["tasks"],
                "settings": {**raws[0]["settings"], "repeat": sum(manifest.settings.repeat for manifest in stated)},
                "score": raws[0].get("score", {}),
                "warnings": list(dict.fromkeys([*(each for one in stated for each in one.warnings), *warnings])),
                "stopped": {name: why for manifest in stated for name, why in manifest.stopped.items()},
                "resent": dict(sum((Counter(manifest.resent or {}) for manifest in stated), Counter())),
                "concurrency_lowered": {
                    name: places for raw in raws for name, places in (raw.get("concurrency_lowered") or {}).items()
                },
                "event_loop": _worst_loop(raws),
                "load": _offered(raws),
                "executors": executors,
                "redacted": stated[0].redacted,
            },
            enc_hook=str,
        )
    )


def _described(source: Source, records: int) -> dict[str, Any]:
    """One run of a merged one: its name, times, number of records, and what its files of records were."""
    raw = source.manifest.raw
    files = {file.name: file_digest(file) for file in source.folder.records_files()}
    own = {"run": source.manifest.run, "records": records, "sha256": files, "repeats": source.manifest.settings.repeat}
    kept = ("created_at", "finished_at", "status", "calibration", "load", "pace", "merged")
    return own | {name: raw.get(name) for name in kept}


def _offered(raws: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The load that was offered to each entry by all runs, one after the other; of lateness the worst."""
    offered: dict[str, dict[str, Any]] = {}
    for raw in raws:
        for name, found in (raw.get("load") or {}).items():
            known = offered.get(name)
            offered[name] = found if known is None else {key: _both(key, known.get(key), found[key]) for key in found}
    return offered or None


def _both(key: str, first: Any, second: Any) -> Any:
    known = [value for value in (first, second) if value is not None]
    if not known:
        return None
    return min(known) if key == "cap" else max(known) if key in _MOST_OF else sum(known)


def _status(found: Sequence[str]) -> str:
    """Finished where all are; of a killed one the records tell whether it is whole."""
    if all(status in ("finished", "imported") for status in found):
        return "finished"
    return "interrupted" if "interrupted" in found else "running"


def _entries(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Every entry once, asked as often as in all runs together."""
    asked: Counter[Name] = Counter()
    begun: Counter[Name] = Counter()
    whole: Counter[Name] = Counter()
    entries: dict[Name, dict[str, Any]] = {}
    for source in sources:
        asked.update(source.repeats)
        whole.update(source.whole)
        begun.update({entry.key: entry.begun for entry in source.manifest.entries if entry.begun is not None})
        for raw in source.manifest.raw["entries"]:
            entries.setdefault((raw["model"], raw["label"]), raw)
    return [
        {**raw, "repeat": asked[name]} | ({"begun": begun[name], "whole": whole[name]} if name in begun else {})
        for name, raw in entries.items()
    ]


def _worst_loop(raws: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The largest lag and share of a core of all runs: none of them hides behind another."""
    loops = [raw["event_loop"] for raw in raws if raw.get("event_loop")]
    names = dict.fromkeys(name for loop in loops for name in loop)
    worst = {name: max((loop[name] for loop in loops if loop.get(name) is not None), default=None) for name in names}
    return worst or None


def merge_command(
    *runs: Annotated[Path, Parameter(help="Run folders of the same questions and configuration.")],
    output: Annotated[Path, option("Write the merged run into this folder.", OUTPUT, "--output", "-o")],
    compress: Annotated[bool, flag("Write records.jsonl.zst, a fraction of the size.", OUTPUT)] = False,
    records_file_mb: Annotated[
        float | None,
        option("Begin another file of records after so many MiB. [default: one file]", OUTPUT, check=Number(gt=0)),
    ] = None,
) -> int:
    """Merge runs into one and score it: repetitions go on from run to run, and no record is lost.

    The runs stay as they are; their manifests are kept in merged/, and the history is left alone.
    """
    folder = RunFolder(output)
    merge_runs([RunFolder(run) for run in runs], folder, RecordForm.of(records_file_mb, compressed=compress))
    report = score_folder(folder)
    write_reports(folder, report)
    write_pages(folder, report)
    print_report(report, run=output, as_json=False)
    return gates_exit_code(report)
