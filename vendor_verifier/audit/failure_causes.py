"""Assigns every failed sample exactly one of six causes; raw rates stay beside the attributable ones.

A sample failed when the request did, or when a call in its answer is invalid. The first rule that fits decides:

1. dataset: a request with a broken tool schema was refused, or nothing but the schema's own defect made a call invalid;
2. harness: our own side: not sent, not translatable, no right or credit to ask;
3. network: no byte reached the vendor: name look-up, connecting, or a reset before anything was sent; a refused or
   failed TLS connection only when another vendor had network trouble on the same sample, else it is the vendor's;
4. rate_limit: 429, a matter of the plan bought and of our pace (503 and 529 are the vendor's);
5. baseline_too: the baseline failed on every run of the same sample in the same way, for no other cause;
6. vendor: the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import get_args

import msgspec

from vendor_verifier.records.blame import BlameCounts, Cause
from vendor_verifier.records.failures import KINDS, Charge
from vendor_verifier.records.score import CallClass
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.row_keys import Unit
from vendor_verifier.suites import TRIGGER

_CAUSES: Mapping[Charge, Cause] = {
    "us": "harness", "unasked": "harness", "account": "harness", "network": "network", "rate_limit": "rate_limit",
}  # fmt: skip
_BEFORE_SENDING = frozenset({"dns", "connect", "tls", "send"})
_INVALID: frozenset[CallClass] = frozenset({"invalid_json", "unknown_tool", "schema_mismatch", "schema_unusable"})


class Outcomes(msgspec.Struct, frozen=True):
    """``asked``: sample → its number of requests; ``failed``: the failures alone, by (sample, repetition)."""

    asked: Mapping[str, int]
    failed: Mapping[Unit, Traits]


NO_OUTCOMES = Outcomes({}, {})


def outcomes_of(table: ObservationTable, suite: str = TRIGGER) -> Outcomes:
    """The outcomes of one suite."""
    import numpy as np

    units = table.units().at(table.where(lambda traits: traits.suite == suite))
    times = np.bincount(units.numbers, minlength=len(units.samples)).tolist()
    failed = table.entries_where(lambda traits: traits.suite == suite and is_failure(traits))
    asked = {sample: count for sample, count in zip(units.samples, times, strict=True) if count}
    return Outcomes(asked, {key[1:]: traits for key, traits in failed})


def is_failure(outcome: Traits) -> bool:
    """Whether the request failed, or a call in its answer is invalid."""
    return outcome.failure is not None or any(each in _INVALID for each in outcome.classes)


def blame(
    outcomes: Outcomes,
    baseline: Outcomes = NO_OUTCOMES,
    others: Iterable[Outcomes] = (),
) -> BlameCounts:
    """Charge every failed unit of one vendor to one cause.

    ``baseline``: the baseline's outcomes (none for the baseline itself); ``others``: the other vendors', which
    distinguish trouble of our own network from a vendor that refuses connections.
    """
    troubled = {
        sample
        for each in others
        for (sample, _), outcome in each.failed.items()
        if outcome.failure is not None and KINDS[outcome.failure].unreachable
    }
    excused = dict(_baseline_failures(baseline, troubled))
    samples: dict[Cause, list[Unit]] = {cause: [] for cause in get_args(Cause)}
    for unit, outcome in outcomes.failed.items():
        samples[cause_of(outcome, unit[0] in troubled, excused.get(unit[0]))].append(unit)
    asked, failed = sum(outcomes.asked.values()), len(outcomes.failed)
    succeeded, vendor = asked - failed, len(samples["vendor"])
    return BlameCounts(
        asked=asked,
        failed=failed,
        causes={cause: len(units) for cause, units in samples.items()},
        raw=succeeded / asked if asked else None,
        attributable=succeeded / (succeeded + vendor) if succeeded + vendor else None,
        samples={cause: tuple(units) for cause, units in samples.items() if units},
    )


def cause_of(outcome: Traits, network_elsewhere: bool, baseline: str | None) -> Cause:
    """The cause of one failed outcome; ``baseline``: how the baseline failed on the sample (``_way``), if it did."""
    kind = outcome.failure
    if kind is None and {each for each in outcome.classes if each in _INVALID} == {"schema_unusable"}:
        return "dataset"
    charge = "vendor" if kind is None else KINDS[kind].charge
    if _is_defective(outcome) and charge == "question":
        return "dataset"
    if charge in _CAUSES:
        return _CAUSES[charge]
    if charge == "door" and network_elsewhere:
        return "network"
    if kind == "connection_reset" and outcome.phase in _BEFORE_SENDING:
        return "network"
    return "baseline_too" if baseline == _way(outcome) else "vendor"


def _baseline_failures(baseline: Outcomes, troubled: Collection[str]) -> Iterator[tuple[str, str]]:
    """Samples on which every run of the baseline failed in one way by its own doing, and the way."""
    by_sample: dict[str, list[Traits]] = {}
    for (sample, _), outcome in baseline.failed.items():
        by_sample.setdefault(sample, []).append(outcome)
    for sample, runs in by_sample.items():
        ways = {_way(outcome) for outcome in runs}
        if (
            len(runs) == baseline.asked[sample]
            and len(ways) == 1
            and all(cause_of(outcome, sample in troubled, None) == "vendor" for outcome in runs)
        ):
            yield sample, ways.pop()


def _way(outcome: Traits) -> str:
    """A word for the way an outcome failed: the kind of failure, or invalid calls."""
    return outcome.failure or "invalid calls"


def _is_defective(outcome: Traits) -> bool:
    """Whether the sample itself holds what nobody can take."""
    return "refused_defective_sample" in outcome.anomalies or "schema_unusable" in outcome.classes
