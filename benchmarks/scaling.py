"""The product alone: cost of one more request, cost by requests in flight, start-up, memory; peers are elsewhere."""

from __future__ import annotations

import functools
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import cost
import summary
from observing import Observation, observed

Say = Callable[[str], None]
Seen = dict[int, list[Observation]]
ByLevel = dict[int, tuple[list[Observation], list[Observation]]]
PAIRS = ((1_000, 2_000), (5_000, 10_000), (20_000, 40_000))
LONG_PAIR = (100_000, 200_000)
IN_FLIGHT = (32, 100, 256, 1_000)


def sizes(port: int, wanted: Sequence[int], concurrency: int, rounds: int, say: Say) -> Seen:
    """Observations by number of requests, the sizes taking turns."""
    seen: Seen = {size: [] for size in wanted}
    for turn in range(rounds):
        for size in wanted:
            seen[size].append(observed(port, size, 1, functools.partial(cost.product, port, size, concurrency)))
            say(f"round {turn + 1}/{rounds}  {size} requests: {seen[size][-1].us_per_request:,.0f} µs")
    return seen


def marginal_page(seen: Seen, pairs: Sequence[tuple[int, int]]) -> str:
    """Cost of one more request between n and 2n, and the peak of the whole command at 2n."""
    costs = [summary.marginal_us(seen[small], seen[large]) for small, large in pairs]
    rows = [
        (f"{small:,} → {large:,}", f"{each:,.0f}", summary.per_request(seen[large]), summary.peak_mb(seen[large]))
        for (small, large), each in zip(pairs, costs, strict=True)
    ]
    head = ["requests", "µs for one more", "µs/request at the larger", "peak MB at the larger"]
    return f"{summary.table(head, rows)}\n\n{summary.flatness(costs)}"


def in_flight(port: int, requests: int, rounds: int, say: Say) -> ByLevel:
    """Product and raw limit by requests in flight, taking turns."""
    seen: ByLevel = {level: ([], []) for level in IN_FLIGHT}
    for turn in range(rounds):
        for level, (ours, limit) in seen.items():
            for kept, measure in ((ours, cost.product), (limit, cost.raw)):
                kept.append(observed(port, requests, 1, functools.partial(measure, port, requests, level)))
            say(f"round {turn + 1}/{rounds}  {level} in flight: {ours[-1].us_per_request:,.0f} µs")
    return seen


def in_flight_page(seen: ByLevel) -> str:
    rows = [
        (f"{level:,}", summary.per_request(ours), summary.per_request(limit), f"{summary.ratio(ours, limit):.2f}",
         summary.peak_mb(ours), f"{150 + 25 * level / 1000:,.0f}")
        for level, (ours, limit) in seen.items()
    ]  # fmt: skip
    costs = [median(one.us_per_request for one in ours) for ours, _ in seen.values()]
    head = ["in flight", "product µs/request", "raw limit µs/request", "ratio", "peak MB", "wanted while sending: MB"]
    return f"{summary.table(head, rows)}\n\n{summary.flatness(costs)}"


def start_up_page(port: int, rounds: int) -> str:
    """CPU and wall of a run of one sample, and wall of ``--help``."""
    runs = [cost.product(port, 1, 1) for _ in range(rounds)]
    program = str(Path(sys.executable).with_name("agent-vendor-verifier"))
    helps = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run([program, "--help"], check=True, capture_output=True)
        helps.append(time.perf_counter() - began)
    rows = [
        ("run of one sample", f"{median(one.cpu_s for one in runs):.2f}", f"{median(one.wall_s for one in runs):.2f}"),
        ("`--help`", "–", f"{median(helps):.2f}"),
    ]
    return summary.table(["command", "CPU s", "wall s"], rows) + "\n\nWanted: under 0.5 s."
