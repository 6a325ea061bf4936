"""Does it call tools as the baseline does, and score as it does in the evaluations that give scores?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, Protocol

import pandas as pd

from vendor_verifier.findings.base import (
    ModelRun,
    Reach,
    Test,
    compared,
    fault,
    hindrance,
    hit_more_often,
    shown,
    thin,
    with_anomaly,
)
from vendor_verifier.records.results import FacetName
from vendor_verifier.stats.compare import paired
from vendor_verifier.stats.decisions import (
    POWER,
    SIZES,
    odd_one_out,
    odd_power,
    share_power,
    sign_power,
    sign_test,
    smallest,
)

FACET: FacetName = "tool_calls"
LINE = 0.05
LEAST_TRIPLES, LEAST_CALLS, LEAST_SCORES = 20, 10, 10
ENOUGH, ENOUGH_ARGUMENTS = 0.10, 0.50
# Arguments need evidence only where the baseline repeats this share of its own.
LEAST_REPEATED = 0.25
# The share of decisions that differ by chance, assumed where the baseline was asked once.
_ASSUMED_NOISE = 0.05
_TESTS = 4


def call_tests(run: ModelRun) -> list[Test]:
    """Tests of every vendor; none without a baseline."""
    made = (_decisions, _arguments, _invalid, _in_text) if run.baseline is not None else ()
    return [test for label in run.vendors for each in made for test in each(run, label)]


def _decisions(run: ModelRun, label: str) -> Iterator[Test]:
    """Whether to call a tool: odd-one-out, or the sign test where the baseline was asked once."""
    rows = run.triples(label)
    rows = rows[["sample", "called", "called_one", "called_two" if run.asked_twice else "called_one"]].dropna()
    if len(rows) < LEAST_TRIPLES:
        return
    own, one, two = (rows.iloc[:, place].to_numpy() for place in (1, 2, 3))
    if run.asked_twice:
        found, odd, noise = odd_one_out(own, one, two)
        differs = (one == two) & (own != one)
        missed, extra = int((differs & (own == 0)).sum()), int((differs & (own == 1)).sum())
        against = f"the baseline disagrees with itself on {int((one != two).sum())}"
        counts = odd + noise > 0
    else:
        found, missed, extra = sign_test(own, one)
        differs = own != one
        against = "the baseline was asked once"
        counts = missed + extra > 0
    text = f"{missed} calls missed and {extra} extra in {len(rows)} samples; {against}."
    yield compared(
        label, FACET, "decisions", text, found, line=LINE, counts=counts, samples=shown(rows["sample"][differs])
    )


def _arguments(run: ModelRun, label: str) -> Iterator[Test]:
    """Calls with their arguments in canonical JSON: odd-one-out where all three answers call a tool."""
    rows = run.triples(label)[["sample", "called", "call_digest", "call_digest_one", "call_digest_two"]].dropna()
    if run.redacted or not run.asked_twice or len(rows) < LEAST_TRIPLES:
        return
    own, one, two = (rows[name].to_numpy() for name in ("call_digest", "call_digest_one", "call_digest_two"))
    found, odd, noise = odd_one_out(own, one, two)
    differs, repeated = (one == two) & (own != one), int((one == two).sum())
    text = f"Other arguments than the baseline's in {odd} of the {repeated} calls that it repeats exactly."
    yield compared(
        label,
        FACET,
        "arguments",
        text,
        found,
        line=LINE,
        counts=odd + noise > 0,
        samples=shown(rows["sample"][differs]),
    )


def _judged(run: ModelRun, label: str) -> pd.DataFrame:
    """Answers with calls that were checked by the schema as the sample states it, not as our wire had to reword it."""
    rows = run.answers[label][["sample", "reworded", "bad_call"]]
    reworded = [name for name in rows["reworded"].cat.categories if "schema:" in name]
    return rows[rows["bad_call"].notna() & ~rows["reworded"].isin(reworded)]


def _invalid(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers with a call that breaks its tool's schema."""
    own, base = _judged(run, label), _judged(run, run.baseline or "")
    if min(len(own), len(base)) >= LEAST_CALLS:
        bad, base_bad = own["bad_call"] > 0, base["bad_call"] > 0
        text = "answers with calls break the tool's schema"
        yield hit_more_often(label, FACET, "invalid_calls", text, own["sample"], bad, base_bad, LINE)


