"""Simulated histories of runs for the tests of trends: nightly medians with run-to-run and request noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from vendor_verifier.values.trend import HistoryEntry, HistoryRun

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


def quiet(random: np.random.Generator, count: int, labels: Sequence[str], *, sd: float, shared: float = 0.1):
    """label → nightly median in ms: own run-to-run noise ``sd``, and a shift of ``shared`` that all have in common."""
    common = random.normal(0, shared, count)
    spread = math.hypot(sd, REQUEST_NOISE)
    return {label: 800 * np.exp(common + random.normal(0, spread, count)) for label in labels}
