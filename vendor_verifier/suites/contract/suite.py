"""The suite ``contract``: plays one check a sample; what the checks are stands in their own modules.

Statuses of a check:

- ``kept`` and ``broken``: the answers show it;
- ``not_offered``: the wire has no word for the feature, or the vendor refuses it and answers without it;
- ``not_measurable``: nothing was shown (a failure, an answer that was cut short). It counts neither way.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import partial

from vendor_verifier.suites import Judgement
from vendor_verifier.suites.contract import Check, Finding, not_measurable, usage_thinking_refusals
from vendor_verifier.suites.contract.request_checks import OUTPUT_CHECKS, TOOL_CHOICE_CHECKS
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import FeatureStatus, Score

CHECKS: tuple[Check, ...] = (
    *TOOL_CHOICE_CHECKS,
    *OUTPUT_CHECKS,
    *usage_thinking_refusals.REFUSAL_CHECKS,
    *usage_thinking_refusals.USAGE_CHECKS,
    *usage_thinking_refusals.THINKING_CHECKS,
)
_VALUES: Mapping[FeatureStatus, float | None] = {"kept": 1.0, "broken": 0.0}


def contract_samples() -> tuple[Sample, ...]:
    """One sample a check, named by it, in the order of the report."""
    return tuple(
        Sample(f"contract-{check.name}", check.turn, tags={"category": "contract", "check": check.name})
        for check in CHECKS
    )


@dataclass(frozen=True, slots=True)
class ContractSuite:
    """A score's ``values`` hold ``kept``: 1.0, 0.0, or ``None`` where the check measured nothing. ``details`` are
    ``check``, ``status`` and ``evidence``."""

    name: str = "contract"

    def play(self, sample: Sample) -> Generator[Turn, Attempt, Judgement]:
        """Ask what the check asks."""
        name = str(sample.tags.get("check"))
        check = next((check for check in CHECKS if check.name == name), None)
        if check is None:
            finding = not_measurable("this version knows no such check")
        else:
            finding = yield from check.examine(sample.turn)
        return partial(self.judge, name, finding)

    def judge(self, name: str, finding: Finding) -> Score:
        """A finding as a score."""
        details = {"check": name, "status": finding.status, "evidence": finding.evidence}
        return Score(self.name, values={"kept": _VALUES.get(finding.status)}, details=details)
