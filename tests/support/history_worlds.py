"""Simulated histories of runs for tests: frames as ``read_history`` gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vendor_verifier.features.history.database import history_frame

METRIC = "ttft_ms.p50"
# Standard error of the median of 200 log-normal requests with log-sd 0.35.
REQUEST_NOISE = 0.35 * math.sqrt(math.pi / 2) / math.sqrt(200)
Series = Mapping[str, Sequence[float] | NDArray[np.float64]]


def history(vendors: Mapping[str, Series], **columns: Any) -> pd.DataFrame:
    """Label → figure → value per run as a history of one question, oldest first."""
    count = len(next(iter(next(iter(vendors.values())).values())))
    documents = []
    for number in range(count):
        entries = [
            {
                "model": "m",
                "label": label,
                "vendor": label,
                "is_baseline": label == "official",
                "facets": {"speed": "matches"},
                **{name: float(values[number]) for name, values in figures.items()},
            }
            for label, figures in vendors.items()
        ]
        at = f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T03:00:00Z"
        run = {"run": f"n{number:03d}", "at": at, "question": "q", "folder": "", "complete": True, "version": "0"}
        documents.append({**run, **columns, "vendors": entries})
    return history_frame(documents)


def quiet(
    random: np.random.Generator,
    count: int,
    labels: Sequence[str],
    *,
    sd: float,
    shared: float = 0.1,
    alike: float = 0.0,
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """label → nightly median TTFT in ms, of own movement ``sd`` and one of ``shared`` that all have in common."""
    common = random.normal(0, shared, count)
    return {
        label: {METRIC: 800 * np.exp(common + drift(random, count, sd, alike) + random.normal(0, REQUEST_NOISE, count))}
        for label in labels
    }


def whole(
    random: np.random.Generator, count: int, labels: Sequence[str], *, sd: float, alike: float = 0.0
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """All seven watched figures of quiet nights; shares and tokens move as 200 samples do."""
    times = quiet(random, count, labels, sd=sd, alike=alike)
    return {
        label: {
            **times[label],
            "tps": 80 * np.exp(drift(random, count, sd, alike) + random.normal(0, 0.02, count)),
            "avg_tokens": 250 * np.exp(random.normal(0, 0.01, count)),
            "output_tokens.mean": 120 * np.exp(random.normal(0, 0.03, count)),
            "success_rate": random.binomial(200, 0.99, count) / 200,
            "schema_accuracy": random.binomial(150, 0.97, count) / 150,
            "f1": random.normal(0.93, 0.012, count),
        }
        for label in labels
    }


def drift(random: np.random.Generator, count: int, sd: float, alike: float) -> NDArray[np.float64]:
    """Movement from night to night with that standard deviation and correlation, AR(1)."""
    steps = random.normal(0, sd, count)
    for number in range(1, count):
        steps[number] = alike * steps[number - 1] + math.sqrt(1 - alike**2) * steps[number]
    return steps
