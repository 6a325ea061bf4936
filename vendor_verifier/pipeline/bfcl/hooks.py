"""The hooks of ``bfcl`` around a run: job files, keys of live services, simulated services, result pages.

The pages, one a vendor, have the published layout and lie in ``bfcl/`` in the run's folder. Records that are not
charged to the vendor (never sent, or our own fault) are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import SuiteOptions
from vendor_verifier.errors import BFCL_SIMULATORS
from vendor_verifier.pipeline.bfcl.data import ask_services, find_services, read_verdicts
from vendor_verifier.pipeline.bfcl.dataset import SUITE, Job, bfcl_dataset, by_task, highest, notes, read_job_file
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.suites import SuiteHooks, ready_suite
from vendor_verifier.records.failures import NOT_CHARGED
from vendor_verifier.records.manifest import StoredTask
from vendor_verifier.records.record import Record, standing
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import replay
from vendor_verifier.suites.bfcl.categories import MULTI_TURN, REST_KEYS
from vendor_verifier.suites.bfcl.results import VendorResult, result_pages
from vendor_verifier.suites.bfcl.suite import BfclSuite

_UNSAFE = re.compile(r"[^\w.()+@ -]")


@dataclass(frozen=True, slots=True)
class BfclHooks(SuiteHooks):
    """The hooks of a run with this ``job``, if it has one, and these ``keys`` of live services, secret.

    A stored run has no ``keys``: it asks no service.
    """

    job: Job | None = None
    keys: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def secrets(self) -> Iterable[str]:  # type: ignore[override]
        return (self.keys or {}).values()

    @property
    def request_concurrency(self) -> int | None:  # type: ignore[override]
        return self.job.params.parallelism if self.job else None

    def prepare(
        self, own: SuiteOptions, options: RunOptions, variables: Mapping[str, str], question_seed: int
    ) -> tuple[SuiteHooks, Dataset]:
        job = read_job_file(Path(own.own["job"])) if own.own.get("job") is not None else None
        keys = {name: variables[name] for name in REST_KEYS if name in variables}
        data = bfcl_dataset(own, keys, job, skip_bad=options.skip_bad_samples)
        return BfclHooks(job, keys), data

    def notes(self, suite: BfclSuite, samples: Sequence[Sample]) -> Iterator[str]:
        for task, rows in by_task(samples).items():
            who = SUITE if task == SUITE else f"{SUITE} {task}"
            yield from (f"{who}: {note}" for note in notes(rows))
            most = highest(rows)
            if most is not None and most < 100:
                yield (
                    f"{who}: Overall Acc is over the whole leaderboard, and categories that are not run "
                    f"count as 0: at most {most:.2f} can be reached with these rows"
                )
        if suite.services is None and (unread := _count(samples, MULTI_TURN)):
            yield f"{suite.name}: {unread} multi-turn rows cannot be judged on this machine; install {BFCL_SIMULATORS}"

    def ready(
        self, suite: BfclSuite, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None
    ) -> BfclSuite:
        """With the services its samples need, if they are found, and the stored verdicts on calls of live services.

        A stored run (``folder``) may be a stranger's: its manifest does not choose where code is imported from, only
        what is installed, or was imported to run it, is used.
        """
        where = str(options.get("data", "installed")) if folder is None else "installed"
        services = find_services(where) if _count(samples, MULTI_TURN) else None
        return replace(suite, services=services, rest={} if folder is None else read_verdicts(folder))

    def after_run(self, folder: RunFolder, task: StoredTask) -> None:
        if self.keys is not None:
            ask_services(folder, folder.read_samples(SUITE), self.keys)
        write_bfcl_pages(folder, task)


def _count(samples: Sequence[Sample], categories: Sequence[str]) -> int:
    return sum(sample.expected.get("category") in categories for sample in samples)


def write_bfcl_pages(folder: RunFolder, task: StoredTask) -> None:
    """Write a page for every vendor with records of the evaluation, which the run stored as ``task``.

    With several models in the run, each has a folder of its own, because ranks are among the vendors of one model.
    """
    samples = folder.read_samples(SUITE)
    tasks = by_task(samples)
    about = {
        name: {
            "data": list(dict.fromkeys(str(row.tags.get("bfcl_data")) for row in rows)),
            "notes": notes(rows),
            "overall_acc_at_most": highest(rows),
        }
        for name, rows in tasks.items()
    }
    models = _results(folder, task, samples, tasks)
    homes: set[str] = set()
    for model, results in models.items():
        home = f"bfcl/{_file_name(model, homes)}" if len(models) > 1 else "bfcl"
        folder.create_inside(home)
        names: set[str] = set()
        for label, page in result_pages(results).items():
            # A task that could not run at all has reasons instead of metrics.
            page["run"] = {
                name: {**about.get(name, {}), **page["run"].get(name, {}), "not_run": task.not_run.get(name, {})}
                for name in dict.fromkeys([*page["run"], *task.not_run])
            }
            text = json.dumps(page, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            folder.write(f"{home}/{_file_name(label, names)}.json", text)


def _results(
    folder: RunFolder, task: StoredTask, samples: Sequence[Sample], tasks: Mapping[str, Sequence[Sample]]
) -> dict[str, dict[str, list[VendorResult]]]:
    """Model → task → results of its vendors, categories in the order of the samples."""
    suite = ready_suite(SUITE, task.options, samples, folder)
    of_sample: dict[str, list[Record]] = {}
    records = folder.read_records(lambda _line, _reason: None)
    for record in standing(each for each in records if each.suite == SUITE):
        failure = next((final.failure for final in record.finals if final.failure is not None), None)
        if record.turns and (failure is None or failure.kind not in NOT_CHARGED):
            of_sample.setdefault(record.sample, []).append(record)
    results: dict[str, dict[str, list[VendorResult]]] = {}
    for name, rows in tasks.items():
        found: dict[tuple[str, str], VendorResult] = {}
        for sample in rows:
            for record in of_sample.get(sample.id, ()):
                result = found.setdefault((record.model, record.label), VendorResult(record.label))
                if score := record.score or replay(suite.play(sample), record.turns):
                    result.scores.append(score)
                result.add_times(record.finals)
        for (model, _), result in found.items():
            results.setdefault(model, {}).setdefault(name, []).append(result)
    return results


def _file_name(label: str, taken: set[str]) -> str:
    """The label as a file name that is safe and not among those ``taken``."""
    # File systems count bytes, not characters.
    plain = _UNSAFE.sub("_", label).encode()[:100].decode(errors="ignore").strip(". ") or "vendor"
    name, number = plain, 2
    while name.casefold() in taken:
        name, number = f"{plain} ({number})", number + 1
    taken.add(name.casefold())
    return name
