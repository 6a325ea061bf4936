"""What every finding is made from: one model's part of a run, and a test before its correction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.results import FacetName, Status
from vendor_verifier.scoring.money import Money
from vendor_verifier.scoring.texts import AnswerText

BAD_CALLS = frozenset({"invalid_json", "unknown_tool", "schema_mismatch"})
LEAST_COMPARABLE = 0.8
_COMPARED = [
    "suite", "sample", "repetition", "ok", "called", "bad_call", "call_digest", "digest", "reworded", "input_tokens",
    "output_tokens", "characters", "score",
]  # fmt: skip


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

    @cached_property
    def asked_twice(self) -> bool:
        """Whether the baseline was asked its samples more than once."""
        return self.baseline is not None and bool((self.rows[self.baseline]["repetition"] > 0).any())

    @cached_property
    def answers(self) -> Mapping[str, pd.DataFrame]:
        """The records of each vendor under a number for their question and repetition, equal for all vendors.

        ``called`` is the decision as 1 or 0, missing where undecided; ``bad_call`` whether any of the calls is invalid.
        """
        suites, samples = self.records["suite"].cat.categories, self.records["sample"].cat.categories
        turns = int(self.records["repetition"].max()) + 2 if len(self.records) else 2
        bad = [name for name in self.records["classes"].cat.categories if not BAD_CALLS.isdisjoint(name.split(","))]
        found = {}
        for label, rows in self.rows.items():
            key = rows["suite"].cat.codes.to_numpy(np.int64) * len(samples) + rows["sample"].cat.codes.to_numpy()
            decided = rows["decision"].map({"called": 1.0, "not_called": 0.0}).astype(float).where(rows["ok"])
            bad_call = rows["classes"].isin(bad).where(rows["classes"].notna())
            found[label] = rows.assign(called=decided, bad_call=bad_call).set_axis(key * turns + rows["repetition"])
        assert len(suites) * len(samples) * turns < 2**62
        return found

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The baseline's answers, two and two: its repetitions 2k and 2k + 1, as columns ``x_one`` and ``x_two``.

        Indexed as repetition k of ``answers``. ``x_two`` is missing where it was asked once.
        """
        if self.baseline is None:
            return pd.DataFrame()
        rows = self.answers[self.baseline][_COMPARED]
        turn = rows["repetition"].to_numpy()
        keyed = rows.set_axis(rows.index - turn + turn // 2).drop(columns="repetition")
        return keyed[turn % 2 == 0].add_suffix("_one").join(keyed[turn % 2 == 1].add_suffix("_two"), how="left")

    def triples(self, label: str) -> pd.DataFrame:
        """A vendor's successful answers, in the order of sending, beside two of the baseline's to the same question.

        Only where all were asked in the same words and succeeded; the second may be missing throughout.
        """
        own = self.answers[label]
        both = own[own["ok"]].join(self.pairs, how="inner")
        same = both["ok_one"] & (both["reworded"].cat.codes == both["reworded_one"].cat.codes)
        if self.asked_twice:
            same &= both["ok_two"].eq(True)
        return both[same]


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
    been seen") or, where it is not enough, why, and what would do: ``needed`` samples. A facet that the run did not
    mean to measure (``meant`` False) does not count.
    """

    vendor: str
    facet: FacetName
    enough: bool
    text: str
    value: float | None = None
    n: int = 0
    meant: bool = True
    needed: int | None = None


OURS: Mapping[str, str] = {
    "account": "your key or credit was refused: mend it in .env, then run again with --incremental",
    "network": "the network failed: run again with --incremental",
    "rate_limit": "the rate limit was reached: lower --request-concurrency or set rpm, then run again with --incremental",
    "us": "this program could not send or read them: see the failures",
    "unasked": "they were not sent: run again with --incremental",
    "data": "their tools or parameters are unusable: mend the samples",
    "missing": "the run has no record of them: run again with --incremental",
}


def hindrance(run: ModelRun, label: str) -> str | None:
    """Why nothing can be compared with the baseline at a vendor, for a cause other than its own failures."""
    if run.baseline is None:
        return "no baseline"
    for name, whose in ((label, ""), (run.baseline, "of the baseline ")):
        lost, planned = _lost(run, name), run.planned.get(name, 0)
        if not planned:
            return "nothing was planned"
        if lost.sum() > (1 - LEAST_COMPARABLE) * planned:
            cause = str(lost.idxmax())
            return f"{int(lost.sum())} of {planned} answers {whose}are missing; {OURS[cause]}"
    base = run.rows[run.baseline]
    if base["ok"].mean() < LEAST_COMPARABLE:
        return f"the baseline answered {int(base['ok'].sum())} of {len(base)} requests"
    return None


def _lost(run: ModelRun, label: str) -> pd.Series[int]:
    """The planned answers that are missing for another reason than the vendor's own failures, by who answers for it."""
    rows = run.rows[label]
    lost = rows.loc[~rows["ok"] & (rows["charge"] != "vendor"), "charge"].astype(str).value_counts()
    if unreached(rows):
        lost = lost.drop("unasked", errors="ignore")
    missing = pd.Series({"missing": max(0, run.planned.get(label, 0) - len(rows))})
    return pd.concat([lost, missing])


def unreached(rows: pd.DataFrame) -> bool:
    """Whether the run stopped asking a vendor because every request failed by its own fault."""
    charges = set(rows["charge"].dropna().astype(str).unique())
    return not rows["ok"].any() and charges == {"vendor", "unasked"}


def main_failure(rows: pd.DataFrame) -> tuple[str, str]:
    """The most frequent failures in words, and what to do about the first of them."""
    kinds = rows["failure"].dropna().astype(str).value_counts()
    shown = ", ".join(f"{kind} {count}" for kind, count in kinds.head(3).items())
    return shown, KINDS[str(kinds.index[0])].remedy if len(kinds) else ""


def percent(share: float, digits: int = 2) -> str:
    """A share as per cent: ``12 %``, ``0.5 %``."""
    return f"{100 * share:.{digits}g} %" if abs(share) < 0.995 else f"{100 * share:.0f} %"


def shown(rows: pd.DataFrame, most: int = 10) -> tuple[str, ...]:
    """The ids of the first samples of these rows."""
    return tuple(rows["sample"].astype(str).drop_duplicates().head(most))
