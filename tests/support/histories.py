"""Simulated histories of runs for the tests of trends: nightly medians with run-to-run and request noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from changing import replace
from numpy.typing import NDArray

from vendor_verifier.records.history import HistoryEntry, HistoryRun

METRIC = "ttft_ms.p50"
# Standard error of the median of 200 log-normal requests with log-sd 0.35.
REQUEST_NOISE = 0.35 * math.sqrt(math.pi / 2) / math.sqrt(200)


def night(number: int, values: Mapping[str, float], *, metric: str = METRIC, question: str = "q") -> HistoryRun:
    """One run in which each label measured one figure."""
    entries = tuple(
        HistoryEntry("m", label, "vendor", "id", False, 200, 200, {metric: (value, 200)})
        for label, value in values.items()
    )
    at = f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T03:00:00Z"
    return HistoryRun(f"night-{number:03d}", at, f"runs/{number}", question, True, "0", entries)


def nights(levels: Mapping[str, Sequence[float]], *, metric: str = METRIC) -> list[HistoryRun]:
    """label → figure per run as a history, oldest first."""
    count = len(next(iter(levels.values())))
    return [night(i, {label: values[i] for label, values in levels.items()}, metric=metric) for i in range(count)]


def whole_nights(
    random: np.random.Generator, count: int, labels: Sequence[str], *, sd: float, alike: float = 0.0
) -> list[HistoryRun]:
    """Quiet nights with all seven watched figures of every label.

    Times and speed move by ``sd`` from run to run, ``alike`` is their correlation between neighbouring nights, beside
    what all share and what 200 requests leave open; shares and tokens move as 200 samples do.
    """
    times = quiet(random, count, labels, sd=sd, alike=alike)
    figures = {
        label: {
            METRIC: times[label],
            "tps": 80 * np.exp(drift(random, count, sd, alike) + random.normal(0, 0.02, count)),
            "avg_tokens": 250 * np.exp(random.normal(0, 0.01, count)),
            "output_tokens.mean": 120 * np.exp(random.normal(0, 0.03, count)),
            "success_rate": random.binomial(200, 0.99, count) / 200,
            "schema_accuracy": random.binomial(150, 0.97, count) / 150,
            "f1": random.normal(0.93, 0.012, count),
        }
        for label in labels
    }
    runs = [night(number, dict.fromkeys(labels, 1.0)) for number in range(count)]
    return [
        replace(
            run,
            entries=tuple(
                replace(
                    entry,
                    figures={name: (float(values[number]), 200) for name, values in figures[entry.label].items()},
                )
                for entry in run.entries
            ),
        )
        for number, run in enumerate(runs)
    ]


def quiet(
    random: np.random.Generator,
    count: int,
    labels: Sequence[str],
    *,
    sd: float,
    shared: float = 0.1,
    alike: float = 0.0,
) -> dict[str, NDArray[np.float64]]:
    """label → nightly median in ms: own run-to-run movement ``sd``, of which neighbouring nights have a correlation of
    ``alike``, and a shift of ``shared`` that all have in common."""
    common = random.normal(0, shared, count)
    return {
        label: 800 * np.exp(common + drift(random, count, sd, alike) + random.normal(0, REQUEST_NOISE, count))
        for label in labels
    }


def drift(random: np.random.Generator, count: int, sd: float, alike: float) -> NDArray[np.float64]:
    """Movement from night to night with that standard deviation and correlation, AR(1)."""
    steps = random.normal(0, sd, count)
    for number in range(1, count):
        steps[number] = alike * steps[number - 1] + math.sqrt(1 - alike**2) * steps[number]
    return steps
