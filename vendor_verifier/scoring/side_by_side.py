"""Every entry's first answer to a bounded sample of the samples, beside the baseline's answer to the same ones."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vendor_verifier.metrics import RECORD_METRICS
from vendor_verifier.records.details import MAX_ANSWERS, Agreement, ComparedAnswer
from vendor_verifier.records.record import Record
from vendor_verifier.records.score import Score
from vendor_verifier.scoring.draws import Draw, key_digest
from vendor_verifier.scoring.observation import Observation

EntryKey = tuple[str, str]
_CUT = frozenset({"truncated"})
_TOKENS = [metric.name for metric in RECORD_METRICS].index("total_tokens")


class _Answer(msgspec.Struct, frozen=True):
    """The parts of one answer that are compared; ``failure`` is "" for a success."""

    suite: str
    sample: str
    failure: str
    judgement: tuple[object, ...]
    tokens: float | None

    @property
    def is_judged(self) -> bool:
        return not self.failure and any(part not in (None, "undecided") for part in self.judgement)


class SideBySide(msgspec.Struct):
    """The first two answers of each entry to the samples with the smallest digests, the same samples for all."""

    draws: dict[tuple[EntryKey, int], Draw[_Answer]] = msgspec.field(default_factory=dict)

    def take(self, record: Record, score: Score, row: Observation) -> None:
        """Keep what is compared of a record, if its sample is among those that are kept."""
        if record.repetition > 1:
            return
        place = ((record.model, record.label), record.repetition)
        draw = self.draws.get(place)
        if draw is None:
            draw = self.draws[place] = Draw(MAX_ANSWERS)
        digest = key_digest(record.suite, record.sample)
        if draw.wants(digest):
            failure = "" if row.traits.succeeded else row.traits.failure or "harness"
            judgement = (score.decision, *(score.values[name] for name in sorted(score.values)))
            draw.add(digest, _Answer(record.suite, record.sample, failure, judgement, row.values[_TOKENS]))

    def finished(self, baselines: Mapping[str, str]) -> dict[EntryKey, tuple[ComparedAnswer, ...]]:
        """The comparisons by entry, in the order of suites and samples; ``baselines`` are labels by model."""
        found = {}
        for entry in {entry for entry, _ in self.draws}:
            model, label = entry
            is_baseline = baselines.get(model) == label
            own = self._kept(entry, 1 if is_baseline else 0)
            reference = self._kept((model, baselines.get(model, "")), 0)
            answers = (_beside(answer, reference.get(digest)) for digest, answer in own.items())
            found[entry] = tuple(sorted(answers, key=lambda answer: (answer.suite, answer.sample)))
        return found

    def _kept(self, entry: EntryKey, repetition: int) -> Mapping[int, _Answer]:
        draw = self.draws.get((entry, repetition))
        return {} if draw is None else draw.kept


def _beside(own: _Answer, reference: _Answer | None) -> ComparedAnswer:
    ratio = None
    if reference is not None and own.tokens is not None and reference.tokens:
        ratio = own.tokens / reference.tokens
    return ComparedAnswer(own.suite, own.sample, _agreement(own, reference), ratio)


def _agreement(own: _Answer, reference: _Answer | None) -> Agreement:
    if own.failure:
        return "cut" if own.failure in _CUT else "failed"
    if reference is None or not own.is_judged or not reference.is_judged:
        return "unknown"
    return "agrees" if own.judgement == reference.judgement else "differs"
