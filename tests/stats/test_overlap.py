"""Times of two vendors are compared over what was sent while both were being asked, answers over everything."""

from __future__ import annotations

import numpy as np
import pytest
import sample_reports
from changing import replace

from vendor_verifier.gates.thresholds import parse_threshold
from vendor_verifier.pipeline.gates import judge_panel
from vendor_verifier.records.judgement import Difference, GateVerdict, ModelVerdict, Overlap, RankingJudgement
from vendor_verifier.reports.judged import judged_sections
from vendor_verifier.reports.terminal import plain_lines
from vendor_verifier.scoring.row_keys import Units
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.overlap import overlaps_of
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import RatioColumn, Trials
from vendor_verifier.words import Texts

METRICS = ("success_rate", "avg_ttft_ms", "tps")
SAMPLES = [f"s{number:04}" for number in range(400)]


def trials(label: str, every_s: float, ttft_ms: list[float], begin_s: float = 0.0) -> Trials:
    """A vendor that was asked one sample after the other, so many seconds apart."""
    units = Units.of((sample, 0) for sample in SAMPLES[: len(ttft_ms)])
    values = {
        "success_rate": [1.0] * len(units),
        "avg_ttft_ms": ttft_ms,
        "tps": [50.0 + ttft / 100 for ttft in ttft_ms],
    }
    columns = {metric: RatioColumn(units, range(len(units)), values[metric]) for metric in METRICS}
    sent = RatioColumn(units, range(len(units)), [begin_s + number * every_s for number in range(len(units))])
    return Trials(label, (), columns, sent)


def noise(seed: int, mean: float = 100.0) -> list[float]:
    return list(np.random.default_rng(seed).normal(mean, 5.0, len(SAMPLES)))


def judged(*vendors: Trials) -> RankingJudgement:
    return judge_ranking(vendors, SAMPLES, np.random.default_rng(0), metrics=METRICS, resamples=500)


def ttft(ranking: RankingJudgement) -> list[Difference]:
    return [each for each in ranking.differences if each.metric == "avg_ttft_ms"]


def test_a_load_that_only_the_slow_vendor_met_is_not_held_against_it() -> None:
    """Two equal vendors, one asked at half the pace: that everything became slow after the fast one was through
    makes no difference between them, and how many rows are left is said."""
    after_it = [100.0] * 200 + [300.0] * 200
    fast = trials("fast", 1.0, noise(1))
    slow = trials("slow", 2.0, [each - 100 + level for each, level in zip(noise(2), after_it, strict=True)])
    ranking = judged(fast, slow)
    (found,) = ttft(ranking)
    assert not found.differs
    assert abs(found.value) < 2
    assert ranking.overlaps == (Overlap("fast", "slow", 400, 400, 200, 400),)


def test_a_difference_within_the_common_time_is_found() -> None:
    """A vendor that is slower while both are asked differs, also if it was asked at another pace."""
    (found,) = ttft(judged(trials("fast", 1.0, noise(1)), trials("slow", 3.0, noise(2, 120.0))))
    assert found.differs
    assert found.value == pytest.approx(-20, abs=2)


def test_vendors_that_were_never_asked_together_are_not_compared_in_time() -> None:
    """Nothing is left of either, which is said; their answers are compared as ever."""
    ranking = judged(trials("first", 1.0, noise(1)), trials("second", 1.0, noise(2, 200.0), begin_s=1000.0))
    assert ttft(ranking) == []
    assert [each.metric for each in ranking.differences] == ["success_rate"]
    assert ranking.overlaps == (Overlap("first", "second", 0, 400, 0, 400),)


def test_a_handful_of_common_rows_compares_nothing() -> None:
    """Below twelve blocks a spread says nothing, so that no difference is named."""
    ranking = judged(trials("first", 1.0, noise(1)), trials("second", 1.0, noise(2, 200.0), begin_s=395.0))
    assert ttft(ranking) == []
    assert ranking.overlaps == (Overlap("first", "second", 5, 400, 5, 400),)


def test_each_pair_has_its_own_window() -> None:
    """A vendor that was stopped early does not shorten what the two others are compared over."""
    one, other = trials("one", 1.0, noise(1)), trials("other", 1.0, noise(2))
    stopped = trials("stopped", 1.0, noise(3)[:50])
    ranking = judged(one, other, stopped)
    assert ranking.overlaps == (
        Overlap("one", "stopped", 50, 400, 50, 50),
        Overlap("other", "stopped", 50, 400, 50, 50),
    )
    assert len(ttft(ranking)) == 3


