"""The benchmarks' arithmetic, and a short run of the command."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path

import bench
import clock
import pytest
from costs import PATIENCE_S
from measuring import Cost, Failed
from peers import Job, Peer

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


def test_peer_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason is below the table, without paths, and the others have their rows."""

    def nothing(_job: Job) -> list[str]:
        return []

    def prepare(peer: Peer) -> None:
        if peer.title == "bad":
            raise Failed("cannot be installed: no wheel in /tmp/x")

    peers = [Peer(title, "asks", "none", (), 100, nothing, lambda _job: None) for title in ("bad", "good")]
    monkeypatch.setattr(bench, "PEERS", peers)
    monkeypatch.setattr(bench, "prepare", prepare)
    monkeypatch.setattr(bench, "mock_server", lambda: contextlib.nullcontext(0))
    monkeypatch.setattr(bench, "product", lambda *_: Cost(1.0, 1.0, 50.0))
    monkeypatch.setattr(bench, "ask_peer", lambda *_: Cost(4.0, 1.0, 50.0))
    page = bench.peers_section(argparse.Namespace(peers=None, scale=1.0, in_flight=10, rounds=2))
    assert "| good | 100 | 40,000 (40,000–40,000) | 10,000 (10,000–10,000) | 4.00 |" in page
    assert page.endswith("Skipped:\n- bad: cannot be installed: no wheel in")


@pytest.mark.slow
def test_short_run() -> None:
    """The clock has a row for each size; without a C compiler it is skipped, which is said. CI measures costs."""
    words = "clock --rounds 1 --in-flight 2 --streams 2 --clients".split()
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "skipped" in done.stdout or "\n| **product** | 2 |" in done.stdout
