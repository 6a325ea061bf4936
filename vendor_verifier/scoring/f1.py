"""F1 of triggering against a baseline, joined by sample id and run; rows are never paired by position.

Positive = the model called a tool. Over the pairs of one baseline run and one vendor run:

    precision = TP ÷ (TP + FP)    recall = TP ÷ (TP + FN)    F1 = 2·TP ÷ (2·TP + FP + FN)

and 0 ÷ 0 is ``None``, never 0 or 1. Where the baseline called nowhere there is nothing to trigger, and nobody has an
F1, the baseline included: a vendor that failed or called there would be the only one ranked, and so first, with a 0.
With several runs every ordered pair (baseline run i, vendor run j) is compared and F1 is the mean of the pairs' F1s;
counts are sums over them, and precision and recall are taken from the sums.

A pair whose baseline failed, was cut or is missing says nothing and is dropped. A vendor that failed is

- ``missed``: a miss, i.e. FN, whatever the baseline decided. Putting it under TN where the baseline did not call would
  reward failing. Replacing *any* answer by a failure never raises F1.
- ``exclude``: left out. Replacing an answer that *agrees* with the baseline never raises F1, but replacing one that
  disagrees does: a vendor that fails on what it would get wrong looks better. Hence not the default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import structs

from vendor_verifier.records.manifest import Undecided
from vendor_verifier.records.score import Decision, TriggerCounts

Cell = Literal["tp", "fp", "fn", "tn", "failed_as_missed", "dropped_baseline", "dropped_vendor", "not_sent"]
Run = Mapping[str, Decision]
_CELLS: Mapping[tuple[Decision, Decision], Cell] = {
    ("called", "called"): "tp",
    ("not_called", "called"): "fp",
    ("called", "not_called"): "fn",
    ("not_called", "not_called"): "tn",
}


def f1(tp: int, fp: int, fn: int) -> float | None:
    """The harmonic mean of precision and recall; ``None`` when neither side called and none failed."""
    return _ratio(2 * tp, 2 * tp + fp + fn)


def cell(baseline: Decision | None, vendor: Decision | None, undecided: Undecided) -> Cell:
    """The cell that counts one pair of decisions; ``None`` is a sample never sent, ``failed_as_missed`` is also FN."""
    if baseline is None or baseline == "undecided":
        return "dropped_baseline"
    if vendor is None:
        return "not_sent"
    if vendor == "undecided":
        return "failed_as_missed" if undecided == "missed" else "dropped_vendor"
    return _CELLS[baseline, vendor]


def trigger_counts(
    samples: Iterable[str], baseline: Sequence[Run], vendor: Sequence[Run], undecided: Undecided = "missed"
) -> TriggerCounts:
    """Compare every run of ``vendor`` with every run of ``baseline`` over the planned ``samples``.

    A run maps sample ids to decisions; an id it lacks was never sent. Ids outside ``samples`` are not looked at.
    """
    return _counts(samples, [(expected, got) for expected in baseline for got in vendor], undecided)


def self_counts(samples: Iterable[str], baseline: Sequence[Run], undecided: Undecided = "missed") -> TriggerCounts:
    """The baseline's runs against one another, every ordered pair of different ones, which shows noise alone."""
    pairs = [(one, other) for i, one in enumerate(baseline) for j, other in enumerate(baseline) if i != j]
    return structs.replace(_counts(samples, pairs, undecided), measured_on_itself=True)


def _counts(samples: Iterable[str], pairs: Sequence[tuple[Run, Run]], undecided: Undecided) -> TriggerCounts:
    planned = tuple(samples)
    total: Counter[Cell] = Counter()
    scores = []
    for expected, got in pairs:
        counts = Counter(cell(expected.get(sample), got.get(sample), undecided) for sample in planned)
        total.update(counts)
        found = f1(counts["tp"], counts["fp"], counts["fn"] + counts["failed_as_missed"])
        scores.append(found if has_calls(expected, planned) else None)
    known = [score for score in scores if score is not None]
    missed = total["fn"] + total["failed_as_missed"]
    return TriggerCounts(
        tp=total["tp"],
        fp=total["fp"],
        fn=missed,
        tn=total["tn"],
        dropped_baseline=total["dropped_baseline"],
        dropped_vendor=total["dropped_vendor"],
        not_sent=total["not_sent"],
        precision=_ratio(total["tp"], total["tp"] + total["fp"]),
        recall=_ratio(total["tp"], total["tp"] + missed),
        f1=sum(known) / len(known) if known else None,
        pairs_of_runs=len(scores),
        failed_as_missed=total["failed_as_missed"],
    )


def has_calls(baseline: Run, samples: Iterable[str]) -> bool:
    """Whether the baseline called a tool on any of the samples."""
    return any(baseline.get(sample) == "called" for sample in samples)


def baseline_counts(samples: Iterable[str], baseline: Sequence[Run]) -> TriggerCounts:
    """The baseline's own counts: F1 is 1.0 by definition, not a measurement, and ``None`` if it called nowhere."""
    planned = tuple(samples)
    counts = Counter(cell(run.get(sample), run.get(sample), "missed") for run in baseline for sample in planned)
    rate = 1.0 if counts["tp"] else None
    return TriggerCounts(
        tp=counts["tp"],
        tn=counts["tn"],
        dropped_baseline=counts["dropped_baseline"],
        precision=rate,
        recall=rate,
        f1=rate,
        pairs_of_runs=len(baseline),
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def paired(samples: Iterable[str], baseline: Sequence[Run], vendor: Sequence[Run], undecided: Undecided) -> int:
    """The number of the vendor's planned answers that were compared with at least one baseline run."""
    left_out = ("dropped_baseline", "dropped_vendor", "not_sent")
    return sum(
        any(cell(expected.get(sample), got.get(sample), undecided) not in left_out for expected in baseline)
        for sample in samples
        for got in vendor
    )