def test_vendors_asked_together_are_compared_as_if_nothing_were_known_of_moments() -> None:
    """The same moments for all, or none known: the very same intervals."""
    known = [trials(label, 1.0, noise(seed)) for label, seed in (("a", 1), ("b", 2))]
    unknown = [Trials(each.label, each.runs, each.ratios) for each in known]
    assert judged(*known).differences == judged(*unknown).differences
    assert judged(*known).overlaps == ()


def test_only_times_are_cut() -> None:
    """What is left of a pair holds no answers."""
    vendors = [trials("a", 1.0, noise(1)), trials("b", 2.0, noise(2))]
    overlaps = overlaps_of(vendors, build_panel(vendors, SAMPLES, metrics=METRICS))
    assert overlaps.panel is not None
    assert {metric for _, metric in overlaps.panel.cells} == {"avg_ttft_ms", "tps"}
    assert not overlaps.concerns("success_rate", "b", "a")
    assert overlaps.concerns("tps", "b", "a")
    assert not overlaps.concerns("tps", "a", "b")


def verdict_on(vendor: Trials, baseline: Trials, gate: str) -> GateVerdict:
    """One gate of one vendor."""
    panel = build_panel([baseline, vendor], SAMPLES, baseline=baseline.label, metrics=METRICS)
    resampled = bootstrap(panel, np.random.default_rng(0), resamples=200)
    return next(
        each
        for each in judge_panel(panel, resampled, [baseline, vendor], baseline, [parse_threshold(gate)], {})
        if each.label == vendor.label
    )


def test_a_gate_against_the_baselines_time_looks_at_the_common_time() -> None:
    """The baseline was slow only after the vendor was through; within 5 ms of it is held to while both were asked."""
    baseline = trials("base", 2.0, [each + (200 if number >= 200 else 0) for number, each in enumerate(noise(1))])
    slower = trials("slower", 1.0, noise(2, 130.0))
    verdict = verdict_on(slower, baseline, "avg_ttft_ms <= ceiling + 5")
    assert verdict.outcome == "FAIL"
    assert verdict.estimate.value == pytest.approx(30, abs=2)
    never = verdict_on(trials("late", 1.0, noise(2), 5000.0), baseline, "avg_ttft_ms <= ceiling + 5")
    assert never.outcome == "UNDECIDED"
    assert "was not measured while the baseline was being asked" in never.reason


def test_reports_say_how_much_of_a_pair_is_left() -> None:
    """A screen names the rows where a tenth or more is lost; Markdown and the page every pair."""

    def told(ranking: RankingJudgement) -> tuple[str, str]:
        report = sample_reports.single()
        model, verdict = report.models[0], ModelVerdict(ranking)
        [section] = judged_sections(model, verdict, Texts(), str)
        return "\n".join(plain_lines(replace(report, verdicts={model.model: verdict}))), " ".join(section.lines)

    screen, page = told(judged(trials("a", 1.0, noise(1)), trials("b", 2.0, noise(2))))
    assert "times are compared over what was sent while both were asked: a 400 of 400 and b 200 of 400" in screen
    assert "Times are compared over what was sent while both were asked: a " in page
    screen, page = told(judged(trials("a", 1.0, noise(1)), trials("b", 1.0, noise(2), begin_s=2.0)))
    assert "times are compared" not in screen
    assert "Times are compared over what was sent while both were asked: a " in page


def test_vendors_without_a_time_are_compared_over_no_window() -> None:
    """Imported runs hold no times of tokens: there is nothing to say about what was compared."""
    untimed = [trials("one", 1.0, noise(1)), trials("other", 1.0, noise(2), begin_s=1000.0)]
    for vendor in untimed:
        for metric in ("avg_ttft_ms", "tps"):
            del vendor.ratios[metric]
    assert judged(*untimed).overlaps == ()
    timed = [trials("one", 1.0, noise(1)), trials("other", 1.0, noise(2), begin_s=1000.0)]
    assert judged(*timed).overlaps == (Overlap("one", "other", 0, 400, 0, 400),)