def _in_text(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers whose text holds the markup of a tool call."""
    own, base = run.answered[label], run.answered[run.baseline or ""]
    if min(len(own), len(base)) >= LEAST_CALLS:
        leaked, base_leaked = with_anomaly(own, "markup_in_text"), with_anomaly(base, "markup_in_text")
        text = "answers have a tool call in their text"
        yield hit_more_often(label, FACET, "calls_in_text", text, own["sample"], leaked, base_leaked, LINE)


class _PowerOf(Protocol):
    def __call__(self, difference: float, times: float) -> float: ...


class _Power(NamedTuple):
    """What one test finds: its power at a difference and a multiple of the samples, and the difference it must find."""

    of: _PowerOf
    enough: float
    unit: str


def call_reach(run: ModelRun) -> list[Reach]:
    """The smallest differences that the run finds, from what the baseline answered and the plan."""
    base = run.answers.get(run.baseline or "")
    if base is not None and base["called"].isna().all() and base["bad_call"].isna().all():
        return [Reach(label, FACET, False, "no sample offers tools", meant=False) for label in run.vendors]
    pairs = run.pairs.dropna(subset=["called_one", *(["called_two"] if run.asked_twice else [])])
    reason = fault(run, FACET)
    if reason is None and not run.asked_twice and len(pairs):
        reason = "the baseline was asked once, so arguments cannot be compared: set --baseline-repeats 2"
    if reason is None and run.redacted and len(pairs):
        reason = "the texts are redacted, so arguments cannot be compared"
    powers = _powers(run, pairs)
    found = [smallest(partial(each.of, times=1.0)) for each in powers]
    parts = [f"{100 * share:.0f} {each.unit}" for share, each in zip(found, powers, strict=True) if share is not None]
    enough = all(share is not None and share <= each.enough for share, each in zip(found, powers, strict=True))
    points = found[0] if found else None
    text = f"Differences of {', '.join(parts)} would have been seen."
    n, needed = len(pairs), None
    if not enough:
        text = f"{n} samples are too few to see a difference of {100 * ENOUGH:.0f} points"
        sizes = (size for size in SIZES if size > n and all(p.of(p.enough, size / max(1, n)) >= POWER for p in powers))
        needed = next(sizes, None)
    reaches = []
    for label in run.vendors:
        why = thin(run, label) or reason
        if why is None:
            reaches.append(Reach(label, FACET, enough, text, points, n, needed=needed))
        else:
            reaches.append(Reach(label, FACET, False, why))
    return reaches


def _powers(run: ModelRun, pairs: pd.DataFrame) -> list[_Power]:
    """Of decisions, schema validity and arguments, where the baseline has them."""
    alpha, n = run.alpha(_TESTS), len(pairs)
    found = []
    apart = (float((pairs["called_one"] != pairs["called_two"]).sum()) + 0.5) / (n + 1)
    noise = round(apart if run.asked_twice else _ASSUMED_NOISE, 3)
    calls = run.answers[run.baseline]["bad_call"].dropna() if run.baseline else pd.Series(dtype=float)
    calls_each, broken = len(calls) / (2 if run.asked_twice else 1), round(float(calls.mean()), 3)
    both = pairs.dropna(subset=["call_digest_one", "call_digest_two"])
    same = round(float((both["call_digest_one"] == both["call_digest_two"]).mean()), 2)
    # Of answers drawn with chances p the odd one of three comes with Σ p² (1 − p) ≤ same · (1 − same).
    odd = min((1 - same) / 2, same * (1 - same))

    def decisions(difference: float, times: float) -> float:
        if not run.asked_twice:
            return sign_power(round(times * n), noise, difference, alpha / 2)
        return odd_power(round(times * n), noise / 2 + difference * (1 - noise), noise, alpha)

    def schema(difference: float, times: float) -> float:
        return share_power(round(times * calls_each), broken, difference, alpha)

    def arguments(difference: float, times: float) -> float:
        rest = (1 - difference) * odd
        return odd_power(round(times * len(both)), difference * same + rest, 2 * rest, alpha)

    if n:
        found.append(_Power(decisions, ENOUGH, "points in decisions"))
    if len(calls):
        found.append(_Power(schema, ENOUGH, "points in schema validity"))
    if same >= LEAST_REPEATED:
        found.append(_Power(arguments, ENOUGH_ARGUMENTS, "% changed arguments"))
    return found


def evaluation_tests(run: ModelRun) -> list[Test]:
    """Of every vendor in every evaluation: its score is below the baseline's, paired over samples (Miller 2024)."""
    found = []
    for label, suite in _asked(run):
        pairs = _pairs(run, label, suite)
        if len(pairs) < LEAST_SCORES:
            continue
        result = paired(pairs["own"].to_numpy(float), pairs["base"].to_numpy(float))
        lost = pairs[pairs["own"] < pairs["base"]].assign(by=lambda rows: rows["own"] - rows["base"])
        text = (
            f"{suite}: scores {pairs['own'].mean():.3g}, the baseline {pairs['base'].mean():.3g} "
            f"({-100 * result.value:.2g} points lower; lower in {len(lost)} of {len(pairs)} samples)."
        )
        found.append(
            Test(
                vendor=label, facet=FACET, name="score", text=text, p_value=result.p_value, beyond=result.high < -LINE,
                counts=bool((pairs["own"] != pairs["base"]).any()), value=result.value, low=result.low,
                high=result.high, n=result.n, samples=shown(lost.sort_values("by", kind="stable")["sample"]),
            )
        )  # fmt: skip
    return found


def evaluation_reach(run: ModelRun) -> list[Reach]:
    """The smallest loss of score that each evaluation finds, by the sign test.

    How often a vendor like the baseline scores otherwise by chance is taken as half of what independent answers with
    the baseline's mean would: p (1 − p).
    """
    asked = _asked(run)
    found = []
    for label, suite in asked:
        base = _scores(run, run.baseline, suite)
        why, n = hindrance(run, label), len(base)
        if why is not None:
            found.append(Reach(label, FACET, False, why, n=n))
            continue
        share, alpha = float(base.mean()), 0.01 / len(asked)
        noise = round(share * (1 - share), 2)
        points = _seen_loss(n, noise, alpha)
        enough = points is not None and points <= ENOUGH
        sizes = (size for size in SIZES if size > n and (_seen_loss(size, noise, alpha) or 1.0) <= ENOUGH)
        needed = None if enough else next(sizes, None)
        seen = "no loss" if points is None else f"a loss of {100 * points:.0f} points"
        text = f"{suite}: {seen} would have been seen in {n} samples."
        found.append(Reach(label, FACET, enough, text, points, n, needed=needed))
    return found


def _seen_loss(n: int, noise: float, alpha: float) -> float | None:
    return smallest(lambda points: sign_power(n, noise, points, alpha))


def _asked(run: ModelRun) -> list[tuple[str, str]]:
    scored = run.records[run.records["score"].notna() & (run.records["label"] == run.baseline)]
    return [(label, str(suite)) for label in run.vendors for suite in scored["suite"].unique()]


def _scores(run: ModelRun, label: str | None, suite: str) -> pd.Series[float]:
    """The mean score of every sample over its repetitions, where our side or the data did not lose it."""
    rows = run.asked[label or ""]
    rows = rows[(rows["suite"] == suite) & rows["score"].notna()]
    return rows.astype({"sample": str}).groupby("sample")["score"].mean()


def _pairs(run: ModelRun, label: str, suite: str) -> pd.DataFrame:
    both = {"own": _scores(run, label, suite), "base": _scores(run, run.baseline, suite)}
    return pd.DataFrame(both).dropna().reset_index()
