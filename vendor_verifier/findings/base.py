"""What every finding is made from: one model's part of a run, a test before its correction, and a sound baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.plan import Price, same_model
from vendor_verifier.records.results import FacetName, Status
from vendor_verifier.scoring.answer import AnswerText
from vendor_verifier.scoring.money import Money
from vendor_verifier.scoring.table import INVALID_CALLS, has_word
from vendor_verifier.stats.answers import similarity
from vendor_verifier.stats.compare import Comparison, more_often

LEVEL, CERTAIN = 0.01, 0.001
LEAST_COMPARABLE, MOST_FAILURES, LEAST_PAIRS = 0.8, 0.1, 40
_COMPARED = [
    "suite", "sample", "repetition", "ok", "reworded", "called", "call_digest", "input_tokens", "output_tokens",
    "cached_tokens", "reasoning_tokens", "characters", "turns",
]  # fmt: skip
# What to do where answers are missing for another reason than the vendor's own failures.
_REMEDIES: Mapping[str, str] = {
    "account": "your key was rejected: fix {key} in .env, then run again with --incremental",
    "no_credit": "your account has no credit: top it up, then run again with --incremental",
    "network": "the network failed: run again with --incremental",
    "rate_limit": "rate limit or quota (429): wait, or lower --request-concurrency, then run again with --incremental",
    "us": "this program could not send them: see the failures",
    "unasked": "they were not sent: run again with --incremental",
    "data": "the samples' tools or parameters are unusable: fix the samples",
    "missing": "the run has no record of them: run again with --incremental",
    "imported": "complete the result files, then import them again",
}


class Fault(NamedTuple):
    """Why facets cannot be judged by the baseline, without a full stop. ``is_sure``: it is not one model (p ≤ 0.1 %),
    so that even a difference from it says nothing."""

    facets: tuple[FacetName, ...]
    reason: str
    is_sure: bool = False


@dataclass(frozen=True)
class ModelRun:
    """One model's part of a run.

    ``labels`` are all its vendors in the order of the config; ``records`` and ``attempts`` are the rows of the frames
    (:mod:`vendor_verifier.scoring.table`) of evaluations that rank, ``diagnostics`` those of feature checks and probes.
    ``planned`` is the number of records planned for each vendor, ``model_ids`` the names that were asked for, ``keys``
    the variables of the keys. ``texts`` are label → (suite, sample) → repetition → answer. ``run`` is how commands
    name the run.
    """

    model: str
    baseline: str | None
    labels: tuple[str, ...]
    records: pd.DataFrame
    attempts: pd.DataFrame
    diagnostics: pd.DataFrame
    planned: Mapping[str, int]
    model_ids: Mapping[str, str]
    keys: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, Mapping[tuple[str, str], Mapping[int, AnswerText]]] = field(default_factory=dict)
    money: Mapping[str, Money] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    probe_texts: Mapping[str, str] = field(default_factory=dict)
    redacted: bool = False
    is_imported: bool = False
    run: str = "RUN"
    seed: int = 0

    @property
    def vendors(self) -> tuple[str, ...]:
        """All but the baseline."""
        return tuple(label for label in self.labels if label != self.baseline)

    def alpha(self, tests: int) -> float:
        """The level of the first step of Holm's correction, with this number of tests for each vendor that answers."""
        answering = sum(len(self.answered[label]) > 0 for label in self.vendors)
        return LEVEL / (tests * max(1, answering))

    @cached_property
    def rows(self) -> Mapping[str, pd.DataFrame]:
        """The records of each vendor, in the order in which they were sent; an empty frame for one without any."""
        records = self.records.sort_values("sent_s", kind="stable")
        return {label: records[records["label"] == label] for label in self.labels}

    @cached_property
    def reference(self) -> pd.DataFrame:
        """The baseline's records in the order of sending; none without a baseline."""
        return self.records.iloc[:0] if self.baseline is None else self.rows[self.baseline]

    @cached_property
    def asked(self) -> Mapping[str, pd.DataFrame]:
        """The rows that say something about a vendor: answers, and failures that it answers for.

        Columns say which ``failed``, were ``cut_off`` in any attempt, or ``retried``: answered on a later try only.
        Attempts that our own rate made the vendor refuse (429) count for none of them.
        """
        key = ["label", "suite", "sample", "repetition"]
        tries = self.attempts[[*key, "failure", "succeeded"]].astype(object)
        is_cut = tries["failure"] == "truncated"
        is_blamed = tries["succeeded"].astype(bool) & ~is_cut & (tries["failure"] != "rate_limited")
        cut, blamed = (pd.MultiIndex.from_frame(tries[key][each]) for each in (is_cut, is_blamed))
        found = {}
        for label, rows in self.rows.items():
            rows = rows[rows["ok"] | (rows["charge"] == "vendor")]
            keys, broke = pd.MultiIndex.from_frame(rows[key].astype(object)), rows["failure"] == "truncated"
            failed, cut_off = ~rows["ok"] & ~broke, broke | keys.isin(cut)
            found[label] = rows.assign(failed=failed, cut_off=cut_off, retried=keys.isin(blamed))
        return found

    @cached_property
    def answered(self) -> Mapping[str, pd.DataFrame]:
        """The rows of each vendor's answers."""
        return {label: rows[rows["ok"]] for label, rows in self.rows.items()}

    def both(self, label: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The rows of a vendor's answers and of the baseline's; of these none without a baseline."""
        return self.answered[label], self.answered.get(self.baseline or "", self.reference)

    @cached_property
    def asked_twice(self) -> bool:
        """Whether the baseline was asked its samples more than once."""
        return bool((self.reference["repetition"] > 0).any())

    @property
    def asked_once(self) -> str:
        """That the baseline was asked once only, and what to do."""
        advice = f"add a second result file of it: --baseline {self.baseline}=FILE"
        return f"the baseline is asked once; {advice if self.is_imported else 'a run with --repeat 2 asks it twice'}"

    @cached_property
    def answers(self) -> Mapping[str, pd.DataFrame]:
        """The columns of each vendor's records that are compared sample by sample, in the order of sending.

        The index is a number for question and repetition, equal for all vendors. ``called`` is the decision as 1 or 0,
        missing of a failure and where undecided; ``bad_call`` whether a call is invalid, missing without calls.
        """
        samples = len(self.records["sample"].cat.categories)
        turns = int(self.records["repetition"].max()) + 1 if len(self.records) else 1
        found = {}
        for label, rows in self.rows.items():
            question = rows["suite"].cat.codes.to_numpy(np.int64) * samples + rows["sample"].cat.codes.to_numpy()
            called = rows["decision"].map({"called": 1.0, "not_called": 0.0}).astype(float).where(rows["ok"])
            bad_call = has_word(rows["classes"], *INVALID_CALLS).astype(float)
            bad_call = bad_call.where(rows["ok"] & rows["classes"].notna())
            rows = rows.assign(called=called, bad_call=bad_call)[[*_COMPARED, "bad_call"]]
            found[label] = rows.set_axis(question * turns + rows["repetition"])
        return found

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The baseline's answers, two and two: its repetitions 2k and 2k + 1, as columns ``x_one`` and ``x_two``.

        Indexed as repetition k of ``answers``. ``x_two`` is missing where it was asked once. No vendor has an answer to
        compare with further repetitions, which are left out.
        """
        rows = self.answers[self.baseline][_COMPARED] if self.baseline else next(iter(self.answers.values())).iloc[:0]
        rows = rows[rows["repetition"] // 2 <= self.records["repetition"][self.records["label"] != self.baseline].max()]
        turn = rows["repetition"].to_numpy()
        keyed = rows.set_axis(rows.index - turn + turn // 2).drop(columns="repetition")
        first = keyed[turn % 2 == 0].add_suffix("_one")
        joined: pd.DataFrame = first.join(keyed[turn % 2 == 1].add_suffix("_two"), how="left")
        return joined

    @cached_property
    def triples(self) -> Mapping[str, pd.DataFrame]:
        """Each vendor's successful answers, in the order of sending, next to two of the baseline's to the question.

        Only where all were asked in the same words and succeeded; the second may be missing throughout.
        """
        found = {}
        for label in self.vendors:
            both = self.answers[label].join(self.pairs, how="inner")
            same = both["ok"] & both["ok_one"] & (both["reworded"].cat.codes == both["reworded_one"].cat.codes)
            found[label] = both[same & both["ok_two"].eq(True)] if self.asked_twice else both[same]
        return found

    @cached_property
    def scores(self) -> Mapping[str, Mapping[str, pd.Series[float]]]:
        """Each vendor's mean score of every sample by evaluation, where our side or the data did not lose it."""
        found = {}
        for label, rows in self.asked.items():
            suites = rows[["suite", "sample", "score"]].dropna().groupby("suite", sort=False, observed=True)
            found[label] = {str(suite): part.groupby("sample", observed=True)["score"].mean() for suite, part in suites}
        return found

    @cached_property
    def agreements(self) -> Mapping[tuple[str, str], float]:
        """How far the baseline's first two answers to each question agree as texts, 0 to 1, in the order of sending.

        Empty of redacted texts.
        """
        texts = {} if self.redacted else self.texts.get(self.baseline or "", {})
        second = self.reference[["suite", "sample"]][self.reference["repetition"] == 1].astype(object)
        found = {}
        for question in zip(second["suite"], second["sample"], strict=True):
            both = texts.get(question, {})
            if 0 in both and 1 in both:
                found[question] = similarity(both[0].shown, both[1].shown)
        return found

    def hindrance(self, label: str) -> str | None:
        """Why nothing can be compared with the baseline, for a cause other than the vendor's own failures."""
        if self.baseline is None:
            return "no baseline to compare with: set --baseline"
        for name, whose in ((label, ""), (self.baseline, "baseline's ")):
            planned, rows = self.planned.get(name, 0), self.rows[name]
            lost = Counter(rows["charge"].dropna().astype(object))
            lost["missing"] = max(0, planned - len(rows))
            if self.gave_up(name):
                del lost["unasked"]
            del lost["vendor"]
            for cause in ("account", "rate_limit"):
                # What came after a refused key, or a used-up quota, was not sent because of it.
                lost[cause] += lost.pop("unasked", 0) if lost[cause] else 0
            if lost.total() > (1 - LEAST_COMPARABLE) * planned:
                cause = max(lost, key=lambda each: lost[each])
                if set(rows["failure"][rows["charge"] == "account"]) == {"no_credit"} and cause == "account":
                    cause = "no_credit"
                advice = _REMEDIES["imported" if self.is_imported else cause].format(key=self.keys.get(name, "it"))
                return f"{lost.total()} of {planned} {whose}answers are missing; {advice}"
        answered = int(self.reference["ok"].sum())
        if answered < LEAST_COMPARABLE * len(self.reference):
            return f"the baseline answered {answered} of {len(self.reference)} requests"
        return None

    def gave_up(self, label: str) -> bool:
        """Whether the run stopped asking a vendor because every request failed by its own fault."""
        rows = self.rows[label]
        return not rows["ok"].any() and set(rows["charge"].dropna().astype(object)) == {"vendor", "unasked"}

    def thin(self, label: str) -> str | None:
        """Why a vendor's answers cannot be compared with the baseline's: a hindrance, or its own failures."""
        why, answered, planned = self.hindrance(label), len(self.answered[label]), self.planned.get(label, 0)
        if why is None and answered < LEAST_COMPARABLE * planned:
            why = f"it answered {answered} of {planned} requests{main_failure(self.rows[label])[0]}"
        return why

    def asked_otherwise(self, label: str) -> str | None:
        """Why too few of a vendor's answers can be compared: our wire put the questions in other words."""
        own, base = (rows[rows["ok"]]["reworded"] for rows in (self.answers[label], self.answers[self.baseline or ""]))
        both = own.to_frame("own").join(base.rename("base"), how="inner").astype(object).fillna("")
        other = both[both["own"] != both["base"]]
        if len(other) <= (1 - LEAST_COMPARABLE) * len(both):
            return None
        share, words = f"{len(other)} of {len(both)} questions", (other["own"] + other["base"]).mode()[0]
        return f"{share} were asked in other words than the baseline's ({words}): use one protocol for both"

    @cached_property
    def faults(self) -> Sequence[Fault]:
        """What makes the baseline unsound."""
        found = []
        names = [str(name) for name in self.reference["served_model"].dropna().unique()]
        others = [name for name in names[1:] if not same_model(names[0], name)]
        if others:
            reason = f"the baseline served {names[0]} and {others[0]}"
            found.append(Fault(("model", "tool_calls"), reason, is_sure=True))
        # Two answers to one question agree less, or more, in the second half of the run.
        agreements = np.array(list(self.agreements.values()))
        if agreements.size >= LEAST_PAIRS and np.ptp(agreements):
            halves = np.array_split(agreements, 2)
            p_value = float(scipy.stats.mannwhitneyu(*halves).pvalue)
            if p_value <= LEVEL:
                first, second = (percent(float(half.mean())) for half in halves)
                reason = "the baseline changed during the run: it agrees with itself by "
                reason += f"{first} in the first half, {second} in the second"
                found.append(Fault(("model", "tool_calls"), reason, is_sure=p_value <= CERTAIN))
        failed = int((self.reference["charge"] == "vendor").sum())
        if failed > MOST_FAILURES * len(self.reference):
            found.append(Fault(("reliability",), f"the baseline failed {failed} of {len(self.reference)} requests"))
        return found

    def fault(self, facet: FacetName) -> str | None:
        """The first reason why a facet cannot be judged by the baseline; None where it can."""
        return next((fault.reason for fault in self.faults if facet in fault.facets), None)


@dataclass(frozen=True)
class Test:
    """A comparison of a vendor with the baseline, or a fact about it, before its p-value is corrected.

    ``p_value`` None makes it a fact: nothing is corrected, and its ``status`` applies as it is. A test is ``check`` at
    1 % and ``differs`` at 0.1 % where ``beyond``: its interval lies wholly beyond the line of rule 3 (speed: never).
    ``counts`` is False where neither side has an event, so that it takes no share of the correction.
    """

    facet: FacetName
    name: str
    text: str
    _: KW_ONLY
    p_value: float | None = None
    beyond: bool = False
    counts: bool = True
    status: Status = "differs"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    samples: tuple[str, ...] = ()


def compared(
    facet: FacetName,
    name: str,
    text: str,
    found: Comparison,
    *,
    line: float = np.inf,
    counts: bool = True,
    samples: tuple[str, ...] = (),
) -> Test:
    """A test by a comparison, which may be ``differs`` where its interval lies above ``line``."""
    return Test(
        facet, name, text, p_value=found.p_value, beyond=found.low > line, counts=counts, value=found.value,
        low=found.low, high=found.high, n=found.n, samples=samples,
    )  # fmt: skip


def hit_more_often(
    facet: FacetName, name: str, text: str, rows: pd.DataFrame, hit: Sequence[Any], line: float = np.inf, least: int = 1
) -> Iterator[Test]:
    """A test whether something happens more often at the vendor than at the baseline (Fisher).

    ``hit`` is by row of the vendor's ``rows``, and of the baseline's; nothing is tested below ``least`` of either.
    """
    n, base_n = map(len, hit)
    hits, base_hits = (int(side.sum()) for side in hit)
    if min(n, base_n) >= least:
        text = f"{hits} of {n} {text} (baseline {base_hits} of {base_n})."
        found, counts = more_often(hits, n, base_hits, base_n), hits + base_hits > 0
        yield compared(facet, name, text, found, line=line, counts=counts, samples=shown(rows[hit[0]]))


@dataclass(frozen=True)
class Reach:
    """The evidence that a facet of a vendor had: the smallest difference that would have been found in 8 of 10 runs.

    ``enough`` decides between *matches* and *not tested*; ``text`` says the reach ("differences of 10 points would have
    been seen") or, where it is not enough, why, and what would do: ``needed`` samples. A facet that the run did not
    mean to measure (``meant`` False) does not count.
    """

    enough: bool
    text: str
    n: int = 0
    meant: bool = True
    needed: int | None = None


def main_failure(rows: pd.DataFrame) -> tuple[str, str]:
    """The most frequent kinds of failure with their numbers, in brackets, and what to do about the first, if any."""
    failures = rows["failure"].dropna().astype(object)
    kinds = Counter(failures[failures != "skipped"]).most_common(3)
    if not kinds:
        return "", ""
    return f" ({', '.join(f'{kind} {count}' for kind, count in kinds)})", KINDS[kinds[0][0]].remedy


def percent(share: float) -> str:
    """A share in two digits as per cent: ``12 %``, ``0.5 %``, ``100 %``."""
    return f"{100 * share:.0f} %" if abs(share) >= 0.095 else f"{100 * share:.2g} %"


def shown(rows: pd.DataFrame, by: pd.Series[float] | None = None) -> tuple[str, ...]:
    """The first ten samples of these rows, each once; ``by`` gives those with the greatest values."""
    rows = rows if by is None else rows.loc[by.sort_values(ascending=False, kind="stable").index]
    return tuple(dict.fromkeys(rows["sample"].head(100).astype(object)))[:10]
