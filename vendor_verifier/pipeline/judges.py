"""Suites as a run or a scoring needs them, with what only a running program has; it plays and judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vendor_verifier.bfcl_source import find_services
from vendor_verifier.config.suite_options import build_suite, known_suite
from vendor_verifier.suites.base import Suite
from vendor_verifier.suites.bfcl.categories import INSTALL_SIMULATORS, MULTI_TURN
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.values.sample import Sample


def ready_suite(name: str, options: Mapping[str, Any], samples: Sequence[Sample]) -> Suite:
    """The suite with its options; ``bfcl`` with the simulated services that its samples talk to, if they are found.

    Raises:
        ProblemsError: no such suite, or options that cannot be meant.
    """
    suite = build_suite(known_suite(name), options)
    if isinstance(suite, BfclSuite) and _of(samples, MULTI_TURN):
        return replace(suite, services=find_services(str(options.get("data", "installed"))))
    return suite


def unjudged_reason(suite: Suite, samples: Sequence[Sample]) -> str | None:
    """Why some of the samples cannot be judged here, in a sentence; None when all can."""
    if not isinstance(suite, BfclSuite) or suite.services is not None:
        return None
    rows = _of(samples, MULTI_TURN)
    words = f"{suite.name}: {rows} multi-turn rows cannot be judged on this machine: {INSTALL_SIMULATORS}"
    return words if rows else None


def _of(samples: Sequence[Sample], categories: Sequence[str]) -> int:
    return sum(sample.expected.get("category") in categories for sample in samples)
