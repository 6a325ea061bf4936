"""The benchmark of arrivals runs as it stands, from one process and from two."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import arrivals
import numpy as np
import pytest
from costs import PATIENCE_S

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "arrivals.py"


@pytest.mark.slow
def test_a_short_run_has_a_row_for_every_number_of_processes() -> None:
    """Every request of the schedule arrived and has a moment; without a C compiler it says so."""
    words = ("--rate", "30", "--seconds", "1", "--seeds", "1", "--workers", "1", "2")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words], cwd=PROGRAM.parent, capture_output=True, text=True, timeout=PATIENCE_S,
        check=True,
    )  # fmt: skip
    rows = re.findall(r"^\| 1 \| (\d) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|", done.stdout, re.MULTILINE)
    assert "skipped" in done.stdout or [row[0] for row in rows] == ["1", "2"], done.stdout + done.stderr
    assert len({row[1:3] for row in rows}) < 2


def test_lateness_is_against_the_least_late_and_even_gaps_are_no_poisson_process() -> None:
    """Both figures of a row."""
    seen = arrivals.Arrivals(np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.002, 7.001]), 0.1)
    assert seen.late_ms() == pytest.approx(np.array([0, 2, 1]), abs=1e-6)
    gaps = np.random.default_rng(3).exponential(1 / 50, 500)
    assert arrivals.p_of(np.cumsum(gaps), 50) > 0.01 > arrivals.p_of(np.arange(500) / 50, 50)
