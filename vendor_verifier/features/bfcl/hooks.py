"""The hooks of ``bfcl`` around a run: job files, keys of live services, simulated services, result pages.

The pages, one a vendor, have the published layout and lie in ``bfcl/`` in the run's folder. Records are replayed as for
the report. Those not charged to the vendor (never sent, or our own fault) are left out.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from vendor_verifier.config.env_file import read_variables
from vendor_verifier.config.suite_options import SuiteOptions, known_suite, read_options
from vendor_verifier.errors import BFCL_FUNCTIONS, BFCL_SIMULATORS
from vendor_verifier.features.bfcl.dataset import (
    SUITE,
    TASKS_TAG,
    bfcl_dataset,
    read_job_file,
    with_job,
    with_job_settings,
)
from vendor_verifier.features.bfcl.executables import (
    fetch_rest_answers,
    find_functions,
    read_rest_answers,
)
from vendor_verifier.features.bfcl.notices import leaderboard_rows, shipped_note
from vendor_verifier.features.bfcl.source import SHIPPED, find_services, stated_rows
from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.metrics.base import read_answers
from vendor_verifier.metrics.measure import measured
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.pipeline.suites import SuiteHooks, ready_suite
from vendor_verifier.redaction import Scrubber
from vendor_verifier.reports.escape import csv_text
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import Suite, SuiteKind, replay
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, REST
from vendor_verifier.suites.bfcl.executable import KEY_NAMES
from vendor_verifier.suites.bfcl.job import Job
from vendor_verifier.suites.bfcl.results import (
    VendorResult,
    Version,
    call_latencies_s,
    ceiling,
    result_pages,
    vendor_result,
)
from vendor_verifier.suites.bfcl.suite import BfclOptions, BfclSuite
from vendor_verifier.suites.bfcl.tables import leaderboard_tables
from vendor_verifier.values.failure_kinds import NOT_CHARGED
from vendor_verifier.values.manifest import StoredTask
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.record import Record, supersedes
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score
from vendor_verifier.words import english

PAGES = "bfcl"
_UNSAFE = re.compile(r"[^\w.()+@ -]")
# Names that some systems take for a device, whatever follows the first dot.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_MAX_NAME = 100


class _VendorTask(msgspec.Struct):
    """The scores and times of one vendor in one task."""

    scores: list[Score] = msgspec.field(default_factory=list)
    times_s: list[float] = msgspec.field(default_factory=list)
    stalled: int = 0

    def note_times(self, record: Record) -> None:
        """Keep the times of a record's calls, unless our own process was late."""
        is_stalled = "e2e_ms" in measured(record, read_answers(record)).spoilt
        self.stalled += is_stalled
        self.times_s += [] if is_stalled else call_latencies_s(record)

    @property
    def latencies_s(self) -> list[float]:
        """The times of its calls, or none where our own lateness took too many out."""
        return [] if too_many_spoilt(self.stalled, len(self.times_s)) else self.times_s


