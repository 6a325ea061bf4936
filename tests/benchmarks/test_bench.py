"""The benchmarks' arithmetic, and a short run of the command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bench
import clock
import pytest
from costs import PATIENCE_S
from measuring import Cost

PROGRAM = Path(bench.__file__)


def test_ratio_compares_within_a_round() -> None:
    """A machine that is three times slower in one round changes no ratio."""
    ours, theirs = ([Cost(cpu_s, 1.0, 50.0) for cpu_s in many] for many in ((2.0, 6.0, 2.1), (1.0, 3.0, 1.0)))
    assert bench.ratio(ours, theirs) == pytest.approx(2.0)


def test_clock_errors() -> None:
    """TTFT is held against the time from the request's arrival to the first piece, gaps against the written ones."""
    on_time = clock.Times(200_000_000, [10_000_000] * 2, [200_000_000, 210_000_000, 220_000_000], 0)
    late = clock.Times(202_000_000, [9_000_000, 10_000_000], [200_000_000, 210_000_000, 220_000_000], 0)
    found = clock.errors([on_time, late])
    assert (found.ttft_mean, found.ttft_p50) == (1.0, 1.0)
    assert found.gap_p99 == pytest.approx(0.97)


@pytest.mark.slow
def test_short_run() -> None:
    """The clock has a row for each size; without a C compiler it is skipped, which is said. CI measures costs."""
    words = "clock --rounds 1 --in-flight 2 --streams 2 --clients".split()
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "skipped" in done.stdout or "\n| **product** | 2 |" in done.stdout
