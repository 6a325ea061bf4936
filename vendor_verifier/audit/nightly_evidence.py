"""Whether a vendor's answers, held against the baseline's night after night, are the baseline's own.

One night may show too little. Every run's p-values of the answers test and of the suite ``probes``, before any
correction, are kept in the history, and their evidence is accumulated over the runs in which the same vendor stood
beside the same baseline, whatever these runs asked. All series of one check share one error of 1 %, however many
nights go by (:mod:`vendor_verifier.stats.e_values`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vendor_verifier.audit.finding import finding
from vendor_verifier.stats.e_values import evidence_over
from vendor_verifier.values.history import HistoryEntry, HistoryRun
from vendor_verifier.values.judgement import Finding
from vendor_verifier.words import english

BUDGET = 0.01
# One night alone has its own finding.
_LEAST_NIGHTS = 2


def unlike_over_nights(runs: Sequence[HistoryRun]) -> Iterator[tuple[str, Finding]]:
    """(model, finding) for every vendor of the newest of ``runs``, oldest first, that is surely unlike its baseline."""
    newest = runs[-1].entries if runs else ()
    series = [(entry, test) for entry in newest for test in entry.chances]
    for entry, test in series:
        nights = list(_nights(runs, entry, test))
        found = evidence_over([p_value for _, p_value in nights])
        if len(nights) >= _LEAST_NIGHTS and found.chance <= BUDGET / len(series):
            since = nights[found.first][0]
            evidence: dict[str, float | int | str] = {
                "test": test, "nights": found.nights, "e_value": found.e_value,
                "chance": found.chance * len(series), "since": since.at, "run": since.run,
            }  # fmt: skip
            odds = f"{1 / found.chance / len(series):,.0f}"
            what = english(f"nights_{test}")
            yield entry.model, finding("unlike_over_nights", entry.label, evidence, (), what=what, odds=odds)


def _nights(runs: Sequence[HistoryRun], entry: HistoryEntry, test: str) -> Iterator[tuple[HistoryRun, float]]:
    """The runs that have that p-value of the vendor, beside the baseline of the newest run."""
    baseline = _baseline(runs[-1], entry.model)
    for run in runs:
        for each in run.entries:
            is_same = (each.model, each.label) == (entry.model, entry.label) and _baseline(run, each.model) == baseline
            if is_same and run.complete and test in each.chances:
                yield run, each.chances[test]


def _baseline(run: HistoryRun, model: str) -> str | None:
    return next((each.label for each in run.entries if each.model == model and each.is_baseline), None)
