"""The hooks of ``bfcl`` around a run: job files, keys of live services, simulated services, result pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vendor_verifier.config.env_file import read_variables
from vendor_verifier.config.suite_options import SuiteOptions
from vendor_verifier.features.bfcl.dataset import bfcl_dataset
from vendor_verifier.features.bfcl.executables import fetch_rest_answers, find_functions, read_rest_answers
from vendor_verifier.features.bfcl.job import read_job_file, with_job, with_job_settings
from vendor_verifier.features.bfcl.pages import write_bfcl_pages
from vendor_verifier.features.bfcl.source import find_services, stated_rows
from vendor_verifier.installing import BFCL_FUNCTIONS, BFCL_SIMULATORS
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.pipeline.suites import SuiteHooks
from vendor_verifier.redaction import Scrubber
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import SuiteKind
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, REST
from vendor_verifier.suites.bfcl.executable import KEY_NAMES
from vendor_verifier.suites.bfcl.job_file import Job
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.sample import Sample
from vendor_verifier.words import english


@dataclass(frozen=True, slots=True)
class BfclHooks(SuiteHooks):
    """The hooks of a run with this ``job``, if it has one, and these ``keys`` of live services, secret."""

    job: Job | None = None
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    runs_code = True

    @property
    def secrets(self) -> Iterable[str]:  # type: ignore[override]
        return self.keys.values()

    def prepare(self, options: RunOptions, own: Mapping[str, Any], environ: Mapping[str, str]) -> SuiteHooks:
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

    def after_run(self, folder: RunFolder, samples: Sequence[Sample], scrubber: Scrubber) -> None:
        fetch_rest_answers(folder, samples, self.keys, scrubber)

    def pages(self, folder: RunFolder) -> None:
        write_bfcl_pages(folder)

    def rows(self, where: str) -> Sequence[Sample]:
        return stated_rows(where)


def _of(samples: Sequence[Sample], categories: Sequence[str]) -> int:
    return sum(sample.expected.get("category") in categories for sample in samples)
