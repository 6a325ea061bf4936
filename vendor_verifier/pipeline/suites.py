"""Evaluations with their options and their hooks, as a run or a scoring needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from vendor_verifier.config.document import listed
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import SuiteOptions, build_suite, stated_options
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.pipeline.datasets import (
    Dataset,
    built_in_dataset,
    check_choices,
    chosen_samples,
    missing_class,
    suite_dataset,
)
from vendor_verifier.records.manifest import Manifest, StoredTask
from vendor_verifier.records.plan import Entry, Task
from vendor_verifier.records.request import ToolRunner
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import Suite, SuiteKind, known_suite
from vendor_verifier.suites.call_suite import CallSuite
from vendor_verifier.suites.probes import ProbesSuite, probes_samples
from vendor_verifier.text import counted


class SuiteHooks:
    """What an evaluation does around a run next to asking and judging; this base class suits most.

    An evaluation that does more names a subclass in :data:`vendor_verifier.suites.SUITES`. ``secrets`` must never be
    written anywhere. ``makes_questions``: its questions are new in every run, from a seed that the run keeps.
    ``request_concurrency`` are the requests in flight that it asks for, where the user states none.
    """

    secrets: Iterable[str] = ()
    makes_questions = False
    request_concurrency: int | None = None

    def prepare(
        self, own: SuiteOptions, options: RunOptions, variables: Mapping[str, str], question_seed: int
    ) -> tuple[SuiteHooks, Dataset]:
        """The hooks of one run and its samples, with everything read that the evaluation's ``own`` options name.

        ``variables`` are those of .env and of the environment.

        Raises:
            VerifierError: the samples, or a file that the options name, cannot be found or used.
        """
        return self, suite_dataset(own, skip_bad=options.skip_bad_samples)

    def ready(
        self, suite: Any, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None
    ) -> Suite:
        """The suite with its run-time resources; for a stored run with those in its ``folder``."""
        ready: Suite = suite
        return ready

    def notes(self, suite: Any, samples: Sequence[Sample]) -> Iterable[str]:
        """Warnings about figures that are made of these samples, judged by this suite on this machine."""
        found = [suite.defect(sample) for sample in samples] if isinstance(suite, CallSuite) else []
        if defects := [each for each in found if each]:
            yield f"{suite.name} cannot score {len(defects)} of {counted(len(found), 'sample')}: {defects[0]}"

    @contextmanager
    def live(self, task: Task, entries: Sequence[Entry]) -> Iterator[tuple[Task, ToolRunner | None]]:
        """The task as it is sent, and what runs the tools of its models until the block ends, if real ones are run.

        Raises:
            VerifierError: they cannot be run, or not for these entries.
        """
        yield task, None

    def after_run(self, folder: RunFolder, task: StoredTask) -> None:
        """Do the work between the last request and the scoring, and write the evaluation's own result pages.

        Hooks that were not prepared, as those of a stored run, send nothing.
        """


@dataclass(frozen=True, slots=True)
class ProbesHooks(SuiteHooks):
    """The hooks of ``probes``, whose questions are drawn from the seed of the run."""

    makes_questions = True

    def prepare(
        self, own: SuiteOptions, options: RunOptions, variables: Mapping[str, str], question_seed: int
    ) -> tuple[SuiteHooks, Dataset]:
        suite = own.suite
        assert isinstance(suite, ProbesSuite)
        samples = probes_samples(suite.questions, suite.repeats, question_seed, suite.lengths)
        # Histories join runs by this digest: it is that of the templates, whatever was made of them.
        templates = probes_samples(suite.questions, suite.repeats, lengths=suite.lengths)
        return self, structs.replace(built_in_dataset(own, templates), samples=samples)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation of a run: its task, the hooks around it, its whole data set, and its suite, ready to ask."""

    kind: SuiteKind
    task: Task
    hooks: SuiteHooks
    dataset: Dataset
    suite: Suite


def evaluations_of(
    stated: Mapping[str, SuiteOptions], options: RunOptions, variables: Mapping[str, str], question_seed: int
) -> tuple[list[Evaluation], list[str]]:
    """The evaluations with the samples that the run chooses, and warnings about these."""
    found = [(own, *own.kind.around().prepare(own, options, variables, question_seed)) for own in stated.values()]
    warnings = check_choices([(own, dataset) for own, _, dataset in found], options)
    evaluations = []
    for own, hooks, dataset in found:
        kind, samples = own.kind, chosen_samples(own, dataset, options)
        warnings += [*dataset.warnings, *missing_class(kind, samples, dataset)]
        suite = hooks.ready(own.suite, own.own, samples, None)
        task = Task(kind.name, samples, own.own, own.chosen.timeout_seconds)
        evaluations.append(Evaluation(kind, task, hooks, dataset, suite))
        warnings += hooks.notes(suite, samples)
        if kind.is_built_in and options.limit is not None and options.limit < len(samples):
            warnings.append(f"{kind.name} asks all of its {len(samples)} questions: --limit does not apply to it")
    return evaluations, warnings


def ready_suite(
    name: str, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None = None
) -> Suite:
    """The suite with its options and the resources its samples need; of a stored run if ``folder`` is given."""
    kind = known_suite(name)
    ready: Suite = kind.around().ready(build_suite(kind, options), options, samples, folder)
    return ready


def rejudged(manifest: Manifest, options: RunOptions) -> Manifest:
    """The manifest with the options of judging that ``options`` state; unchanged where they state none."""
    if not options.set and not any(options.suite_flags()):
        return manifest
    if manifest.redacted:
        words = "the run is stored with `redact_content`, so its answers cannot be judged again"
        raise ProblemsError([Problem(words, key="--set")])
    stored = {task.suite: task.options for task in manifest.tasks}
    stated = stated_options(manifest.suites, stored, options)
    refuse_options_of_asking(stated)
    tasks = [structs.replace(task, options=dict(stated[task.suite].own)) for task in manifest.tasks]
    return structs.replace(manifest, tasks=tasks)


def refuse_options_of_asking(stated: Mapping[str, SuiteOptions]) -> None:
    """Check that the command line states options of judging only."""
    problems = []
    for suite, each in stated.items():
        judges = each.kind.judges_by
        for name in sorted(each.typed.difference(judges)):
            able = f"; {suite} is judged by {listed(judges)}" if judges else ""
            words = f"decides what is asked, and stored answers are not asked again{able}"
            problems.append(each.problem(name, words))
    if problems:
        raise ProblemsError(problems)
