"""Tool calls: decisions, arguments and schema validity against the baseline, and evaluation scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from vendor_verifier.findings.base import ModelRun, Reach, Test, compared, hit_more_often, shown
from vendor_verifier.records.results import FacetName
from vendor_verifier.scoring.table import has_word
from vendor_verifier.stats import compare as tests
from vendor_verifier.stats.compare import paired
from vendor_verifier.text import listed, too_few

FACET: FacetName = "tool_calls"
LINE = 0.05
LEAST_TRIPLES, LEAST_CALLS, LEAST_SCORES = 20, 10, 10
ENOUGH, ENOUGH_ARGUMENTS = 0.10, 0.50
# Arguments need evidence only where the baseline repeats this share of its own.
LEAST_REPEATED = 0.25
_TESTS = 4
_Power = Callable[[float, float], float]


def decisions(run: ModelRun, label: str) -> Iterator[Test]:
    """Whether to call a tool: odd-one-out, or the sign test where the baseline was asked once."""
    rows = run.triples[label]
    rows = rows[["sample", "called", "called_one", "called_two" if run.asked_twice else "called_one"]].dropna()
    if len(rows) < LEAST_TRIPLES:
        return
    own, one, two = (rows.iloc[:, place].to_numpy() for place in (1, 2, 3))
    differs = (one == two) & (own != one)
    missed, extra = int((differs & (own == 0)).sum()), int((differs & (own == 1)).sum())
    if run.asked_twice:
        found, odd, noise = tests.odd_one_out(own, one, two)
        against, counts = f"the baseline disagrees with itself on {int((one != two).sum())}", odd + noise > 0
    else:
        found = tests.sign_test(own, one)
        against, counts = "the baseline was asked once", missed + extra > 0
    text = f"{missed} calls missed and {extra} extra in {len(rows)} answers; {against}."
    yield compared(FACET, "decisions", text, found, line=LINE, counts=counts, samples=shown(rows[differs]))


def arguments(run: ModelRun, label: str) -> Iterator[Test]:
    """Calls with their arguments in canonical JSON: odd-one-out where all three answers call a tool."""
    rows = run.triples[label][["sample", "called", "call_digest", "call_digest_one", "call_digest_two"]].dropna()
    if run.redacted or not run.asked_twice or len(rows) < LEAST_TRIPLES:
        return
    own, one, two = (rows[name].to_numpy() for name in ("call_digest", "call_digest_one", "call_digest_two"))
    found, odd, noise = tests.odd_one_out(own, one, two)
    text = f"Other arguments than the baseline's in {odd} of the {(one == two).sum()} calls that it repeats exactly."
    samples = shown(rows[(one == two) & (own != one)])
    yield compared(FACET, "arguments", text, found, line=LINE, counts=odd + noise > 0, samples=samples)


def _judged(run: ModelRun, label: str) -> pd.DataFrame:
    """Answers with calls that were checked by the sample's own schema, which our wire did not reword, and not cut."""
    rows = run.answers[label][["sample", "reworded", "bad_call"]]
    reworded = [name for name in rows["reworded"].cat.categories if "schema:" in name or "added:" in name]
    return rows[rows["bad_call"].notna() & ~rows["reworded"].isin(reworded)]


