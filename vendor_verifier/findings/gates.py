"""Gates: figures that a run must reach, and the verdict that a vendor must get. An SLO is a limit for every request.

    <metric> <=|>= <number>                    schema_accuracy >= 0.98
    <metric>.p50|p90|p95|p99 <=|>= <number>    ttft_ms.p95 <= 2000
    verdict >= <status>                        verdict >= matches

A gate is passed where its whole 95 % interval keeps the limit, failed where all of it breaks the limit, else not
decided. A percentile is judged by the share of requests that break its limit. Costs are the sums of this run.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from vendor_verifier.errors import UsageError
from vendor_verifier.records.failures import UNCOUNTED
from vendor_verifier.records.results import (
    WORST_FIRST,
    Figure,
    GateOutcome,
    GateResult,
    Status,
    TriggerCounts,
    VendorResult,
    Verdict,
)
from vendor_verifier.scoring.answer import MOST_DISCARDED
from vendor_verifier.scoring.metrics import REQUEST_VALUES, SHORT_NAMES

if TYPE_CHECKING:
    # Gates are read before anything is sent, which must not wait for pandas.
    import pandas as pd

    from vendor_verifier.findings.base import ModelRun

_TIMEOUTS = ("timeout_first_token", "timeout_idle", "timeout_total", "request_timeout")
SHARES = ("success_rate", "first_attempt_success_rate", "f1", "schema_accuracy", "tool_call_error_rate")
COSTS = {"cost_per_1000_requests_usd": "per_1000_requests_usd", "cost_per_valid_call_usd": "per_valid_call_usd"}
# What single requests measure: a percentile or an SLO may be set on them.
REQUEST_METRICS = tuple(name for name in REQUEST_VALUES if name != "request_tps")


class GateError(UsageError):
    """A gate or an SLO that does not follow the grammar."""


class Gate(msgspec.Struct, frozen=True):
    """A limit of a figure or, with ``percentile``, of its percentile; or with ``status`` the least verdict."""

    metric: str
    comparison: Literal["<=", ">="]
    limit: float = 0.0
    percentile: int | None = None
    status: Status | None = None

    @property
    def subject(self) -> str:
        """The figure's name, as in ``ttft_ms.p95``."""
        return self.metric if self.percentile is None else f"{self.metric}.p{self.percentile}"

    def __str__(self) -> str:
        right = f"{self.limit:.12g}" if self.status is None else self.status.replace("_", " ")
        return f"{self.subject} {self.comparison} {right}"


# Published by the makers of the models: K2-Vendor-Verifier for two versions of Kimi K2, MiniMax-Provider-Verifier.
PRESETS: Mapping[str, tuple[Gate, ...]] = {
    "k2vv-thinking": (Gate("f1", ">=", 0.73),),
    "k2vv-0905": (Gate("f1", ">=", 0.80),),
    "minimax": (Gate("success_rate", ">=", 1.0), Gate("f1", ">=", 0.98), Gate("schema_accuracy", ">=", 0.98)),
}
_FORM = re.compile(r"\s*([A-Za-z_]\w*)(?:\.p(50|90|95|99))?\s*(<=|>=)\s*(\S.*?)\s*", re.ASCII)


