"""A drift is seen under noise that hides it from neighbours, and widens what it makes uncertain; luck does not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.signal import lfilter

from vendor_verifier.scoring.row_keys import Units
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.dependence import (
    Dependence,
    _cosines,
    common_windows,
    dependence,
    drift_level,
    judged_together,
    paired_spectrum,
)
from vendor_verifier.stats.few_stretches import few_stretches
from vendor_verifier.stats.intervals import estimates_of, gap_to, percentile_interval
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.panel import Component, Panel, apart, build_panel
from vendor_verifier.stats.ratio_table import RatioColumn, Trials

LENGTH = 40


def drift(rng: np.random.Generator, n: int, length: float = LENGTH) -> NDArray[np.float64]:
    """An autoregression of deviation 1 with this correlation length."""
    keeps = np.exp(-1 / length)
    noise = rng.normal(size=n) * np.sqrt(1 - keeps**2)
    noise[0] = rng.normal()
    return np.asarray(lfilter([1.0], [1.0, -keeps], noise), dtype=np.float64)


def centred(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """The contributions of a series to the error of its mean."""
    return np.asarray((series - series.mean()) / series.size, dtype=np.float64)


def timed(label: str, values: NDArray[np.float64], moments: NDArray[np.float64]) -> Trials:
    units = Units.of((f"s{place}", 0) for place in range(values.size))
    column = RatioColumn(units, range(values.size), values)
    return Trials(label, (), {"avg_ttft_ms": column}, RatioColumn(units, range(values.size), moments))


def test_independent_requests_are_hardly_ever_widened() -> None:
    """Of 400 series of independent times at most an eighth are, and none counts as more than it is."""
    rng = np.random.default_rng(1)
    found = [dependence(centred(rng.normal(size=2000)), drift_level(2000)) for _ in range(400)]
    assert sum(each.is_seen for each in found) <= 50
    assert all(each.effective(2000) <= 2000 for each in found)
    assert sum(each.too_few for each in found) <= 0.03 * 400


def test_a_slow_drift_under_noise_is_seen() -> None:
    """A tenth of the variance drifts, so that neighbours resemble each other by 0.1; the mean varies nine-fold."""
    rng = np.random.default_rng(2)
    series = [np.sqrt(0.1) * drift(rng, 4000) + np.sqrt(0.9) * rng.normal(size=4000) for _ in range(100)]
    found = [dependence(centred(each), drift_level(4000)) for each in series]
    assert all(each.is_seen for each in found)
    assert 60 <= float(np.median([each.stretches or 0 for each in found])) <= 140
    widest = [max(variance for _, variance in each.scales) / each.variance for each in found]
    assert 7 <= float(np.median(widest)) <= 13
    errors = np.array([each.mean() for each in series])
    reached = np.array([each.reach() for each in found])
    assert (np.abs(errors) > reached).mean() <= 0.05


def test_a_short_run_has_too_few_stretches() -> None:
    """Strong drift over four correlation lengths says so, and its interval holds next to anything."""
    rng = np.random.default_rng(3)
    found = [dependence(centred(drift(rng, 160)), drift_level(160)) for _ in range(50)]
    assert all(each.too_few for each in found)
    assert float(np.median([each.widening() for each in found])) > 10


def test_what_never_varies_is_independent() -> None:
    """Nothing, a constant and a handful of numbers give no dependence and no error."""
    for series in (np.zeros(0), np.zeros(500), np.ones(3)):
        assert dependence(series - 0.0) == Dependence(float(series @ series))
    assert Dependence(0.0).widening() == 1.0
    assert Dependence(4.0).reach(2.0) == 4.0


def test_a_shared_drift_cancels_in_windows_of_time() -> None:
    """Two vendors drift together and are asked the samples in another order: by time they do not differ."""
    rng = np.random.default_rng(4)
    by_time = by_sample = 0
    n = 1000
    for _ in range(60):
        common = 0.5 * drift(rng, n, 100)
        clock = [np.arange(n), (np.arange(n) + n // 2) % n]
        both = [centred(common[each] + rng.normal(size=n)) for each in clock]
        windows = common_windows([each.astype(np.float64) for each in clock])
        by_time += paired_spectrum(both, windows).judged(0.01).is_seen
        by_sample += paired_spectrum(both, [np.arange(n), np.arange(n)]).judged(0.01).is_seen
    assert by_time <= 6
    assert by_sample >= 55


def test_many_vendors_show_together_what_none_shows_alone() -> None:
    """Twenty-one differences of seven weakly drifting vendors are widened all, independent ones hardly."""
    rng = np.random.default_rng(5)

    def widened(weight: float) -> list[bool]:
        series = [centred(weight * drift(rng, 300) + rng.normal(size=300)) for _ in range(7)]
        order = np.arange(300)
        pairs = [paired_spectrum((a, b), (order, order)) for i, a in enumerate(series) for b in series[:i]]
        return [each is not None and each.is_seen for each in judged_together(pairs, 7, 0.01)]

    drifting = [widened(0.33) for _ in range(20)]
    assert sum(map(all, drifting)) >= 15
    assert sum(map(any, (widened(0.0) for _ in range(20)))) <= 8


def test_the_clock_of_a_panel_is_when_samples_were_sent() -> None:
    """Windows follow the moments, whatever the samples' order; where a vendor has none, no label has a window."""
    rng = np.random.default_rng(6)
    values = np.exp(rng.normal(6, 0.3, 200))
    names = [f"s{place}" for place in range(200)]
    forth, back = np.arange(200.0), np.arange(200.0)[::-1].copy()
    panel = build_panel([timed("a", values, forth), timed("b", values, back)], names, metrics=["avg_ttft_ms"])
    assert panel.windows["a"].tolist() == panel.windows["b"].tolist()[::-1]
    assert len(set(panel.windows["a"].tolist())) == 200
    unknown = Trials("b", (), {"avg_ttft_ms": RatioColumn(Units.of([("s0", 0)]), [0], [1.0])})
    assert not build_panel([timed("a", values, forth), unknown], names, metrics=["avg_ttft_ms"]).windows
    found = apart("avg_ttft_ms", (panel, "a"), (panel, "absent"))
    assert found is None


