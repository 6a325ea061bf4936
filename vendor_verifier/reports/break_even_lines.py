"""Which break-evens a report tells and in which of three cases each is; it computes none and writes no language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from vendor_verifier.values.judgement import BreakEven
from vendor_verifier.values.verdict import ModelVerdict

MAX_TOLD = 12
# The advantage holds for valid calls too; it is gone; or which of both is not known at this number of samples.
Case = Literal["holds", "eaten", "open"]


def told_break_evens(verdict: ModelVerdict, baseline: str | None) -> Iterator[tuple[BreakEven, Case]]:
    """Those with the baseline first, ``MAX_TOLD`` at most; all of them stand in scores.json."""
    ordered = sorted(verdict.break_evens, key=lambda each: baseline not in (each.cheap, each.dear))
    for each in ordered[:MAX_TOLD]:
        yield each, case_of(each)


def case_of(found: BreakEven) -> Case:
    """By the interval of what is left of the advantage per valid call."""
    real = found.per_valid_call
    if real.low is not None and real.low > 0:
        return "holds"
    return "eaten" if real.high is not None and real.high < 0 else "open"
