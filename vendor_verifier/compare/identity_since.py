"""Who answered in one run and in the next: other served models, other deployments; said, never judged.

A vendor whose every answer bears a new fingerprint has none to compare: beyond ``MOST_NAMES`` nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vendor_verifier.compare.identity import IdentityRow
from vendor_verifier.values.judgement import Finding, ServedNames
from vendor_verifier.values.trend import HistoryRun

MOST_NAMES = 8


def served_names(rows: Iterable[IdentityRow]) -> ServedNames:
    """All names that the answers of a run bear, ``MOST_NAMES`` + 1 of a kind at most."""
    models, fingerprints = set(), set()
    for row in rows:
        if row.served_model:
            models.add(row.served_model)
        if row.fingerprint:
            fingerprints.add(row.fingerprint)
    return ServedNames(*(tuple(sorted(found)[: MOST_NAMES + 1]) for found in (models, fingerprints)))


def changes_since(label: str, before: ServedNames, after: ServedNames) -> tuple[Finding, ...]:
    """What an earlier run of the same entry was told and a later one is not, or the reverse."""
    findings = []
    for old, new, name, noun in (
        (before.models, after.models, "served_model_changed_since", "served models"),
        (before.fingerprints, after.fingerprints, "fingerprint_changed_since", "fingerprints"),
    ):
        if old and new and old != new and max(len(old), len(new)) <= MOST_NAMES:
            told = [", ".join(each) for each in (old, new)]
            said = f"{noun} were {told[0]} in the earlier run and are {told[1]} in this one"
            findings.append(Finding(name, label, said, {"before": told[0], "after": told[1]}))
    return tuple(findings)


def changes_since_last(runs: Sequence[HistoryRun]) -> Iterator[tuple[str, Finding]]:
    """(model, finding) of the newest of ``runs``, oldest first: each entry against its last run that told names."""
    if not runs:
        return
    for entry in runs[-1].entries:
        earlier = (
            each.served
            for run in reversed(runs[:-1])
            for each in run.entries
            if (each.model, each.label) == (entry.model, entry.label) and each.served != ServedNames()
        )
        before = next(earlier, None)
        if before is not None:
            yield from ((entry.model, finding) for finding in changes_since(entry.label, before, entry.served))
