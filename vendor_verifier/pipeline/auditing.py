"""Notes what bills and identities are judged by while records pass, so that no record is kept; it judges nothing."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.compare.answer_rows import BilledAttempts, Claims, IdentityRows
from vendor_verifier.compare.identity import IdentityRow, identity_row
from vendor_verifier.compare.identity_since import served_names
from vendor_verifier.compare.money import billed_attempts
from vendor_verifier.compare.rows import Key
from vendor_verifier.metrics.usage import reported_usage
from vendor_verifier.store import RunFolder
from vendor_verifier.values.judgement import ServedNames
from vendor_verifier.values.record import Record
from vendor_verifier.values.samples import ChosenSamples, Samples

EntryKey = tuple[str, str]
_NEVER = "~"


@dataclass(slots=True)
class Audit:
    """One entry's answers. ``rows``, ``reasoning`` (billed tokens, whether any was shown) and ``cached`` (prompt and
    cached tokens) are by (suite, sample, repetition), of the answer that stands; ``attempts`` are all that may be
    billed, ``duplicated_attempts`` those of records that were made twice."""

    rows: IdentityRows = field(default_factory=IdentityRows)
    reasoning: Claims = field(default_factory=Claims)
    cached: Claims = field(default_factory=Claims)
    attempts: BilledAttempts = field(default_factory=BilledAttempts)
    duplicated_attempts: BilledAttempts = field(default_factory=BilledAttempts)

    def cached_once(self) -> list[tuple[str, int, int]]:
        """(sample, prompt tokens, cached tokens) of the prompts that were sent once and are said to be cached."""
        sent = self.attempts.by_sample()
        return [claim for claim in self.cached if claim[2] and sent[claim[0]] == 1]

    def take(self, record: Record, key: Key, asked_model: str, max_tokens: int | None) -> None:
        """Note one record; the first success under its key stands."""
        self.attempts.add(key, billed_attempts(record))
        final = record.final
        row = identity_row(record, asked_model, max_tokens)
        if row is None or final is None or final.response is None or (key in self.rows and not record.succeeded):
            return
        self.rows.put(key, row)
        usage = reported_usage(final)
        if usage.reasoning is not None:
            self.reasoning.put(key, usage.reasoning, bool(final.response.reasoning.strip()))
        if usage.cached is not None and usage.input is not None:
            self.cached.put(key, usage.input, usage.cached)


@dataclass(frozen=True, slots=True)
class Audits:
    """All entries' notes. ``entries`` are the manifest's, ``samples`` are by suite, without those that stand apart."""

    entries: Mapping[EntryKey, Mapping[str, Any]]
    samples: Mapping[str, Samples]
    found: dict[EntryKey, Audit] = field(default_factory=dict)
    _first_sent: dict[str, list[str]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Note a record of the plan; others are left alone."""
        key = (record.model, record.label)
        entry, samples = self.entries.get(key), self.samples.get(record.suite)
        place = None if samples is None else samples.place_of(record.sample)
        if entry is None or samples is None or place is None:
            return
        sample = samples.at(place)
        self._note_sending(record, place)
        own = entry.get("parameters") or {}
        stated = own["max_tokens"] if "max_tokens" in own else sample.turn.parameters.get("max_tokens")
        limit = stated if isinstance(stated, int) else None
        # The texts that others hold too, not the record's own.
        unit = (sys.intern(record.suite), sample.id, record.repetition)
        self._audit(key).take(record, unit, str(entry.get("model_id") or record.model), limit)

    def take_duplicate(self, record: Record) -> None:
        """Note that a record of the plan was paid for twice; nothing else is learnt of it."""
        key = (record.model, record.label)
        samples = self.samples.get(record.suite)
        if key in self.entries and samples is not None and samples.place_of(record.sample) is not None:
            unit = (record.suite, record.sample, record.repetition)
            self._audit(key).duplicated_attempts.add(unit, billed_attempts(record))

    def _audit(self, key: EntryKey) -> Audit:
        found = self.found.get(key)
        if found is None:
            found = self.found[key] = Audit()
        return found

    def in_sending_order(self) -> dict[str, Samples]:
        """The samples by suite, each in the order in which it was first sent to anybody; never sent ones go last."""
        return {
            suite: ChosenSamples(found, array("Q", sorted(range(len(found)), key=self._moments(suite).__getitem__)))
            for suite, found in self.samples.items()
        }

    def _moments(self, suite: str) -> list[str]:
        """When each sample of a suite was first sent; a text that is later than any where it was not."""
        found = self._first_sent.get(suite)
        if found is None:
            found = self._first_sent[suite] = [_NEVER] * len(self.samples[suite])
        return found

    def _note_sending(self, record: Record, place: int) -> None:
        attempts = record.turns[0].attempts if record.turns else ()
        timing = attempts[0].timing if attempts else None
        if timing is not None:
            moments = self._moments(record.suite)
            # UTC in one format: the texts order as the moments do.
            moments[place] = min(timing.sent_at, moments[place])

    def of(self, model: str, label: str) -> Audit:
        """The notes on one entry, empty if nothing was heard of it."""
        return self.found.get((model, label)) or Audit()


def names_in(folder: RunFolder) -> dict[EntryKey, ServedNames]:
    """Which models and fingerprints the answers of a stored run bear, by entry.

    Raises:
        RunFolderError: not a readable run folder.
    """
    rows: dict[EntryKey, list[IdentityRow]] = {}
    for record in folder.read_records(lambda _number, _reason: None):
        row = identity_row(record, record.model)
        if row is not None:
            rows.setdefault((record.model, record.label), []).append(row)
    return {key: served_names(found) for key, found in rows.items()}
