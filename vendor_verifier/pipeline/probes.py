"""The suite ``probes`` in a run: its questions, drawn from the seed of the run, and its judgement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import SuiteOptions, build_suite, known_suite
from vendor_verifier.pipeline.datasets import Dataset, built_in_dataset
from vendor_verifier.pipeline.suites import SuiteHooks
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.suites import SuiteKind
from vendor_verifier.suites.probes import NAME, ProbesSuite, group_of, probes_samples


@dataclass(frozen=True, slots=True)
class ProbesHooks(SuiteHooks):
    """The hooks of a run whose questions are made from this ``seed``."""

    makes_questions = True
    seed: int = 0

    def prepare(
        self,
        options: RunOptions,  # noqa: ARG002
        own: Mapping[str, Any],  # noqa: ARG002
        environ: Mapping[str, str],  # noqa: ARG002
        question_seed: int,
    ) -> SuiteHooks:
        return ProbesHooks(question_seed)

    def dataset(self, kind: SuiteKind, options: SuiteOptions, *, skip_bad: bool) -> Dataset:  # noqa: ARG002
        suite = build_suite(kind, options.own)
        assert isinstance(suite, ProbesSuite)
        samples = probes_samples(suite.questions, suite.repeats, self.seed, suite.lengths)
        # Histories join runs by this digest: it is that of the templates, whatever was made of them.
        templates = built_in_dataset(
            kind.name, probes_samples(suite.questions, suite.repeats, lengths=suite.lengths), options.chosen
        )
        return structs.replace(templates, samples=samples)


def probe_texts(manifest: Manifest) -> Mapping[str, str]:
    """The texts of the run's probes by group, made again from their seed; none where that is unknown."""
    seed = manifest.settings.question_seed
    options = next((task.options for task in manifest.tasks if task.suite == NAME), {})
    if seed is None:
        return {}
    suite = build_suite(known_suite(NAME), options)
    assert isinstance(suite, ProbesSuite)
    samples = probes_samples(suite.questions, 1, seed, suite.lengths)
    return {group_of(each.id): str(each.turn.messages[-1]["content"]) for each in samples}
