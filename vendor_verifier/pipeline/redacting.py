"""Takes the texts out of all that a run would store, before it is stored; scores are found while texts are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from vendor_verifier.redact import redacted_record, redacted_words
from vendor_verifier.run.agenda import Part
from vendor_verifier.suites import suite_kind
from vendor_verifier.suites.base import Suite, judged
from vendor_verifier.suites.schema import schema_defects
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite
from vendor_verifier.values.record import Record
from vendor_verifier.values.samples import Samples

# A refusal that a sample with a broken tool schema brought upon itself, which a redacted sample no longer shows.
_REFUSALS = frozenset({"bad_request", "unprocessable"})


def redactor(parts: Iterable[Part]) -> Callable[[Record], Record]:
    """What to pass every record of ``parts`` through before it is written."""
    kept = TriggerSuite(checkers=KeptCheckers())
    asked: dict[str, tuple[Suite, Samples]] = {
        part.suite.name: (kept if isinstance(part.suite, TriggerSuite) else part.suite, part.samples) for part in parts
    }

    def redact(record: Record) -> Record:
        if keeps_texts(record.suite):
            return record
        suite, samples = asked[record.suite]
        sample = samples.named(record.sample)
        assert sample is not None
        score = judged(record, suite, sample)
        if _is_refused(record) and schema_defects(sample):
            score = replace(score, anomalies=(*score.anomalies, "refused_defective_sample"))
        return redacted_record(record, score)

    return redact


def keeps_texts(suite: str) -> bool:
    """Whether this evaluation asks questions of our own, which are nobody's secret (the checks of features)."""
    kind = suite_kind(suite)
    return kind is not None and kind.apart


def redacted_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """One evaluation of the manifest without sentences that quote samples."""
    return {
        **task,
        "skipped": [redacted_words(words) for words in task["skipped"]],
        "defects": [redacted_words(words) for words in task["defects"]],
    }


def _is_refused(record: Record) -> bool:
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    return any(attempt.failure is not None and attempt.failure.kind in _REFUSALS for attempt in finals)