def invalid(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers with a call that breaks its tool's schema."""
    own, text = _judged(run, label), "answers with calls break the tool's schema"
    bad = [rows["bad_call"] > 0 for rows in (own, _judged(run, run.baseline or ""))]
    return hit_more_often(FACET, "invalid_calls", text, own, bad, LINE, LEAST_CALLS)


def in_text(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers whose text holds the markup of a tool call."""
    text = "answers have a tool call in their text"
    leaked = [has_word(rows["anomalies"], "markup_in_text") for rows in run.both(label)]
    return hit_more_often(FACET, "calls_in_text", text, run.answered[label], leaked, LINE, LEAST_CALLS)


def reach(run: ModelRun, label: str) -> Reach:
    """The smallest differences that the run finds, from what the baseline answered and the plan."""
    base = run.answers.get(run.baseline or "")
    if base is not None and base[["called", "bad_call"]].isna().all(axis=None):
        return Reach(False, "no sample offers tools", meant=False)
    pairs = run.pairs.dropna(subset=["called_one", *(["called_two"] if run.asked_twice else [])])
    why = run.thin(label) or run.asked_otherwise(label) or run.fault(FACET)
    if why is None and len(pairs) and not run.asked_twice:
        why = f"arguments cannot be compared: {run.asked_once}"
    elif why is None and len(pairs) and run.redacted:
        why = "the texts are redacted, so arguments cannot be compared"
    if why is not None:
        return Reach(False, why)
    calls = run.answers[run.baseline or ""]["bad_call"].dropna()
    n, powers = _questions(run, pairs) or _questions(run, calls), _powers(run, pairs, calls)
    if not powers:
        return Reach(False, "no answers can be compared")
    seen = [tests.smallest(partial(power, 1.0)) for power, _, _ in powers]
    if all(share <= enough for share, (_, enough, _) in zip(seen, powers, strict=True)):
        parts = [f"{100 * share:.0f} {unit}" for share, (_, _, unit) in zip(seen, powers, strict=True)]
        none = "" if len(calls) else "; no calls were seen"
        return Reach(True, f"Differences of {listed(parts)} would have been seen{none}.", n)

    def is_enough(size: int) -> bool:
        return all(power(size / max(1, n), enough) >= tests.POWER for power, enough, _ in powers)

    text = f"{too_few(n, 'sample')} to see a difference of {100 * ENOUGH:.0f} points"
    return Reach(False, text, n, needed=tests.needed_size(n, is_enough))


def _questions(run: ModelRun, rows: pd.DataFrame | pd.Series[float]) -> int:
    """Of rows of ``answers`` or ``pairs``: repetitions of a question are no new questions."""
    return int((rows.index // (run.records["repetition"].max() + 1)).nunique())


def _tests(run: ModelRun) -> int:
    """How many tests a vendor has: those of calls where tools are offered, and one for each evaluation's score."""
    base = run.baseline or ""
    return _TESTS * bool(run.answers[base][["called", "bad_call"]].notna().any(axis=None)) + len(run.scores[base])


def _powers(run: ModelRun, pairs: pd.DataFrame, calls: pd.Series[float]) -> list[tuple[_Power, float, str]]:
    """Of decisions, schema validity and arguments: the power at a multiple of the samples and a difference, the
    difference that must be found, and its unit."""
    alpha, n, own_calls = run.alpha(_tests(run)), _questions(run, pairs), _questions(run, calls)
    noise = round((float((pairs["called_one"] != pairs["called_two"]).sum()) + 0.5) / (len(pairs) + 1), 3)
    broken = round(float(calls.mean()), 3)
    both = pairs.dropna(subset=["call_digest_one", "call_digest_two"])
    same = round(float((both["call_digest_one"] == both["call_digest_two"]).mean()), 2)
    # Of answers drawn with chances p the odd one of three comes with Σ p² (1 − p) ≤ same · (1 − same).
    odd = min((1 - same) / 2, same * (1 - same))

    def of_decisions(times: float, difference: float) -> float:
        return tests.odd_power(round(times * n), noise / 2 + difference * (1 - noise), noise, alpha)

    def of_schema(times: float, difference: float) -> float:
        return tests.share_power(round(times * own_calls), round(times * len(calls)), broken, difference, alpha)

    def of_arguments(times: float, difference: float) -> float:
        rest = (1 - difference) * odd
        return tests.odd_power(round(times * _questions(run, both)), difference * same + rest, 2 * rest, alpha)

    found: list[tuple[_Power, float, str]] = []
    if n:
        found.append((of_decisions, ENOUGH, "points in decisions"))
    if len(calls):
        found.append((of_schema, ENOUGH, "points in schema validity"))
    if same >= LEAST_REPEATED:
        found.append((of_arguments, ENOUGH_ARGUMENTS, "% changed arguments"))
    return found


def scores(run: ModelRun, label: str) -> Iterator[Test]:
    """In every evaluation: the score is below the baseline's, paired over samples (Miller 2024)."""
    for suite, reference in run.scores[run.baseline or ""].items():
        both = {"own": run.scores[label].get(suite, reference[:0]), "base": reference}
        pairs = pd.DataFrame(both).dropna().reset_index()
        if len(pairs) < LEAST_SCORES:
            continue
        own, base = pairs["own"], pairs["base"]
        found = paired(np.asarray(own, float), np.asarray(base, float))
        lost = pairs[own < base]
        text = (
            f"{suite}: scores {own.mean():.3g}, the baseline {base.mean():.3g} "
            f"({-100 * found.value:.3g} points lower; lower in {len(lost)} of {len(pairs)} samples)."
        )
        yield Test(
            FACET, "score", text, p_value=found.p_value, beyond=found.high < -LINE, counts=bool((own != base).any()),
            value=found.value, low=found.low, high=found.high, n=found.n, samples=shown(lost, (base - own)[lost.index]),
        )  # fmt: skip


def score_reaches(run: ModelRun, label: str) -> list[Reach]:
    """The smallest loss of score that each evaluation finds, by the sign test.

    How often a vendor like the baseline scores otherwise by chance is taken as half of what independent answers with
    the baseline's mean would: p (1 − p).
    """
    scores, why = run.scores.get(run.baseline or "", {}), run.hindrance(label)
    if why is not None:
        return [Reach(False, why, n=len(base)) for base in scores.values()]
    own = run.scores[label]
    common = {suite: base[base.index.isin(own.get(suite, base[:0]).index)] for suite, base in scores.items()}
    return [_score_reach(suite, base, run.alpha(_tests(run))) for suite, base in common.items()]


def _score_reach(suite: str, base: pd.Series[float], alpha: float) -> Reach:
    n, mean = len(base), float(base.sum()) / max(1, len(base))
    # Nobody scores below 0, so a greater loss than the mean is none.
    noise, most = round(mean * (1 - mean), 2), min(ENOUGH, mean)

    def power(size: int, loss: float) -> float:
        return tests.sign_power(size, noise, loss, alpha)

    points = tests.smallest(partial(power, n))
    loss = "no loss" if math.isinf(points) else f"a loss of {100 * points:.0f} points"
    enough = points <= most
    needed = None if enough else tests.needed_size(n, lambda size: power(size, most) >= tests.POWER)
    text = f"{suite}: {loss} would have been seen in {n} samples that both have scores of"
    if n and mean < ENOUGH:
        text += f"; the baseline scores {100 * mean:.2g} points"
    return Reach(enough, f"{text}.", n, needed=needed)


TESTS = (decisions, arguments, invalid, in_text)
