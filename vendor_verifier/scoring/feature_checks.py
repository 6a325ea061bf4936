"""The score of one vendor's contract over the observations of its checks; it compares no vendors.

These records stand apart: most of them provoke a refusal, so they would spoil every other figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.provider_names import same_provider
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import FeatureCheck, FeatureStatus, SuiteScore

# One broken answer among kept ones is a broken promise; a finding outweighs none.
_WORST_FIRST: tuple[FeatureStatus, ...] = ("broken", "kept", "not_offered", "not_measurable")
_UNASKED = "no record"
_Finding = tuple[FeatureStatus, str]


def checks_score(
    table: ObservationTable, suite: str, samples: Sequence[Sample], repeat: int, pin: str | None = None
) -> SuiteScore:
    """``kept`` = kept ÷ (kept + broken) records; the checks stand in the order of ``samples``.

    A row that another provider than the pinned one served measures nothing.
    """
    rows = dict(table.entries())
    others = _others(table, pin) if pin else frozenset()
    found: dict[str, list[_Finding]] = {}
    for sample in samples:
        keys = [(suite, sample.id, number) for number in range(repeat)]
        findings = [_finding(rows[key], others) for key in keys if key in rows]
        found.setdefault(str(sample.tags.get("check", sample.id)), []).extend(findings)
    counts = Counter(status for findings in found.values() for status, _ in findings)
    judged = counts["kept"] + counts["broken"]
    return SuiteScore(
        planned=len(samples) * repeat,
        judged=judged,
        values={"kept": counts["kept"] / judged if judged else None},
        measured={"kept": judged},
        checks={name: _summed_up(findings) for name, findings in found.items()},
    )


def _others(table: ObservationTable, pin: str) -> frozenset[str]:
    """Providers that are not the pinned one; a single name everywhere is taken for a spelling nobody told us."""
    served = frozenset[str]().union(*(traits.providers for traits in table.traits()))
    others = frozenset(name for name in served if not same_provider(pin, name))
    return frozenset() if served == others and len(others) == 1 else others


def _finding(traits: Traits, others: frozenset[str]) -> _Finding:
    strangers = traits.providers & others
    if strangers:
        return "not_measurable", f"served by {', '.join(sorted(strangers))}"
    return traits.status or "not_measurable", traits.evidence


def _summed_up(findings: Sequence[_Finding]) -> FeatureCheck:
    statuses: Counter[FeatureStatus] = Counter(status for status, _ in findings)
    worst: FeatureStatus = next((word for word in _WORST_FIRST if statuses[word]), "not_measurable")
    evidence = next((words for status, words in findings if status == worst), _UNASKED)
    return FeatureCheck(worst, evidence, dict(statuses))
