"""A run that is stopped and continued (Ctrl-Z, fg) charges nobody for the time in which it did not listen."""

from __future__ import annotations

import os
import signal
import time

import pytest
from costs import await_that
from killing import final_records, prepare
from workbench import Bench, simulated

from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.store import RunFolder

STOPPED_S = 5.0
LIMITS = ("--timeout", "4", "--set", "run.first_token_timeout=3", "--set", "run.idle_timeout=3")


@pytest.mark.lateness
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop a process")
def test_rows_of_a_stopped_process_are_in_no_time(bench: Bench) -> None:
    """SIGSTOP for longer than the limits, then SIGCONT: no request fails by it, no figure holds the rows under way,
    and the report says so."""
    with simulated() as base:
        prepare(bench, base, 150)
        output = bench.folder / "run"
        with bench.start(*LIMITS) as process:
            await_that(lambda: process.poll() is not None or bench.kept() >= 40)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(process.pid, signal.SIGCONT)
            assert process.wait(timeout=120) == 0
    finals = [record.final for record in final_records(output).values() if record.final is not None]
    assert any(each.timing and (each.timing.our_lateness_ns or 0) > 0.9 * STOPPED_S * 1e9 for each in finals)
    assert not any(each.failure and each.failure.kind.startswith("timeout") for each in finals)
    scored = score_folder(RunFolder(output))
    # A time of more than twice our lateness has another cause as well, such as a busy machine.
    was_late = scored.records["late_ms"] > 0.9 * STOPPED_S * 1e3
    for name in ("ttft_ms", "e2e_ms"):
        assert not (was_late & (scored.records[name] < 1.8 * STOPPED_S * 1e3)).any()
    assert scored.records["discarded"].notna().any()
    assert any("This process stopped" in warning for warning in scored.report.warnings)
