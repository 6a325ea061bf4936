"""Suites as a run or a scoring needs them, with what only a running program has; it plays and judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from vendor_verifier.config.suite_options import build_suite, known_suite
from vendor_verifier.installing import BFCL_FUNCTIONS, BFCL_SIMULATORS
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import BFCL
from vendor_verifier.suites.base import Suite
from vendor_verifier.values.sample import Sample
from vendor_verifier.words import english

if TYPE_CHECKING:
    from vendor_verifier.suites.bfcl.suite import BfclSuite


def ready_suite(
    name: str, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None = None
) -> Suite:
    """The suite with its options; ``bfcl`` with the services and functions its samples need, if they are found,
    and what is stored in ``folder`` of live services' answers. A stored run (``folder``) may be a stranger's: its
    manifest does not choose where code is imported from, only what is installed, or was imported to run it, is used.

    Raises:
        ProblemsError: no such suite, or options that cannot be meant.
    """
    suite = build_suite(known_suite(name), options)
    if name != BFCL:
        return suite
    # Forty modules that no other evaluation needs.
    from vendor_verifier.features.bfcl.executables import find_functions, read_rest_answers
    from vendor_verifier.features.bfcl.source import find_services
    from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, REST

    where = str(options.get("data", "installed"))
    return replace(
        cast("BfclSuite", suite),
        services=find_services(where if folder is None else "installed") if _of(samples, MULTI_TURN) else None,
        # Not imported: those that only calculate are run in a process of their own that has nothing.
        functions=find_functions(where) if _of(samples, EXECUTABLE) else None,
        fetched=read_rest_answers(folder) if folder is not None and _of(samples, REST) else {},
    )


def unjudged_reasons(suite: Suite, samples: Sequence[Sample]) -> list[str]:
    """Why some of the samples cannot be judged here, a sentence each."""
    if suite.name != BFCL:
        return []
    from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN

    suite = cast("BfclSuite", suite)
    kinds = (
        ("multi-turn", MULTI_TURN, suite.services, BFCL_SIMULATORS),
        ("executable", EXECUTABLE, suite.functions, BFCL_FUNCTIONS),
    )
    return [
        english("warn_unjudged", suite=suite.name, rows=rows, word=word, mending=mending)
        for word, categories, found, mending in kinds
        if found is None and (rows := _of(samples, categories))
    ]


def _of(samples: Sequence[Sample], categories: Sequence[str]) -> int:
    return sum(sample.expected.get("category") in categories for sample in samples)
