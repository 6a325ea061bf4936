"""Judges the order of one model's vendors by combining the parts of the statistics."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import structs

from vendor_verifier.metrics import is_higher_better
from vendor_verifier.records.judgement import Blocks, RankingJudgement
from vendor_verifier.records.manifest import BaselineF1, Undecided
from vendor_verifier.scoring.irf import RANK_METRICS, K
from vendor_verifier.stats.bootstrap import RESAMPLES, Resampled, bootstrap, choose_blocks
from vendor_verifier.stats.intervals import estimates_of
from vendor_verifier.stats.overlap import overlaps_of
from vendor_verifier.stats.panel import Panel, build_panel
from vendor_verifier.stats.rank_uncertainty import (
    Cut,
    Simultaneous,
    differing_pairs,
    irf_intervals,
    rank_intervals,
    simultaneous_differences,
    tie_groups,
)
from vendor_verifier.stats.ratio_table import Trials

if TYPE_CHECKING:
    import numpy as np


def judge_ranking(
    trials: Sequence[Trials],
    samples: Sequence[str],
    rng: np.random.Generator,
    *,
    baseline: str | None = None,
    metrics: Sequence[str] = RANK_METRICS,
    unranked: Container[str] = (),
    baseline_f1: BaselineF1 = "fixed",
    undecided: Undecided = "missed",
    k: int = K,
    resamples: int = RESAMPLES,
    blocks: tuple[Blocks, Sequence[int]] | None = None,
) -> RankingJudgement:
    """Judge the order of the vendors of one model.

    ``samples`` stand in sending order. Differences, rank intervals and tie groups always compare the baseline's
    self-F1, and times over what was sent while both vendors were being asked; ``baseline_f1`` concerns IRF
    only, so that IRF is as published. Vendors without any measured figure are not judged. ``unranked`` metrics are
    compared pair by pair, and none is ranked by them.

    Raises:
        ValueError: no samples, or labels or samples that are not unique.
    """
    build = partial(build_panel, trials, samples, baseline=baseline, metrics=metrics, undecided=undecided)
    panel = build()
    chosen = choose_blocks(panel) if blocks is None else blocks
    # The same draws for the cut panel, so that a sample counts as often there as in the whole one.
    same_draws = deepcopy(rng)
    resampled = bootstrap(panel, rng, resamples=resamples, blocks=chosen)
    ranked, irf_resampled = panel, resampled
    if baseline is not None and baseline_f1 == "fixed" and "f1" in metrics:
        ranked = build(baseline_f1="fixed")
        irf_resampled = _with_fixed_f1(resampled, ranked, baseline)
    overlaps = overlaps_of(trials, panel)
    cut = None if overlaps.panel is None else bootstrap(overlaps.panel, same_draws, resamples=resamples, blocks=chosen)
    common = Cut(overlaps, cut, chosen[1])
    differences = simultaneous_differences(resampled, cut=common)
    measured = _measured(panel)
    rows, gaps = irf_intervals(irf_resampled, len(samples), k, common, unranked)
    return RankingJudgement(
        labels=panel.labels,
        metrics=panel.metrics,
        resamples=resamples,
        blocks=resampled.blocks,
        estimates=estimates_of(panel, resampled),
        per_metric=rank_intervals(differences.per_metric, measured),
        joint=rank_intervals(differences.joint, measured),
        differences=differences.joint,
        tie_groups=_tie_groups(panel, measured, differences),
        irf=rows,
        irf_gaps=gaps,
        not_distinguishable=_not_distinguishable(panel, differences),
        overlaps=overlaps.reduced,
    )


def _with_fixed_f1(resampled: Resampled, ranked: Panel, baseline: str) -> Resampled:
    """The same resamples with the baseline's F1 as published: 1.0 whatever was drawn, if it decided anything."""
    value = ranked.value(baseline, "f1")
    row, column = ranked.labels.index(baseline), ranked.metrics.index("f1")
    point, draws = resampled.point.copy(), resampled.draws.copy()
    point[row, column] = draws[:, row, column] = float("nan") if value is None else value
    return structs.replace(resampled, panel=ranked, point=point, draws=draws)


def _measured(panel: Panel) -> dict[str, list[str]]:
    return {metric: [label for label in panel.labels if (label, metric) in panel.cells] for metric in panel.metrics}


def _tie_groups(
    panel: Panel,
    measured: Mapping[str, Sequence[str]],
    differences: Simultaneous,
) -> dict[str, tuple[tuple[str, ...], ...]]:
    groups = {}
    for metric, labels in measured.items():
        best_first = sorted(
            labels, key=lambda label: panel.value(label, metric) or 0.0, reverse=is_higher_better(metric)
        )
        groups[metric] = tie_groups(best_first, differing_pairs(differences.per_metric, metric))
    return groups


def _not_distinguishable(panel: Panel, differences: Simultaneous) -> frozenset[tuple[str, str]]:
    """Pairs measured on a common metric that differ on no metric, in the order of labels."""
    differing = differing_pairs(differences.joint)
    return frozenset(
        (one, other)
        for one, other in combinations(panel.labels, 2)
        if frozenset((one, other)) not in differing
        and any((one, metric) in panel.cells and (other, metric) in panel.cells for metric in panel.metrics)
    )
