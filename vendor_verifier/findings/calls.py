"""Does it call tools as the baseline does? Decisions, arguments, schemas, and calls written as text."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from vendor_verifier.findings.base import ModelRun, Reach, Test, hindrance, percent, shown
from vendor_verifier.findings.baseline import fault
from vendor_verifier.stats.compare import more_often
from vendor_verifier.stats.decisions import odd_one_out, odd_power, share_power, sign_power, sign_test, smallest

FACET = "tool_calls"
LINE = 0.05
LEAST_TRIPLES, LEAST_CALLS = 20, 10
ENOUGH, ENOUGH_ARGUMENTS = 0.10, 0.50
# Arguments are asked for only where the baseline repeats this share of its own.
LEAST_REPEATED = 0.25
_TESTS = 4
_POINTS = [points / 100 for points in range(1, 101)]
_SIZES = (20, 40, 60, 80, 100, 125, 150, 200, 250, 315, 400, 500, 630, 800, 1000, 1500, 2000, 3000, 5000, 10_000)


def call_tests(run: ModelRun) -> list[Test]:
    """Tests of every vendor."""
    if run.baseline is None:
        return []
    made = [_decisions, _invalid, _in_text, *([] if run.redacted or not run.asked_twice else [_arguments])]
    return [test for label in run.vendors for each in made for test in each(run, label)]


def _decisions(run: ModelRun, label: str) -> Iterator[Test]:
    """Whether to call a tool: odd-one-out, or the sign test where the baseline was asked once."""
    columns = ["called", "called_one", *(["called_two"] if run.asked_twice else [])]
    rows = run.triples(label).dropna(subset=columns)
    if len(rows) < LEAST_TRIPLES:
        return
    own, one = rows["called"].to_numpy(), rows["called_one"].to_numpy()
    if run.asked_twice:
        other = rows["called_two"].to_numpy()
        found, odd, noise = odd_one_out(own, one, other)
        differs = (one == other) & (own != one)
        missed = int((differs & (own == 0)).sum())
        text = f"{missed} calls missed, {odd - missed} extra in {len(rows)} samples; the baseline disagrees with itself on "
        text += f"{int((one != other).sum())}."
        counts = odd + noise > 0
    else:
        found, missed, extra = sign_test(own, one)
        differs = own != one
        text = f"{missed} calls missed, {extra} extra in {len(rows)} samples, against one answer of the baseline."
        counts = missed + extra > 0
    yield Test(
        vendor=label, facet=FACET, name="decisions", text=text, p_value=found.p_value, beyond=found.low > LINE,
        counts=counts, value=found.value, low=found.low, high=found.high, n=found.n, samples=shown(rows[differs]),
    )  # fmt: skip


def _arguments(run: ModelRun, label: str) -> Iterator[Test]:
    """Calls with their arguments in canonical JSON: odd-one-out where all three answers call a tool."""
    rows = run.triples(label).dropna(subset=["call_digest", "call_digest_one", "call_digest_two"])
    if len(rows) < LEAST_TRIPLES:
        return
    own, one, other = (rows[name].to_numpy() for name in ("call_digest", "call_digest_one", "call_digest_two"))
    found, odd, noise = odd_one_out(own, one, other)
    differs = (one == other) & (own != one)
    text = f"Arguments of {odd} in {len(rows)} calls differ where the baseline repeats its own; "
    text += f"{noise} would do by its own noise."
    text = (
        f"Other arguments in {odd} of the {int((one == other).sum())} calls that the baseline repeats exactly "
        f"({len(rows)} calls compared)."
    )
    yield Test(
        vendor=label, facet=FACET, name="arguments", text=text, p_value=found.p_value, beyond=found.low > LINE,
        counts=odd + noise > 0, value=found.value, low=found.low, high=found.high, n=found.n,
        samples=shown(rows[differs]),
    )  # fmt: skip


def _judged_calls(run: ModelRun, label: str) -> pd.DataFrame:
    """Answers with calls that were held against the schema that the sample states, in its own words."""
    rows = run.answers[label]
    reworded = rows["reworded"].astype(object).fillna("").astype(str).str.contains("schema:", regex=False)
    return rows[rows["ok"] & rows["bad_call"].notna() & ~reworded]


def _invalid(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers with a call that breaks its schema, against the baseline's (Fisher)."""
    own, base = _judged_calls(run, label), _judged_calls(run, run.baseline or "")
    if min(len(own), len(base)) < LEAST_CALLS:
        return
    bad, base_bad = own["bad_call"].astype(bool), int(base["bad_call"].sum())
    found = more_often(int(bad.sum()), len(own), base_bad, len(base))
    text = (
        f"{int(bad.sum())} of {len(own)} answers with calls break the tool's schema ({percent(bad.mean())}; "
        f"the baseline {percent(base_bad / len(base))})."
    )
    yield Test(
        vendor=label, facet=FACET, name="invalid_calls", text=text, p_value=found.p_value, beyond=found.low > LINE,
        counts=bool(bad.any() or base_bad), value=found.value, low=found.low, high=found.high, n=found.n,
        samples=shown(own[bad]),
    )  # fmt: skip


