"""What a run over a cluster costs: requests per second with 1 and 2 workers, CPU per row in each process, and from that
the size at which coordinator and gate are full, on paper up to 1,000 workers. It needs the ``dask`` extra.

Everything shares this machine's cores here, so requests per second say less than CPU per row.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from cost import write_job
from serving import NoCompiler, mock_server

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Run:
    """One run: rows per second while sending, and CPU seconds by process."""

    rows: int
    rows_per_s: float
    coordinator_s: float
    gate_s: float
    workers_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows per second of a run, and CPU µs that one more row takes by process: what a run takes anyway is not in it."""

    rows_per_s: float
    coordinator_us: float
    gate_us: float
    workers_us: float


def further(small: Run, large: Run) -> Figures:
    """What the rows that ``large`` has more than ``small`` took."""

    def us(before_s: float, after_s: float) -> float:
        return 1e6 * (after_s - before_s) / (large.rows - small.rows)

    return Figures(
        large.rows_per_s,
        us(small.coordinator_s, large.coordinator_s),
        us(small.gate_s, large.gate_s),
        us(small.workers_s, large.workers_s),
    )


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """User and system time of a running process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@contextlib.contextmanager
def cluster(workers: int, folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
    dask = [sys.executable, "-m", "dask"]
    common = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen([*dask, "scheduler", "--host", address, "--no-dashboard"], **common)]
    try:
        for number in range(workers):
            words = ["worker", address, "--name", str(number), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            running.append(subprocess.Popen([*dask, *words], **common))
        time.sleep(4)
        yield address, running[1:]
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


@contextlib.contextmanager
def slowed(processes: Sequence[subprocess.Popen[bytes]], share: float) -> Iterator[None]:
    """Let the processes run only for ``share`` of each 50 ms, all at other moments: stand-ins for small machines."""
    over = threading.Event()

    def pace(process: subprocess.Popen[bytes], offset_s: float) -> None:
        over.wait(offset_s)
        while not over.is_set():
            process.send_signal(signal.SIGCONT)
            over.wait(0.05 * share)
            process.send_signal(signal.SIGSTOP)
            over.wait(0.05 * (1 - share))
        process.send_signal(signal.SIGCONT)

    threads = [
        threading.Thread(target=pace, args=(process, 0.05 * number / len(processes)))
        for number, process in enumerate(processes)
    ]
    for thread in threads if share < 1 else ():
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads if share < 1 else ():
            thread.join()


def run(folder: Path, output: str, *words: str) -> list[dict[str, Any]]:
    """One run of the whole product; its records."""
    program = str(Path(sys.executable).with_name("agent-vendor-verifier"))
    subprocess.run(
        [program, "--test-file-path", "samples.jsonl", "-o", output, "--quiet", *words],
        cwd=folder, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return [json.loads(line) for line in (folder / output / "records.jsonl").read_bytes().splitlines()]


def timing(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["turns"][0]["attempts"][0]["timing"]
    return found


def floors(requests: int, concurrency: int, rounds: int) -> None:
    """Print the harness floor of TTFT, from here and from a worker, in turns."""
    here: list[float] = []
    there: list[float] = []
    with mock_server() as port, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder, port, requests)
        with cluster(1, folder) as (address, _):
            for number in range(rounds):
                pace = ("--request-concurrency", str(concurrency))
                for found, output, words in (
                    (here, f"here{number}", pace),
                    (there, f"there{number}", (*pace, "--executor", "dask", "--dask-scheduler", address)),
                ):
                    found.append(median(timing(one)["first_token_ns"] / 1e6 for one in run(folder, output, *words)))
    print(f"\nTTFT floor at {concurrency} in flight, median of {rounds} medians of {requests}: ", end="")
    print(f"local {median(here):.2f} ms, worker {median(there):.2f} ms")


def measure(port: int, workers: int, requests: int, concurrency: int, share: float) -> Run:
    """One run of ``requests`` samples over ``workers`` workers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder, port, requests)
        with cluster(workers, folder) as (address, processes):
            before = sum(map(cpu_s, processes))
            words = ("--executor", "dask", "--dask-scheduler", address)
            with slowed(processes, share):
                rows = run(folder, "run", *words, "--request-concurrency", str(concurrency))
            used_s = sum(map(cpu_s, processes)) - before
        executor = json.loads((folder / "run" / "manifest.json").read_text())["executors"][-1]
        sent = sorted(datetime.fromisoformat(timing(row)["sent_at"]) for row in rows)
        assert len(rows) == requests
        return Run(
            requests,
            requests / max((sent[-1] - sent[0]).total_seconds(), 1e-3),
            executor["coordinator_cpu_s"],
            executor["scheduler_cpu_s"],
            used_s,
        )


def table(requests: int, concurrency: int, rounds: int, workers: Sequence[int], share: float) -> Figures:
    """Print the medians; those of the most workers."""
    print(
        f"\n{requests} requests (costs: against {requests // 4}), {concurrency} in flight, "
        f"workers at {share:.0%} of a core, median of {rounds}"
    )
    print("| workers | requests/s | coordinator µs/row | gate µs/row | workers µs/row |\n|---|---|---|---|---|")
    middle = Figures(0, 0, 0, 0)
    with mock_server() as port:
        found: dict[int, list[Figures]] = {count: [] for count in workers}
        for _ in range(rounds):
            for count in workers:
                few = measure(port, count, requests // 4, concurrency, share)
                found[count].append(further(few, measure(port, count, requests, concurrency, share)))
        for count, runs in found.items():
            middle = Figures(
                median(run.rows_per_s for run in runs),
                median(run.coordinator_us for run in runs),
                median(run.gate_us for run in runs),
                median(run.workers_us for run in runs),
            )
            print(
                f"| {count} | {middle.rows_per_s:.0f} | {middle.coordinator_us:.0f} | {middle.gate_us:.0f} "
                f"| {middle.workers_us:.0f} |",
                flush=True,
            )
    return middle


def on_paper(figures: Figures, answer_s: float, in_flight_per_worker: int) -> None:
    """Print how busy coordinator and gate would be with more workers, each a core that is never waited for."""
    rate = min(1e6 / figures.workers_us, in_flight_per_worker / answer_s)
    print(
        f"\non paper: answers of {answer_s:g} s, {in_flight_per_worker} in flight a worker → {rate:.0f} requests/s each"
    )
    print("| workers | requests/s | coordinator, share of a core | gate, share of a core |\n|---|---|---|---|")
    for workers in (1, 2, 10, 30, 100, 300, 1000):
        total = workers * rate
        shares = (f"{total * cost / 1e6:.2f}" for cost in (figures.coordinator_us, figures.gate_us))
        print(f"| {workers} | {total:.0f} | {' | '.join(shares)} |")
    print(f"coordinator full at {1e6 / figures.coordinator_us:.0f} requests/s, gate at {1e6 / figures.gate_us:.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=6000)
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    try:
        figures = table(options.requests, options.concurrency, options.rounds, options.workers, 1.0)
        # As on machines of their own: the workers alone are what is waited for. A stopped one holds its places, so that
        # there must be many.
        table(options.requests // 2, 4 * options.concurrency, options.rounds, options.workers, 0.2)
        floors(options.requests // 4, 4, options.rounds)
    except NoCompiler as reason:
        print(f"skipped: {reason}")
        return 0
    on_paper(figures, 10.0, 50)
    on_paper(figures, 2.0, 200)
    return 0


if __name__ == "__main__":
    sys.exit(main())
