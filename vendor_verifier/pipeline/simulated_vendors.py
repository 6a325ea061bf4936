"""Starts the simulated vendors of a run and hands them the answers that they know.

They serve in a process of their own, so that serving does not disturb what is being timed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from msgspec import structs

from vendor_verifier.errors import VerifierError
from vendor_verifier.lazy_import import registered
from vendor_verifier.records.plan import SIMULATED, Entry, Plan

READY_PREFIX = "simulated vendors at "
_PATIENCE_S = 10.0


@contextmanager
def with_simulated_vendors(plan: Plan) -> Iterator[Plan]:
    """The plan with every ``sim://persona`` address replaced by a real loopback one; none started if none is needed."""
    if not any(entry.is_simulated for entry in plan.entries):
        yield plan
        return
    with _started(plan.entries, plan.seed, json.dumps(registered("known answers")(plan.tasks))) as base:
        yield structs.replace(plan, entries=tuple(_resolved(entry, base) for entry in plan.entries))


@contextmanager
def _started(_entries: Sequence[Entry], seed: int, known: str) -> Iterator[str]:
    """The address of vendors in a process of their own, which ends with the block.

    They get the answers over a pipe, so that no user's rows are left in a file.
    """
    # Not in the terminal's group, since answers under way must still come in after Ctrl-C; it ends with its input.
    with subprocess.Popen(  # noqa: S603
        _command(seed), stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError):  # it has ended already, which its output says
                process.stdin.write(known + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
            if not line.startswith(READY_PREFIX):
                raise VerifierError(f"the simulated vendors did not start: {line.strip() or 'no answer'}")
            yield line.removeprefix(READY_PREFIX).strip()
        finally:
            process.terminate()
            try:
                process.wait(timeout=_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _command(seed: int) -> list[str]:
    """The same interpreter and our own command; -P keeps modules of the current folder out."""
    return [sys.executable, "-P", "-m", registered("serving a run"), str(seed)]


def _resolved(entry: Entry, base: str) -> Entry:
    if not entry.is_simulated:
        return entry
    persona = entry.endpoint.base_url.removeprefix(SIMULATED).strip("/")
    return structs.replace(entry, endpoint=replace(entry.endpoint, base_url=f"{base}/{persona}/v1"))
