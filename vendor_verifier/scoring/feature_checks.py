"""What the checks of one vendor's contract found, record by record and summed up; it compares no vendors.

These records stand apart: most of them provoke a refusal, so they would spoil every other figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast, get_args

from vendor_verifier.scoring.provider_names import same_provider
from vendor_verifier.suites.base import Suite, replay
from vendor_verifier.values.record import Record, supersedes
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import FeatureCheck, FeatureStatus, SuiteScore

# One broken answer among kept ones is a broken promise; a finding outweighs none.
_WORST_FIRST: tuple[FeatureStatus, ...] = ("broken", "kept", "not_offered", "not_measurable")
_UNASKED = "no record"


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """One record of one check. ``providers`` are who says it answered."""

    status: FeatureStatus
    evidence: str
    providers: frozenset[str] = frozenset()

    @property
    def succeeded(self) -> bool:
        """Whether it shows anything, so that a later sitting's finding replaces an empty-handed one."""
        return self.status != "not_measurable"


@dataclass(slots=True)
class FeatureRows:
    """The rows of one entry by (suite, sample, repetition)."""

    rows: dict[tuple[str, str, int], FeatureRow] = field(default_factory=dict)

    def add(self, record: Record, suite: Suite, sample: Sample) -> None:
        """Replay the check, and keep what it finds unless what is known under the key stands."""
        key = (record.suite, record.sample, record.repetition)
        row = _row(record, suite, sample)
        known = self.rows.get(key)
        if known is None or supersedes(row, known):
            self.rows[key] = row

    def score(self, suite: str, samples: Sequence[Sample], repeat: int, pin: str | None = None) -> SuiteScore:
        """``kept`` = kept ÷ (kept + broken) records; the checks stand in the order of ``samples``.

        A row that another provider than the pinned one served measures nothing.
        """
        others = self._others(pin) if pin else frozenset()
        found: dict[str, list[FeatureRow]] = {}
        for sample in samples:
            keys = [(suite, sample.id, number) for number in range(repeat)]
            rows = [_routed(self.rows[key], others) for key in keys if key in self.rows]
            found.setdefault(str(sample.tags.get("check", sample.id)), []).extend(rows)
        counts = Counter(row.status for rows in found.values() for row in rows)
        judged = counts["kept"] + counts["broken"]
        return SuiteScore(
            planned=len(samples) * repeat,
            judged=judged,
            values={"kept": counts["kept"] / judged if judged else None},
            measured={"kept": judged},
            checks={name: _summed_up(rows) for name, rows in found.items()},
        )

    def _others(self, pin: str) -> frozenset[str]:
        """Providers that are not the pinned one; a single name everywhere is taken for a spelling nobody told us."""
        served = frozenset[str]().union(*(row.providers for row in self.rows.values()))
        others = frozenset(name for name in served if not same_provider(pin, name))
        return frozenset() if served == others and len(others) == 1 else others


def _row(record: Record, suite: Suite, sample: Sample) -> FeatureRow:
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    score = replay(suite.play(sample), iter(finals))
    status = score.details.get("status") if score is not None else None
    if score is None or status not in get_args(FeatureStatus):
        return FeatureRow("not_measurable", "the recording ends before the check does")
    providers = (attempt.response.served_provider for attempt in finals if attempt.response is not None)
    return FeatureRow(
        cast("FeatureStatus", status), str(score.details.get("evidence", "")), frozenset(filter(None, providers))
    )


def _routed(row: FeatureRow, others: frozenset[str]) -> FeatureRow:
    strangers = row.providers & others
    if not strangers:
        return row
    return replace(row, status="not_measurable", evidence=f"served by {', '.join(sorted(strangers))}")


def _summed_up(rows: Sequence[FeatureRow]) -> FeatureCheck:
    statuses: Counter[FeatureStatus] = Counter(row.status for row in rows)
    status: FeatureStatus = next((word for word in _WORST_FIRST if statuses[word]), "not_measurable")
    evidence = next((row.evidence for row in rows if row.status == status), _UNASKED)
    return FeatureCheck(status, evidence, dict(statuses))
