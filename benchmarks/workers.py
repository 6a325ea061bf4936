"""What ``--workers`` brings: requests per second with one worker and with several, and CPU per request by process.

The server needs a core of its own and the parent nearly one, so throughput means something from four cores on; with
fewer this says so, and the CPU per request is what can be read off. Runs of both kinds alternate; medians are printed.

With ``--asleep`` the server waits half a second before each short answer, and every worker has as many requests and as
much concurrency of its own. Then no core is full, and what is measured is the cost of sharing one set of limits.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import cost
from serving import SERVER_CORE, NoCompiler, mock_server

ENOUGH_CORES = 4
_ASLEEP = ("--ttft-ms", "500", "--itl-ms", "0", "--chunks", "8", "--tool-chunks", "2")


@dataclass(frozen=True, slots=True)
class Figures:
    """One run: requests per second while sending, CPU µs per request of the whole command and of its parts."""

    per_s: float
    whole_us: float
    parent_us: float
    engine_us: float


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def client_cores() -> str:
    """All cores but the server's where there are enough, else all."""
    usable = [core for core in cores() if core != SERVER_CORE] if len(cores()) >= ENOUGH_CORES else cores()
    return ",".join(map(str, usable))


def measure(port: int, workers: int, requests: int, concurrency: int) -> Figures:
    """One run of the whole product over ``workers`` processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost.write_job(folder, port, requests)
        program = str(Path(sys.executable).with_name("agent-vendor-verifier"))
        command = ["taskset", "-c", client_cores(), program, "--test-file-path", "samples.jsonl", "-o", "run"]
        command += ["--request-concurrency", str(concurrency), "--workers", str(workers)]
        command += ["--quiet", "--no-history"]
        used = cost.measured(command, folder)
        cost.check(folder / "run", requests)
        manifest = json.loads((folder / "run" / "manifest.json").read_text())
        executor = manifest["executors"][-1]
        rows = [json.loads(line) for line in (folder / "run" / "records.jsonl").read_bytes().splitlines()]
        if workers > 1:
            engine_s = sum(worker["cpu_s"] for worker in executor["workers"])
        else:
            loop = manifest["event_loop"]
            engine_s = (loop["core_share"] or 0.0) * loop["watched_s"]
        return Figures(
            requests / span_s(rows),
            1e6 * used.cpu_s / requests,
            1e6 * executor.get("coordinator_cpu_s", 0.0) / requests,
            1e6 * engine_s / requests,
        )


def span_s(rows: Sequence[dict[str, Any]]) -> float:
    """From the first request sent to the last; the answers come at once."""
    sent = sorted(datetime.fromisoformat(row["turns"][0]["attempts"][0]["timing"]["sent_at"]) for row in rows)
    return max((sent[-1] - sent[0]).total_seconds(), 1e-3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("--concurrency", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--asleep", action="store_true")
    options = parser.parse_args()
    found: dict[int, list[Figures]] = {count: [] for count in options.workers}
    try:
        with mock_server(*(_ASLEEP if options.asleep else ())) as port:
            for _ in range(options.rounds):
                for count in options.workers:
                    times = count if options.asleep else 1
                    found[count].append(measure(port, count, times * options.requests, times * options.concurrency))
    except NoCompiler as reason:
        print(f"skipped: {reason}")
        return 0
    each = ", for every worker" if options.asleep else ""
    print(f"{options.requests} requests, {options.concurrency} in flight{each}, median of {options.rounds}")
    print("| workers | requests/s | CPU µs/request, all | parent, sending | engine, sending |\n|---|---|---|---|---|")
    for count, runs in found.items():
        middle = {name: median(getattr(run, name) for run in runs) for name in Figures.__dataclass_fields__}
        parent = f"{middle['parent_us']:.0f}" if count > 1 else "–"
        print(f"| {count} | {middle['per_s']:.0f} | {middle['whole_us']:.0f} | {parent} | {middle['engine_us']:.0f} |")
    compare(found[min(found)], found[max(found)], max(found) / min(found))
    if not options.asleep:
        warn_of_few_cores()
    return 0


def compare(few: Sequence[Figures], many: Sequence[Figures], times: float) -> None:
    """Print what more workers bring here, and what they would if each had a core of its own."""
    gain = median(run.per_s for run in many) / median(run.per_s for run in few)
    engines = median(run.engine_us for run in few), median(run.engine_us for run in many)
    parent_us = median(run.parent_us for run in many)
    print(f"{times:g} times the workers sent {gain:.2f} times as fast here")
    print(
        f"by CPU, each on a core of its own: {times * engines[0] / engines[1]:.2f} times; "
        f"the parent is full at {1e6 / parent_us:.0f} requests/s, which is {engines[1] / parent_us:.1f} workers"
    )


def warn_of_few_cores() -> None:
    """Say that throughput means nothing where server, parent and workers share cores."""
    if len(cores()) < ENOUGH_CORES:
        print(
            f"this machine has {len(cores())} cores; server, parent and workers share them, so only the figures by CPU "
            f"mean something (from {ENOUGH_CORES} cores on the server gets its own, and two workers are to bring 1.7)"
        )


if __name__ == "__main__":
    sys.exit(main())