def parse_gate(text: str, suites: Collection[str] = ()) -> list[Gate]:
    """One gate, or those of the preset of that name; ``suites`` are evaluations whose scores may be named.

    Raises:
        GateError: with what was read and what was expected.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        if text.strip() in PRESETS:
            return list(PRESETS[text.strip()])
        expected = "expected a limit with <= or >=, such as 'f1 >= 0.9' or 'ttft_ms.p95 <= 2000', or a preset"
        raise _error(text, expected, text.strip(), PRESETS)
    metric, percentile, comparison, right = form.groups()
    known = (*SHARES, *suites, *REQUEST_METRICS, *COSTS, "verdict")
    names = {**SHORT_NAMES, **{name.casefold(): name for name in reversed(known)}}
    metric = names.get(metric.casefold(), metric)
    if metric == "verdict":
        words = {status.replace("_", " "): status for status in WORST_FIRST if status != "reference"}
        word = " ".join(right.casefold().replace("_", " ").split())
        if comparison != ">=" or percentile is not None or word not in words:
            raise _error(text, f"read {right!r} where 'verdict >= <status>' was expected", word, words)
        return [Gate("verdict", ">=", status=words[word])]
    if metric not in known:
        raise _error(text, f"unknown metric {metric}", metric, known)
    if percentile is not None and metric not in REQUEST_METRICS:
        raise _error(text, f"{metric} has no percentiles; only figures of single requests have", "", REQUEST_METRICS)
    if not re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", right, re.ASCII) or not math.isfinite(float(right)):
        raise _error(text, f"read {right!r} where a number was expected; write 0.98 for 98 %")
    if metric in (*SHARES, *suites) and not 0 <= float(right) <= 1:
        raise _error(text, f"{metric} lies between 0 and 1; write 0.98 for 98 %")
    place = None if percentile is None else int(percentile)
    return [Gate(metric, "<=" if comparison == "<=" else ">=", float(right), place)]


def parse_slo(text: str) -> Gate:
    """One SLO, a limit for every single request.

    Raises:
        GateError: it does not follow the grammar, or is about more than one request.
    """
    if _FORM.fullmatch(text) is None:
        raise _error(text, "expected a limit with <= or >=, such as 'ttft_ms <= 800'; presets are for --gate")
    gate = parse_gate(text)[0]
    if gate.metric not in REQUEST_METRICS or gate.percentile is not None:
        raise _error(text, "an SLO is about every single request; use --gate to judge the run", "", REQUEST_METRICS)
    return gate


def read_gates(texts: Iterable[str], suites: Collection[str]) -> tuple[Gate, ...]:
    """The gates in ``texts``, or of the presets named there; ``suites`` are evaluations whose scores may be named.

    Where two limit the same figure on the same side, the later one applies: a model's own replaces that of all models.

    Raises:
        GateError: the first that does not follow the grammar.
    """
    read = [gate for text in texts for gate in parse_gate(text, suites)]
    return tuple({(gate.subject, gate.comparison): gate for gate in read}.values())


def _error(text: str, what: str, word: str = "", known: Collection[str] = ()) -> GateError:
    near = difflib.get_close_matches(word.casefold(), known, 1)
    hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}" if known else ""
    return GateError(f"{text!r}: {what}{hint}")


def meets(slo: Gate, values: pd.Series[float]) -> pd.Series[float]:
    """1 where a value keeps the SLO, 0 where it breaks it, NaN where it was not measured."""
    kept = values <= slo.limit if slo.comparison == "<=" else values >= slo.limit
    return kept.astype(float).where(values.notna())


def judge_gates(
    run: ModelRun, results: Mapping[str, VendorResult], verdicts: Mapping[str, Verdict], gates: Sequence[Gate]
) -> list[GateResult]:
    """The outcome of every gate for every vendor, also the baseline (which has no F1), over rows of Scored.records."""
    asked = [label for label in run.labels if label in results]
    pairs = [(label, gate) for label in asked for gate in gates if gate.metric != "f1" or label != run.baseline]
    return [_outcome(run, results[label], verdicts[label], gate) for label, gate in pairs]


def _outcome(run: ModelRun, result: VendorResult, verdict: Verdict, gate: Gate) -> GateResult:
    outcome: GateOutcome = "not_decided"
    if gate.status is not None:
        is_kept = WORST_FIRST.index(verdict.status) >= WORST_FIRST.index(gate.status)
        outcome = "passed" if is_kept else "failed"
        return GateResult(run.model, result.label, str(gate), outcome, verdict.status, reason=verdict.reason)
    figure, limit, is_least = measured(run, result, gate), gate.limit, gate.comparison == ">="
    what, shown = gate.subject, figure
    if gate.percentile is not None:
        # The percentile keeps its limit where no more requests break it than lie beyond the percentile.
        limit, is_least = (gate.percentile if is_least else 100 - gate.percentile) / 100, False
        what = f"share of requests that break {gate.metric} {gate.comparison} {gate.limit:g} (allowed: {limit:.2g})"
        values, share = _values(run.rows[result.label], gate.metric), gate.percentile / 100
        is_known = math.isfinite(values.quantile(share, interpolation="higher"))
        shown = Figure(float(values.quantile(share)) if is_known else None)
    value, low, high = figure.value, figure.low, figure.high
    if value is None or low is None or high is None:
        is_unpriced = gate.metric in COSTS and result.label not in run.money
        reason = f"{what}: {'no price is known; add `price:`' if is_unpriced else 'too little was measured'}"
    else:
        # The table of intervals takes failures for independent.
        allowing = ", allowing for outages:" if gate.metric.endswith("success_rate") else ""
        reason = f"{what}: {value:.4g} (95 % interval{allowing} {low:.4g} to {high:.4g}, n = {figure.n})"
        if not is_least:
            low, high, limit = -high, -low, -limit
        outcome = "passed" if low >= limit else "failed" if high < limit else "not_decided"
        reason += "; these are too few to decide" if outcome == "not_decided" else ""
    return GateResult(run.model, result.label, str(gate), outcome, shown.value, shown.low, shown.high, figure.n, reason)


def measured(run: ModelRun, result: VendorResult, gate: Gate) -> Figure:
    """The figure that a gate is about, with its 95 % interval; of a percentile the share of requests that break it."""
    import pandas as pd

    from vendor_verifier.scoring.table import has_bad_call
    from vendor_verifier.stats.intervals import exact_interval, mean_interval, stretch_interval

    metric, rows = gate.metric, run.rows[result.label]
    if metric in ("success_rate", "first_attempt_success_rate"):
        asked = rows[~rows["charge"].isin(UNCOUNTED)]
        hit = ~asked["ok"] if metric == "success_rate" else ~asked["ok"] | asked["retried"]
        # Failures of the network keep a gate from passing, but no vendor fails it by them.
        failed, proven = stretch_interval(hit), stretch_interval(hit[asked["charge"] != "network"])
        value, low, high = (None if end is None else 1 - end for end in (failed.value, failed.high, proven.low))
        return Figure(value, low, high, failed.n)
    if metric == "f1":
        # F1 = 2 J ÷ (1 + J) rises with Jaccard's J = TP ÷ (TP + FP + FN), which is a share.
        counts, f1 = result.counts or TriggerCounts(), result.f1 or 0.0
        n = 0 if result.f1 is None else (counts.tp + counts.fp + counts.fn) / counts.pairs
        jaccard = exact_interval(f1 / (2 - f1) * n, n)
        ends = [None if end is None else 2 * end / (1 + end) for end in (jaccard.value, jaccard.low, jaccard.high)]
        return Figure(ends[0], ends[1], ends[2], result.measured.get("f1", 0))
    if metric == "tool_call_error_rate":
        bad = pd.Series(has_bad_call(rows["classes"]))[(rows["ok"] & rows["offered"]).to_numpy()].dropna()
        return exact_interval(int(bad.sum()), len(bad))
    if metric in COSTS:
        money = run.money.get(result.label)
        cost = None if money is None else getattr(money, COSTS[metric])
        return Figure(cost, cost, cost, 0 if money is None else money.requests)
    if metric not in REQUEST_METRICS:
        share, n = result.metric(metric), result.measured.get(metric, 0)
        return Figure(n=n) if share is None else exact_interval(share * n, n)
    if gate.percentile is None:
        values = _of_answers(rows, metric).dropna()
        if metric == "tps":
            return mean_interval(rows["tokens_after"][values.index], rows["decode_s"][values.index])
        return mean_interval(values, pd.Series(1.0, index=values.index))
    broken = 1 - meets(gate, _values(rows, metric))
    if gate.percentile > 50:
        return stretch_interval(broken == 1)
    # About half of the requests break it: a slow spell shows in the parts of the run.
    spread = mean_interval(broken, pd.Series(1.0, index=broken.index))
    return spread if spread.low != spread.high else exact_interval(float(broken.sum()), len(broken))


def _values(rows: pd.DataFrame, metric: str) -> pd.Series[float]:
    """What each request measured; a timeout is slower than everything, unless no answer has such a value."""
    values = _of_answers(rows, metric)
    if not metric.endswith("tokens") and (values.notna().any() or not rows["ok"].any()):
        values = values.mask(rows["failure"].isin(_TIMEOUTS), 0.0 if metric == "tps" else math.inf)
    return values.dropna()


def _of_answers(rows: pd.DataFrame, metric: str) -> pd.Series[float]:
    """What answers measured; all missing where too many times were discarded for the rest to be fair."""
    from vendor_verifier.scoring.table import has_word

    of, name = REQUEST_VALUES[metric]
    values: pd.Series[float] = of(rows)
    discarded = has_word(rows["discarded"], name).sum()
    return values * math.nan if discarded > MOST_DISCARDED * (discarded + values.count()) else values
