"""Figures of vendors → their standing within each model and over all; it does not know how a figure came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vendor_verifier.compare.ranking import irf, ranks
from vendor_verifier.values.score import ModelScore, VendorScore


def standings(
    scores: Mapping[str, Sequence[VendorScore]], baselines: Mapping[str, str], rank_metrics: Sequence[str], k: int
) -> tuple[ModelScore, ...]:
    """Model → its vendors, as models in the same order whose vendors have ranks and IRF and stand best IRF first.

    ``baselines``: model → label. A vendor without any of ``rank_metrics`` has no IRF and stands last.
    """
    figures = {
        (model, score.label): {name: score.metrics.get(name) for name in rank_metrics}
        for model, vendors in scores.items()
        for score in vendors
    }
    overall = irf(figures, k)
    return tuple(
        ModelScore(model, baselines.get(model), _ranked(model, vendors, figures, overall, k))
        for model, vendors in scores.items()
    )


def _ranked(
    model: str,
    vendors: Sequence[VendorScore],
    figures: Mapping[tuple[str, str], Mapping[str, float | None]],
    overall: Mapping[tuple[str, str], float],
    k: int,
) -> tuple[VendorScore, ...]:
    rivals = {score.label: figures[model, score.label] for score in vendors}
    rank_of, irf_of = ranks(rivals), irf(rivals, k)
    ranked = [
        replace(
            score,
            irf=irf_of[score.label] if rank_of[score.label] else None,
            irf_metrics=len(rank_of[score.label]),
            irf_global=overall[model, score.label] if rank_of[score.label] else None,
            ranks=rank_of[score.label],
        )
        for score in vendors
    ]
    return tuple(sorted(ranked, key=lambda score: -1.0 if score.irf is None else score.irf, reverse=True))