def test_equal_vendors_that_drift_are_not_told_apart_and_it_is_said_why() -> None:
    """Two equal vendors with strong drifts of their own, 300 samples: no difference, and too few stretches named."""
    different = named = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        names = [f"s{place}" for place in range(300)]
        made = [
            timed(label, 400 * np.exp(0.3 * drift(rng, 300) + rng.normal(0, 0.2, 300)), np.arange(300.0))
            for label in ("a", "b")
        ]
        judged = judge_ranking(made, names, rng, metrics=["avg_ttft_ms"], resamples=200)
        different += any(each.differs for each in judged.differences)
        few = list(few_stretches(build_panel(made, names, metrics=["avg_ttft_ms"]), judged.differences))
        named += any(each.other == "b" for each in few)
        assert all(each.stretches < 20 for each in few)
        assert {each.label for each in few if each.other is None} <= {"a", "b"}
    assert different <= 3
    assert named >= 15


def test_own_figures_and_gaps_of_drifting_times_are_wider() -> None:
    """The interval of a mean and of a gap to the baseline holds more than blocks of the same drift would."""
    rng = np.random.default_rng(7)
    n = 500
    series = {label: 400 * np.exp(0.3 * drift(rng, n) + rng.normal(0, 0.1, n)) for label in ("a", "b")}
    steady = {label: rng.permutation(values) for label, values in series.items()}
    widths = []
    for values in (series, steady):
        cells = {(label, "avg_ttft_ms"): (Component(each, np.ones(n)),) for label, each in values.items()}
        panel = Panel(tuple(map(str, range(n))), ("a", "b"), ("avg_ttft_ms",), cells)
        resampled = bootstrap(panel, np.random.default_rng(8), resamples=300)
        own, gap = estimates_of(panel, resampled)["a"]["avg_ttft_ms"], gap_to(panel, resampled, "a", "b", "avg_ttft_ms")
        assert own.low is not None
        assert own.high is not None
        assert own.low > 0
        widths.append(((own.high - own.low), (gap.high or 0) - (gap.low or 0), own.effective))
    assert widths[0][0] > 3 * widths[1][0]
    assert widths[0][1] > 3 * widths[1][1]
    assert (widths[0][2] or n) < n / 9
    assert widths[1][2] is None


def test_an_outage_counts_as_one_failure_and_not_as_twenty() -> None:
    """Three outages of 20 in 2,000 leave a wider exact interval than 60 failures here and there."""
    spread = []
    rng = np.random.default_rng(9)
    out = np.zeros(2000)
    for begin in (200, 900, 1500):
        out[begin : begin + 20] = 1.0
    for failed in (out, rng.permutation(out)):
        part = Component(1 - failed, np.ones(2000))
        panel = Panel(tuple(map(str, range(2000))), ("v",), ("success_rate",), {("v", "success_rate"): (part,)})
        resampled = bootstrap(panel, np.random.default_rng(10), resamples=300)
        spread.append(estimates_of(panel, resampled, exact=True)["v"]["success_rate"])
    together, scattered = spread
    assert together.value == scattered.value == pytest.approx(0.97)
    assert (together.low or 1) < 0.93 < 0.96 < (scattered.low or 0)
    assert 20 <= (together.effective or 0) <= 250
    assert together.n == scattered.n == 2000
    assert scattered.effective is None


def test_a_percentile_of_slow_spells_is_less_sure_than_of_scattered_slowness() -> None:
    """The same values in and out of order: only what stands in order is taken for spells."""
    rng = np.random.default_rng(11)
    slow = np.repeat(rng.random(100) < 0.1, 20)
    values = 400 * np.exp(rng.normal(0, 0.3, 2000) + 1.1 * slow)
    mixed = rng.permutation(values).tolist()
    together = percentile_interval(values.tolist(), 95, in_order=True)
    assert percentile_interval(values.tolist(), 95) == percentile_interval(mixed, 95)
    assert percentile_interval(mixed, 95, in_order=True) == percentile_interval(mixed, 95)
    assert (together.effective or 2000) < 400
    assert (together.low or 0) < (percentile_interval(mixed, 95).low or 0)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 1001])
def test_cosines_are_those_of_the_library(count: int) -> None:
    """The transform is SciPy's, to the last few bits, for even and odd lengths."""
    series = np.random.default_rng(count).normal(size=count)
    assert _cosines(series) == pytest.approx(dct(series, 2)[: count // 2 + 1], rel=1e-9, abs=1e-12)
