"""The stated log-probabilities of first tokens judged: unlike the baseline's, or made up.

They are asked for on request beside some of the probes of ``identity`` and share the probes' budget of 1 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from vendor_verifier.audit.finding import finding
from vendor_verifier.audit.probes import BUDGET, LEAST_PROBES, Replies, StatedFirst
from vendor_verifier.stats.answers_test import holm
from vendor_verifier.stats.logprob_test import LEAST_SHIFT, Listed, shift, tabled
from vendor_verifier.values.judgement import Finding
from vendor_verifier.values.probes import LogprobsTest
from vendor_verifier.words import english

if TYPE_CHECKING:
    import numpy as np

# A baseline whose two askings differ at this level is no yardstick.
_OWN_LEVEL = 0.01
# Probabilities that sum to more were not reckoned; hosts round to two digits. It takes more than one bad list in ten.
_MOST_SUM, _SOME = 1.02, 0.1
_SAME = 1e-9
# So likely the first token is certain, and what is stated of the others may be a filler.
_CERTAIN = -1e-3
Invention = Literal["sum", "equal", "constant"]


def logprobs_tests(
    replies: Mapping[str, Replies], baseline: str | None, rng: np.random.Generator
) -> dict[str, LogprobsTest]:
    """The test of every vendor but the baseline that was asked for log-probabilities, by label; not yet corrected."""
    asked = {label: each for label, each in replies.items() if each.logprobs_told}
    reference = asked.get(baseline or "")
    vendors = {label: each for label, each in asked.items() if label != baseline}
    if reference is None:
        return {label: LogprobsTest(not_measurable=english("answers_no_baseline")) for label in vendors}
    hindrance = _hindrance(reference)
    if hindrance is not None:
        why = english("logprobs_of_baseline", why=english(hindrance))
        return {label: LogprobsTest(not_measurable=why) for label in vendors}
    halves = shift(tabled(*_halves(reference)), rng)
    if halves.p_value <= _OWN_LEVEL and halves.nats >= LEAST_SHIFT:
        return {label: LogprobsTest(not_measurable=english("logprobs_baseline_drifts")) for label in vendors}
    return {label: _test(each, reference, halves.nats, rng) for label, each in vendors.items()}


def _test(own: Replies, reference: Replies, baseline_shift: float, rng: np.random.Generator) -> LogprobsTest:
    hindrance = _hindrance(own)
    tables = [] if hindrance else tabled(_listed(own.stated), _listed(reference.stated))
    if hindrance is None and len(tables) < LEAST_PROBES:
        hindrance = "logprobs_too_few"
    if hindrance is not None:
        return LogprobsTest(len(tables), not_measurable=english(hindrance))
    found = shift(tables, rng)
    p_value = found.p_value if found.nats >= LEAST_SHIFT else 1.0
    return LogprobsTest(
        found.probes, found.n, found.z, found.nats, baseline_shift, found.seen, p_value, raw_p_value=p_value
    )


def _hindrance(side: Replies) -> str | None:
    """The reason for a side's numbers not being there, or being no numbers, as the name of its sentence."""
    if not side.stated:
        (status, _), *_ = side.logprobs_told.most_common(1)
        return f"logprobs_{status}"
    return None if invention(side.stated) is None else "logprobs_made_up"


def _listed(stated: Mapping[str, Sequence[StatedFirst]]) -> dict[str, list[Listed]]:
    return {probe: [each.listed for each in found] for probe, found in stated.items()}


def _halves(side: Replies) -> tuple[dict[str, list[Listed]], dict[str, list[Listed]]]:
    """The answers of the first asking and of the others; by turns where everything was asked once."""
    first: dict[str, list[Listed]] = {}
    second: dict[str, list[Listed]] = {}
    for probe, found in side.stated.items():
        is_repeated = len({each.repetition for each in found}) > 1
        for place, each in enumerate(found):
            half = second if (each.repetition if is_repeated else place) % 2 else first
            half.setdefault(probe, []).append(each.listed)
    return first, second


def corrected(tests: Mapping[str, LogprobsTest], beside: Sequence[float]) -> dict[str, LogprobsTest]:
    """The tests with p-values for so many tests, those ``beside`` them under one budget included."""
    raw = {label: test.raw_p_value for label, test in tests.items() if test.raw_p_value is not None}
    adjusted = dict(zip(raw, holm([*raw.values(), *beside]), strict=False))
    return {label: structs.replace(test, p_value=adjusted.get(label)) for label, test in tests.items()}


def logprobs_findings(replies: Mapping[str, Replies], tests: Mapping[str, LogprobsTest]) -> Iterator[Finding]:
    """A finding for every vendor whose stated probabilities are proven not to be the baseline's, and for everyone whose
    are made up."""
    for label, side in replies.items():
        pattern = invention(side.stated)
        if pattern is not None:
            evidence: dict[str, float | int | str] = {
                "pattern": pattern, "probes": len(side.stated), "answers": sum(map(len, side.stated.values())),
            }  # fmt: skip
            yield finding("logprobs_invented", label, evidence, (), what=english(f"invented_{pattern}"))
    for label, test in tests.items():
        if test.p_value is not None and test.p_value <= BUDGET:
            shown = {"shift": test.shift or 0.0, "baseline_shift": test.baseline_shift or 0.0}
            evidence = {"probes": test.probes, "answers": test.n, "z": test.z or 0.0, "p_value": test.p_value, **shown}
            words = {name: f"{nats:.2f}" for name, nats in shown.items()}
            yield finding("logprobs_unlike_baseline", label, evidence, (), **words)


def invention(stated: Mapping[str, Sequence[StatedFirst]]) -> Invention | None:
    """The sign that the numbers come from no model: probabilities that sum to more than 1, one number for every
    token, or the same numbers whatever was asked; None where nothing does."""
    lists = [sorted(each.listed.values(), reverse=True) for found in stated.values() for each in found]
    if sum(_sum(each) > _MOST_SUM for each in lists) > _SOME * len(lists):
        return "sum"
    several = [each for each in lists if len(each) > 1]
    if len(stated) < LEAST_PROBES or 2 * len(several) < len(lists):
        return None
    if all(each[0] - each[-1] < _SAME for each in several):
        return "equal"
    is_open = all(each[0] < _CERTAIN for each in several)
    return "constant" if is_open and len(set(map(tuple, several))) == 1 else None


def _sum(logprobs: Iterable[float]) -> float:
    return sum(math.exp(min(each, 1.0)) for each in logprobs)
