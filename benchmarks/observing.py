"""One measurement with its circumstances: how much the machine did for others meanwhile, and that the work was done."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cost import Cost
from peers.peer import demand


@dataclass(frozen=True, slots=True)
class Observation:
    """A cost for so many requests; ``elsewhere_cores`` is what other programs used meanwhile, None where unknown."""

    requests: int
    cost: Cost
    elsewhere_cores: float | None

    @property
    def us_per_request(self) -> float:
        return 1e6 * self.cost.cpu_s / self.requests


def observed(port: int, requests: int, posts: int, run: Callable[[], Cost]) -> Observation:
    """Measure ``run`` and let the server's own count prove that it asked ``posts`` times for each request.

    Raises:
        NotDone: it asked more or less often.
    """
    before, server_before, began = _busy_s(), _server(port), time.perf_counter()
    cost = run()
    wall_s, busy_s, server = time.perf_counter() - began, _busy_s(), _server(port)
    demand(server["requests"] - server_before["requests"], requests * posts, "requests counted by the server")
    if before is None or busy_s is None:
        return Observation(requests, cost, None)
    served_s = sum(server[name] - server_before[name] for name in ("cpu_user", "cpu_sys"))
    return Observation(requests, cost, max(0.0, (busy_s - before - cost.cpu_s - served_s) / wall_s))


def _server(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
        stats: dict[str, float] = json.load(answer)
    return stats


def _busy_s() -> float | None:
    """CPU seconds the whole machine has spent on anything but waiting; None where the kernel does not tell."""
    stat = Path("/proc/stat")
    if not stat.is_file():
        return None
    user, nice, system, _idle, _iowait, irq, soft, *_ = map(int, stat.read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
