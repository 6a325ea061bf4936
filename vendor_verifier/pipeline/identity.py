"""The hooks of ``identity``: its questions are made anew from the seed of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """The hooks of a run with this ``seed``."""

    seed: int = 0

    def prepare(self, options: RunOptions, own: Mapping[str, Any], environ: Mapping[str, str]) -> SuiteHooks:  # noqa: ARG002
        return IdentityHooks(options.seed)

    def dataset(self, kind: SuiteKind, options: SuiteOptions, *, skip_bad: bool) -> Dataset:  # noqa: ARG002
        suite = build_suite(kind, options.own)
        assert isinstance(suite, IdentitySuite)
        samples = identity_samples(suite.probes, suite.samples, self.seed)
        return built_in_dataset(kind.name, samples, options.chosen)