def _in_text(run: ModelRun, label: str) -> Iterator[Test]:
    """Answers whose text holds the markup of a call (Fisher)."""
    own, base = [run.rows[name][lambda rows: rows["ok"]] for name in (label, run.baseline or "")]
    if min(len(own), len(base)) < LEAST_CALLS:
        return
    leaked = own["anomalies"].astype(str).str.contains("markup_in_text", regex=False)
    base_leaked = int(base["anomalies"].astype(str).str.contains("markup_in_text", regex=False).sum())
    found = more_often(int(leaked.sum()), len(own), base_leaked, len(base))
    text = (
        f"{int(leaked.sum())} of {len(own)} answers hold a tool call as text (baseline {base_leaked} of {len(base)})."
    )
    yield Test(
        vendor=label, facet=FACET, name="calls_in_text", text=text, p_value=found.p_value, beyond=found.low > LINE,
        counts=bool(leaked.any() or base_leaked), value=found.value, low=found.low, high=found.high, n=found.n,
        samples=shown(own[leaked]),
    )  # fmt: skip


def call_reach(run: ModelRun) -> list[Reach]:
    """The smallest differences in decisions, schema and arguments that the run finds, from the baseline's answers."""
    if run.baseline is None:
        return [Reach(label, FACET, False, "no baseline.") for label in run.vendors]
    base = run.answers[run.baseline]
    if not base["called"].notna().any() and not base["bad_call"].notna().any():
        return [Reach(label, FACET, False, "no sample offers tools.", meant=False) for label in run.vendors]
    reason = fault(run, FACET)
    if reason is None and not run.asked_twice and base["call_digest"].notna().any():
        reason = "the baseline was asked once, so arguments are not comparable: set --baseline-repeats 2"
    whole = _reach(run, 1.0)
    found = []
    for label in run.vendors:
        why = hindrance(run, label) or reason
        if why is not None:
            found.append(Reach(label, FACET, False, f"{why}."))
            continue
        enough, text, points, n = whole
        needed = (
            None if enough else next((size for size in _SIZES if size > n and _reach(run, size / max(1, n))[0]), None)
        )
        found.append(Reach(label, FACET, enough, text, points, n, needed=needed))
    return found


def _reach(run: ModelRun, times: float) -> tuple[bool, str, float | None, int]:
    """Whether ``times`` as many samples are enough, with the sentence, the points, and the number of samples."""
    alpha = 0.01 / (_TESTS * max(1, len(run.vendors)))
    pairs = run.pairs
    decided = pairs.dropna(subset=["called_one", "called_two"] if run.asked_twice else ["called_one"])
    n = round(times * len(decided))
    if run.asked_twice:
        apart = int((decided["called_one"] != decided["called_two"]).sum())
        noise = round((apart + 0.5) / (len(decided) + 1), 3)
        points = smallest(lambda share: odd_power(n, noise, share, alpha), _POINTS)
    else:
        points = smallest(lambda share: sign_power(n, 0.05, share, alpha), _POINTS)
    seen = [] if points is None else [f"{100 * points:.0f} points in decisions"]
    enough = points is not None and points <= ENOUGH
    calls = run.answers[run.baseline or ""]["bad_call"].dropna()
    if len(calls):
        per_vendor = round(times * len(calls) / (2 if run.asked_twice else 1))
        broken = round(float(calls.astype(bool).mean()), 3)
        schema = smallest(lambda share: share_power(per_vendor, broken, share, alpha), _POINTS)
        enough &= schema is not None and schema <= ENOUGH
        seen += [] if schema is None else [f"{100 * schema:.0f} points in schema validity"]
        points = None if points is None or schema is None else max(points, schema)
    if run.asked_twice:
        both = pairs.dropna(subset=["call_digest_one", "call_digest_two"])
        repeated = float((both["call_digest_one"] == both["call_digest_two"]).mean()) if len(both) else 0.0
        if repeated >= LEAST_REPEATED:
            called = round(times * len(both))
            changed = smallest(lambda share: odd_power(called, round(1 - repeated, 2), share, alpha), _POINTS)
            enough &= changed is not None and changed <= ENOUGH_ARGUMENTS
            seen += [] if changed is None else [f"{100 * changed:.0f} % changed arguments"]
    text = f"Differences of {', '.join(seen)} would have been seen." if seen else ""
    if not enough:
        text = f"{len(decided)} samples are too few to see a difference of 10 points."
    return enough, text, points, len(decided)