def write_bfcl_pages(folder: RunFolder, task: StoredTask) -> list[Path]:
    """Write a page for every vendor with records of the evaluation, which the run stored as ``task``.

    With several models in the run, each has a folder of its own, because ranks are among the vendors of one model.

    Raises:
        RunFolderError: not a readable run folder.
        StorageError: the disk refused.
    """
    samples = folder.read_samples(SUITE)
    suite = ready_suite(SUITE, task.options, samples, folder)
    version, not_run = _options(task.options).version, task.not_run
    about = {name: _about(name, rows, version) for name, rows in _by_task(samples).items()}
    models = _results(folder, suite, {sample.id: sample for sample in samples})
    written: list[Path] = []
    homes: set[str] = set()
    for model, tasks in models.items():
        home = f"{PAGES}/{_file_name(model, homes)}" if len(models) > 1 else PAGES
        folder.create_inside(home)
        names: set[str] = set()
        for label, page in result_pages(tasks, version=version).items():
            # A task of which nothing could run has reasons instead of metrics.
            page["run"] = {
                name: {**about.get(name, {}), **page["run"].get(name, {}), "not_run": dict(not_run.get(name, {}))}
                for name in dict.fromkeys([*page["run"], *not_run])
            }
            text = json.dumps(page, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            written.append(folder.write(f"{home}/{_file_name(label, names)}.json", text))
        written += _write_tables(folder, home, tasks, version)
    return written


def _by_task(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        for task in sample.tags.get(TASKS_TAG) or [SUITE]:
            found.setdefault(task, []).append(sample)
    return found


def _about(task: str, samples: Sequence[Sample], version: Version) -> dict[str, Any]:
    """The data and prompts of a task's figures, and the highest ``Overall Acc`` it can have."""
    data = list(dict.fromkeys(str(sample.tags["bfcl_data"]) for sample in samples if "bfcl_data" in sample.tags))
    prompts = list(dict.fromkeys(str(tag) for sample in samples if (tag := sample.tags.get("bfcl_prompt"))))
    rows = leaderboard_rows(samples)
    return {
        "data": data,
        **({"note": str(shipped_note(task))} if SHIPPED in data else {}),
        "calls_asked": "in words" if prompts else "natively",
        **({"prompt": prompts} if prompts else {}),
        **({"overall_acc_at_most": round(ceiling(rows, version) * 100, 2)} if rows else {}),
    }


def _write_tables(
    folder: RunFolder, home: str, tasks: Mapping[str, Sequence[VendorResult]], version: Version
) -> Iterator[Path]:
    """The leaderboard's tables; those of several tasks in a folder each. Custom rows have none."""
    names: set[str] = set()
    for task, vendors in tasks.items():
        vendors = [vendor for vendor in vendors if not vendor.custom]
        place = home if len(tasks) == 1 else f"{home}/{_file_name(f'task {task}', names)}"
        folder.create_inside(place)
        for name, rows in leaderboard_tables(vendors, version).items() if vendors else ():
            text = io.StringIO()
            # The head is ours; of the cells only the label is a text of the user's.
            lines = ([csv_text(cell) if cell == "" or not cell[0].isdigit() else cell for cell in row] for row in rows)
            csv.writer(text, lineterminator="\n").writerows(lines)
            yield folder.write(f"{place}/{name}", text.getvalue())


def _options(stored: Mapping[str, Any]) -> BfclOptions:
    options: BfclOptions = read_options(known_suite(SUITE), stored)
    return options


def _results(
    folder: RunFolder, suite: Suite, samples: Mapping[str, Sample]
) -> dict[str, dict[str, list[VendorResult]]]:
    """Model → task → results of its vendors."""
    results: dict[str, dict[str, dict[str, _VendorTask]]] = {}
    # In the order of the samples, so that pages list categories as the plan does.
    places = {sample: place for place, sample in enumerate(samples)}
    known = (record for record in _standing(folder).values() if record.sample in samples)
    for record in sorted(known, key=lambda record: places[record.sample]):
        sample = samples[record.sample]
        if _is_not_charged(record):
            continue
        score = record.score or replay(suite.play(sample), record.turns)
        for task in sample.tags.get(TASKS_TAG) or [SUITE]:
            found = results.setdefault(record.model, {}).setdefault(task, {}).setdefault(record.label, _VendorTask())
            found.note_times(record)
            found.scores += [score] if score is not None else []
    return {
        model: {
            task: [vendor_result(label, one.scores, one.latencies_s) for label, one in vendors.items()]
            for task, vendors in tasks.items()
        }
        for model, tasks in results.items()
    }


def _standing(folder: RunFolder) -> dict[object, Record]:
    """The records of this evaluation that count: of two under one key the one that stands."""
    found: dict[object, Record] = {}
    for record in folder.read_records(lambda _line, _reason: None):
        known = found.get(record.key)
        if record.suite == SUITE and (known is None or supersedes(record, known)):
            found[record.key] = record
    return found


def _is_not_charged(record: Record) -> bool:
    finals = (turn.attempts[-1] for turn in record.turns if turn.attempts)
    failure = next((final.failure for final in finals if final.failure is not None), None)
    return not record.turns or (failure is not None and failure.kind in NOT_CHARGED)


def _file_name(label: str, taken: set[str]) -> str:
    """The label as a file name that is safe and, beside those ``taken``, new."""
    # File systems count bytes, not characters.
    plain = _UNSAFE.sub("_", label).encode()[:_MAX_NAME].decode(errors="ignore").strip(". ") or "vendor"
    plain = f"_{plain}" if _DEVICE.fullmatch(plain) else plain
    name, number = plain, 2
    while name.casefold() in taken:
        name, number = f"{plain} ({number})", number + 1
    taken.add(name.casefold())
    return name


@dataclass(frozen=True, slots=True)
class BfclHooks(SuiteHooks):
    """The hooks of a run with this ``job``, if it has one, and these ``keys`` of live services, secret."""

    job: Job | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    runs_code = True

    @property
    def secrets(self) -> Iterable[str]:  # type: ignore[override]
        return self.keys.values()

    def prepare(
        self,
        options: RunOptions,
        own: Mapping[str, Any],
        environ: Mapping[str, str],
        question_seed: int,
    ) -> SuiteHooks:
        job = None if (path := own.get("job")) is None else read_job_file(Path(path))
        variables = read_variables(options.config_file_path, options.env_file, environ)
        found = {name: variables.get(name) for name in KEY_NAMES}
        return BfclHooks(job, {name: value for name, value in found.items() if value})

    def options(self, options: RunOptions) -> RunOptions:
        return options if self.job is None else with_job(options, self.job)

    def entries(self, entries: Sequence[Entry], overrides: Mapping[str, Any]) -> tuple[Entry, ...]:
        return tuple(entries) if self.job is None else with_job_settings(entries, self.job, overrides)

    def dataset(self, kind: SuiteKind, options: SuiteOptions, *, skip_bad: bool) -> Dataset:
        return bfcl_dataset(
            options.own, options.chosen, self.keys, job=self.job, typed=options.typed, skip_bad=skip_bad
        )

    def ready(
        self, suite: BfclSuite, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None
    ) -> BfclSuite:
        """With the services and functions its samples need, if they are found, and stored answers of live services.

        A stored run (``folder``) may be a stranger's: its manifest does not choose where code is imported from, only
        what is installed, or was imported to run it, is used.
        """
        where = str(options.get("data", "installed"))
        return replace(
            suite,
            services=find_services(where if folder is None else "installed") if _of(samples, MULTI_TURN) else None,
            # Not imported: those that only calculate are run in a process of their own that has nothing.
            functions=find_functions(where) if _of(samples, EXECUTABLE) else None,
            fetched=read_rest_answers(folder) if folder is not None and _of(samples, REST) else {},
        )

    def unjudged(self, suite: BfclSuite, samples: Sequence[Sample]) -> Iterator[str]:
        for word, categories, found, mending in (
            ("multi-turn", MULTI_TURN, suite.services, BFCL_SIMULATORS),
            ("executable", EXECUTABLE, suite.functions, BFCL_FUNCTIONS),
        ):
            if found is None and (rows := _of(samples, categories)):
                yield english("warn_unjudged", suite=suite.name, rows=rows, word=word, mending=mending)

    def unjudged_without_code(self, samples: Sequence[Sample]) -> Iterator[str]:
        if rows := _of(samples, (*EXECUTABLE, *MULTI_TURN)):
            yield english("explain_unjudged", suite=SUITE, rows=rows)

    def after_run(self, folder: RunFolder, samples: Sequence[Sample], scrubber: Scrubber) -> None:
        fetch_rest_answers(folder, samples, self.keys, scrubber)

    def pages(self, folder: RunFolder, task: StoredTask) -> None:
        write_bfcl_pages(folder, task)

    def rows(self, where: str) -> Sequence[Sample]:
        return stated_rows(where)


def _of(samples: Sequence[Sample], categories: Sequence[str]) -> int:
    return sum(sample.expected.get("category") in categories for sample in samples)
