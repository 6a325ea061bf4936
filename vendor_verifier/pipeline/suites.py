"""Evaluations with their options and their hooks, as a run or a scoring needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import SuiteOptions, build_suite, known_suite
from vendor_verifier.lazy_import import late
from vendor_verifier.pipeline.datasets import Dataset, suite_dataset
from vendor_verifier.records.manifest import StoredTask
from vendor_verifier.records.plan import Entry, Task
from vendor_verifier.records.record import Attempt, Response
from vendor_verifier.records.request import ToolRunner
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import Suite, SuiteKind

_SHORT_ANSWER = Attempt(1, response=Response(text="ok", finish_reason="stop"))


class SuiteHooks:
    """What an evaluation does around a run next to asking and judging; this base class suits most.

    An evaluation that does more names a subclass in :data:`vendor_verifier.suites.SUITES`. ``secrets`` must never be
    written anywhere. ``makes_questions``: its questions are made anew for every run, from a seed that the run keeps.
    ``request_concurrency`` are the requests in flight that it asks for, where the user states none.
    """

    secrets: Iterable[str] = ()
    makes_questions = False
    request_concurrency: int | None = None

    def prepare(
        self, options: RunOptions, own: Mapping[str, Any], environ: Mapping[str, str], question_seed: int
    ) -> SuiteHooks:
        """The hooks of one run, with everything read that its ``own`` options need.

        Raises:
            VerifierError: a file that the options name cannot be used.
        """
        return self

    def dataset(self, kind: SuiteKind, options: SuiteOptions, *, skip_bad: bool) -> Dataset:
        """The samples; of own options that contradict each other those typed on the command line apply.

        Raises:
            VerifierError: they cannot be found or used.
        """
        return suite_dataset(kind, options.chosen, skip_bad=skip_bad)

    def notes(self, options: Mapping[str, Any], samples: Sequence[Sample]) -> Iterable[str]:
        """Warnings about figures that are made of these samples, judged with these options."""
        return ()

    def ready(
        self, suite: Any, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None
    ) -> Suite:
        """The suite with its run-time resources; for a stored run with those in its ``folder``."""
        ready: Suite = suite
        return ready

    def foreseen(self, sample: Sample) -> Iterator[Attempt]:
        """The answers that a forecast expects, for as long as the sample's play asks."""
        return repeat(_SHORT_ANSWER)

    @contextmanager
    def live(self, task: Task, entries: Sequence[Entry]) -> Iterator[tuple[Task, ToolRunner | None]]:
        """The task as it is sent, and what runs the tools of its models until the block ends, if real ones are run.

        Raises:
            VerifierError: they cannot be run, or not for these entries.
        """
        yield task, None

    def unjudged(self, suite: Any, samples: Sequence[Sample]) -> Iterable[str]:
        """A sentence for each reason why some of the samples cannot be judged on this machine."""
        return ()

    def after_run(self, folder: RunFolder, samples: Sequence[Sample]) -> None:
        """Do the work between the last request and the scoring."""

    def pages(self, folder: RunFolder, task: StoredTask) -> None:
        """Write the evaluation's own result pages."""


def hooks_of(kind: SuiteKind) -> SuiteHooks:
    """The hooks of an evaluation."""
    hooks: SuiteHooks = SuiteHooks() if kind.hooks is None else late(kind.hooks)()
    return hooks


def ready_suite(
    name: str, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None = None
) -> Suite:
    """The suite with its options and the resources its samples need; of a stored run if ``folder`` is given.

    Raises:
        ProblemsError: no such suite, or invalid options.
    """
    kind = known_suite(name)
    return hooks_of(kind).ready(build_suite(kind, options), options, samples, folder)
