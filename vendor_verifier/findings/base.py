"""What every finding is made from: one model's part of a run, and a test before its correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from vendor_verifier.records.results import FacetName, Status
from vendor_verifier.scoring.money import Money
from vendor_verifier.scoring.texts import AnswerText


@dataclass(frozen=True)
class ModelRun:
    """One model's part of a run.

    ``labels`` are all its vendors in the order of the config; ``records`` and ``attempts`` are the rows of the frames
    (:mod:`vendor_verifier.scoring.table`) of evaluations that rank, ``apart`` those of feature checks and probes.
    ``planned`` is the number of records planned for each vendor, ``model_ids`` the names that were asked for.
    ``texts`` are label → (suite, sample) → repetition → answer. ``run`` is how commands name the run.
    """

    model: str
    baseline: str | None
    labels: tuple[str, ...]
    records: pd.DataFrame
    attempts: pd.DataFrame
    evaluations: pd.DataFrame
    apart: pd.DataFrame
    planned: Mapping[str, int]
    model_ids: Mapping[str, str]
    texts: Mapping[str, Mapping[tuple[str, str], Mapping[int, AnswerText]]] = field(default_factory=dict)
    money: Mapping[str, Money] = field(default_factory=dict)
    question_sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    complete: bool = True
    redacted: bool = False
    run: str = "RUN"
    seed: int = 0

    @property
    def vendors(self) -> tuple[str, ...]:
        """All but the baseline."""
        return tuple(label for label in self.labels if label != self.baseline)

    @cached_property
    def rows(self) -> Mapping[str, pd.DataFrame]:
        """The records of each vendor, in the order in which they were sent; an empty frame for one without any."""
        ordered = self.records.sort_values("sent_s", kind="stable")
        found = {str(label): part for label, part in ordered.groupby("label", observed=True)}
        return {label: found.get(label, ordered.iloc[:0]) for label in self.labels}


@dataclass(frozen=True, kw_only=True)
class Test:
    """A comparison of a vendor with the baseline, or a fact about it, before its p-value is corrected.

    ``p_value`` None makes it a fact: nothing is corrected, and its ``status`` applies as it is. A test is ``check`` at
    1 % and ``differs`` at 0.1 % where ``beyond``: its interval lies wholly beyond the line of rule 3 (speed: never).
    ``counts`` is False where neither side has an event, so that it takes no share of the correction.
    """

    vendor: str
    facet: FacetName
    name: str
    text: str
    p_value: float | None = None
    beyond: bool = False
    counts: bool = True
    status: Status = "differs"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    samples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reach:
    """The evidence that a facet of a vendor had: the smallest difference that would have been found in 8 of 10 runs.

    ``enough`` decides between *matches* and *not tested*; ``text`` says the reach ("differences of 10 points would have
    been seen") or, where it is not enough, why, and what would do.
    """

    vendor: str
    facet: FacetName
    enough: bool
    text: str
    value: float | None = None
    n: int = 0
