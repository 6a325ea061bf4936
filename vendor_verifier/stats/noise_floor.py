"""The noise floor: the baseline's F1 against itself, and each vendor's distance from it.

Two runs of one model differ wherever it is undecided, so even the same model served perfectly scores below 1:
self-F1 = 1 − d ÷ 2π for disagreement d and prevalence π. A vendor is judged by Δ = F1 − self-F1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import structs

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Gap, NoiseFloor, PairedTest
from vendor_verifier.scoring.trigger_f1 import Run
from vendor_verifier.stats.bootstrap import Resampled
from vendor_verifier.stats.intervals import LEVEL, estimate_of, f1_interval, normal_quantile, separate
from vendor_verifier.stats.panel import Panel
from vendor_verifier.stats.ratio_table import Trials

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_METHOD = "influence values"


def noise_floor(panel: Panel, resampled: Resampled, baseline: Trials) -> NoiseFloor:
    """The noise floor of the baseline; with one run the ceiling and the latency spread are ``None``.

    ``panel`` is built with ``baseline_f1="self"``.
    """
    runs = len(baseline.runs)
    measured = {
        metric: estimate_of(panel, resampled, baseline.label, metric) if metric in panel.metrics else Estimate(None)
        for metric in ("f1", "schema_accuracy")
    }
    ceiling = measured["f1"] if runs > 1 else Estimate(None)
    return NoiseFloor(runs, ceiling, measured["schema_accuracy"], latency_spread(baseline))


def latency_spread(baseline: Trials, level: float = LEVEL) -> Estimate:
    """Second run's TTFT ÷ first run's, the geometric mean over samples: exp(mean ± z·sd ÷ √n) of the log ratios."""
    # What ranks may hold waits for a place (:mod:`vendor_verifier.scoring.ranked_times`), which no second run repeats.
    column = baseline.ratios.get("ttft_ms") or baseline.ratios.get("avg_ttft_ms", {})
    firsts = {sample: part[0] / part[1] for (sample, number), part in column.items() if number == 0 and part[1]}
    seconds = {sample: part[0] / part[1] for (sample, number), part in column.items() if number == 1 and part[1]}
    logs = [
        math.log(seconds[sample] / first)
        for sample, first in firsts.items()
        if first > 0 and seconds.get(sample, 0.0) > 0
    ]
    n = len(logs)
    if n < 2:
        return Estimate(None, n=n, method="log ratios", level=level)
    mean = math.fsum(logs) / n
    half = normal_quantile(level) * math.sqrt(math.fsum((each - mean) ** 2 for each in logs) / (n - 1) / n)
    return Estimate(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n, "log ratios", level)


def gap(
    panel: Panel, baseline: Trials, vendor: Trials, *, blocks: Sequence[int] | None = None, level: float = LEVEL
) -> Gap:
    """Δ = F1 − ceiling of one vendor with its paired interval and the two tests behind it.

    ``panel`` is built with ``baseline_f1="self"``; ``blocks``: block of every sample, for clustered errors. Without a
    second baseline run there is no ceiling: ``delta`` and ``p_value`` are ``None`` and ``excess`` is empty. Where no
    sample moves either figure (all right, or all wrong) the interval is that of two separate figures, and a difference
    has no ``p_value``.
    """
    delta, p_value = _delta(panel, baseline.label, vendor.label, blocks, level)
    first = baseline.runs[0] if baseline.runs else {}
    second = baseline.runs[1] if len(baseline.runs) > 1 else {}
    got = vendor.runs[0] if vendor.runs else {}
    return Gap(vendor.label, delta, p_value, bias_test(first, got), excess_test(first, second, got))


def bias_test(expected: Run, got: Run) -> PairedTest:
    """The test for a bias in triggering: calls where the baseline made none (first) against misses (second).

    Only samples that both decided count, because a failure shows no bias. Blind to noise that goes both ways; see
    ``excess_test``.
    """
    extra = sum(expected.get(name) == "not_called" and decision == "called" for name, decision in got.items())
    missed = sum(expected.get(name) == "called" and decision == "not_called" for name, decision in got.items())
    return mcnemar(extra, missed)


def excess_test(expected: Run, again: Run, got: Run) -> PairedTest:
    """The test whether the vendor is the odd one out of three answers more often than a run of the baseline is.

    first: vendor ≠ run 1 = run 2; second: run 1 ≠ run 2, so that one of them is the odd one; over samples that all
    three decided. Under one model each of the three is as likely to be it, so first is binomial(first + second, ⅓);
    one-sided, because a vendor that is odd less often disagrees with nobody.
    """
    from vendor_verifier.special_functions import bdtrc

    only_vendor = only_baseline = 0
    for name, decision in got.items():
        one, two = expected.get(name), again.get(name)
        if "undecided" in (one, two, decision) or one is None or two is None:
            continue
        only_vendor += decision != one and two == one
        only_baseline += two != one
    n = only_vendor + only_baseline
    if not n:
        return PairedTest(0, 0, 1.0, 1.0)
    exact, beyond = float(bdtrc(only_vendor - 1, n, 1 / 3)), float(bdtrc(only_vendor, n, 1 / 3))
    return PairedTest(only_vendor, only_baseline, exact, (exact + beyond) / 2)


def mcnemar(first: int, second: int) -> PairedTest:
    """McNemar's test on discordant pairs: under no effect ``first`` is binomial(first + second, ½).

    Mid-p = exact p − P(K = first), and 1 − ½·P where both are equal (Fagerland, Lydersen, Laake, BMC Med. Res. Meth.
    2013): the exact test is wrong in 2–5 % instead of 5 %, mid-p in 3.8–4.8 %.
    """
    from vendor_verifier.special_functions import bdtr

    n = first + second
    if not n:
        return PairedTest(0, 0, 1.0, 1.0)
    exact, point = min(1.0, 2 * float(bdtr(min(first, second), n, 0.5))), math.comb(n, first) / 2**n
    return PairedTest(first, second, exact, 1.0 - point / 2 if first == second else exact - point)


def _delta(
    panel: Panel, baseline: str, vendor: str, blocks: Sequence[int] | None, level: float
) -> tuple[Estimate, float | None]:
    """Δ and its p-value.

    SE(Δ) = sd(ψ_vendor − ψ_self) ÷ √n, or clustered √(Σ_c (Σ ψ)²) ÷ n (Miller, arXiv 2411.00640).
    """
    own, ceiling = panel.value(vendor, "f1"), panel.value(baseline, "f1")
    ours, theirs = panel.influence(vendor, "f1"), panel.influence(baseline, "f1")
    n = len(panel.samples)
    if own is None or ceiling is None or ours is None or theirs is None:
        return Estimate(None, n=n, method=_METHOD, level=level), None
    error = _standard_error(ours - theirs, blocks)
    if error <= 1e-12:
        apart = separate(_closed(panel, vendor, level), _closed(panel, baseline, level))
        return structs.replace(apart, n=n), 1.0 if own == ceiling else None
    half = normal_quantile(level) * error
    p_value = 2 * NormalDist().cdf(-abs(own - ceiling) / error)
    return Estimate(own - ceiling, own - ceiling - half, own - ceiling + half, n, _METHOD, level), p_value


def _standard_error(influence: NDArray[np.float64], blocks: Sequence[int] | None) -> float:
    import numpy as np

    n = influence.size
    if n < 2:
        return 0.0
    if blocks is None:
        return float(np.std(influence, ddof=1) / math.sqrt(n))
    sums = np.bincount(np.asarray(blocks), weights=influence)
    return float(math.sqrt(float(np.square(sums).sum()))) / n


def _closed(panel: Panel, label: str, level: float) -> Estimate:
    """The interval of F1 from its own counts, averaged over pairs of runs."""
    parts = panel.cells[label, "f1"]
    both = sum(float(part.numerators.sum()) for part in parts) / 2 / len(parts)
    either = sum(float(part.denominators.sum()) for part in parts) / len(parts) - both
    return f1_interval(both, either - both, 0.0, level)
