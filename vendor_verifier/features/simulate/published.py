"""The questions that anybody can look up: those of the shipped samples, as a simulated vendor recognises them."""

from __future__ import annotations

from functools import cache

from vendor_verifier.features.simulate.question import question_of


@cache
def published() -> frozenset[str]:
    """The digests of all questions that ship as files."""
    # Only one persona asks, so the others' servers start without what reads data sets.
    from vendor_verifier.pipeline.datasets import load_dataset
    from vendor_verifier.resources import shipped
    from vendor_verifier.suites import SUITES

    files = [kind.dataset for kind in SUITES if isinstance(kind.dataset, str)]
    every = (sample for name in files for sample in load_dataset(shipped(name)).samples)
    return frozenset(question_of(sample.turn).digest for sample in every)
