"""The hooks of ``identity``: its questions are made anew for every run, from the seed of its questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from vendor_verifier.config.suite_options import SuiteOptions, build_suite
from vendor_verifier.pipeline.datasets import Dataset, built_in_dataset
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.pipeline.suites import SuiteHooks
from vendor_verifier.suites import SuiteKind
from vendor_verifier.suites.identity.questions import identity_samples
from vendor_verifier.suites.identity.suite import IdentitySuite


@dataclass(frozen=True, slots=True)
class IdentityHooks(SuiteHooks):
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
        return IdentityHooks(question_seed)

    def dataset(self, kind: SuiteKind, options: SuiteOptions, *, skip_bad: bool) -> Dataset:  # noqa: ARG002
        suite = build_suite(kind, options.own)
        assert isinstance(suite, IdentitySuite)
        samples = identity_samples(suite.probes, suite.samples, self.seed)
        # Histories join runs by this digest: it is that of the templates, whatever was made of them.
        templates = built_in_dataset(kind.name, identity_samples(suite.probes, suite.samples), options.chosen)
        return replace(templates, samples=samples)
