"""Simulated vendors as trials and panels: what they really are is chosen here, so a verdict can be right or wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vendor_verifier.records.score import Decision
from vendor_verifier.stats.panel import Component, Panel
from vendor_verifier.stats.ratio_table import Trials

METRICS = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps")


def sample_ids(n: int) -> list[str]:
    return [f"s{number}" for number in range(n)]


def propensities(rng: np.random.Generator, n: int, undecided: float = 0.1) -> NDArray[np.float64]:
    """The chance that each sample triggers a call: half clear yes, half clear no, a share in between."""
    clear = np.where(rng.random(n) < 0.5, 0.995, 0.005)
    return np.where(rng.random(n) < undecided, rng.random(n), clear)


def decide(rng: np.random.Generator, chances: NDArray[np.float64]) -> dict[str, Decision]:
    """One run of one model."""
    called = rng.random(chances.size) < chances
    return {f"s{number}": "called" if each else "not_called" for number, each in enumerate(called)}


def callers(rng: np.random.Generator, n: int, runs: Sequence[int], undecided: float = 0.1) -> list[Trials]:
    """Entries v0, v1 … of one and the same model, with so many runs each."""
    chances = propensities(rng, n, undecided)
    return [Trials(f"v{i}", tuple(decide(rng, chances) for _ in range(each))) for i, each in enumerate(runs)]


def equal_vendors(rng: np.random.Generator, vendors: int, n: int, burst: int = 1) -> Panel:
    """Vendors of equal quality; ``burst``: each vendor's latency and speed are shared by so many samples in a row."""
    cells: dict[tuple[str, str], tuple[Component, ...]] = {}
    ones = np.ones(n)
    call = rng.random(n) < 0.5
    size = np.exp(rng.normal(7, 0.4, n))
    for vendor in range(vendors):
        agrees = rng.random(n) < 0.95
        slow = np.repeat(rng.normal(0, 0.3, n // burst + 1), burst)[:n] if burst > 1 else np.zeros(n)
        tokens = rng.poisson(150, n) + 1.0
        columns = {
            "f1": (2.0 * (call & agrees), 2.0 * (call & agrees) + ~agrees),
            "success_rate": ((rng.random(n) < 0.99) * 1.0, ones),
            "schema_accuracy": ((call & (rng.random(n) < 0.97)) * 1.0, call * 1.0),
            "avg_tokens": (size + tokens, ones),
            "avg_ttft_ms": (np.exp(rng.normal(6, 0.35, n) + slow), ones),
            "tps": (tokens, tokens / 80 * np.exp(rng.normal(0, 0.2, n) + slow)),
        }
        for metric, (numerators, denominators) in columns.items():
            cells[f"v{vendor}", metric] = (Component(numerators, denominators),)
    return Panel(tuple(sample_ids(n)), tuple(f"v{vendor}" for vendor in range(vendors)), METRICS, cells)
