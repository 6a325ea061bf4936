"""Runs commands and tells what they cost; writes the job that all of them do, and checks that the product did it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serving import CLIENT_CORE, MODEL, pinned

RAW = Path(__file__).with_name("raw_protocol.py")
PRODUCT = (sys.executable, "-P", "-m", "vendor_verifier.cli.main", "run", "--quiet", "--history", "none", "-o", "run")
LONGEST_S = 1200.0
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1},
            },
            "required": ["location"],
        },
    },
}


class Failed(Exception):
    """A command did not do its work, so that its figures are worth nothing."""


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU (user and system, of all processes) and wall seconds, and the largest resident set of one process.

    ``others`` is how many cores programs that do not belong to the measurement kept busy meanwhile.
    """

    cpu_s: float
    wall_s: float
    peak_mb: float
    others: float = 0.0


def measured(command: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None) -> Cost:
    """Run ``command`` in ``folder`` to its end on the client's core; what it prints goes into ``printed.txt``.

    Raises:
        Failed: it ended with an error, or was ended because it took too long.
    """
    printed = folder / "printed.txt"
    # Where bytecode is not kept, every start compiles hundreds of files anew, which no installed program does.
    known = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began, busy_s = time.perf_counter(), _busy_s()
    with printed.open("wb") as out:
        child = subprocess.Popen(
            [*pinned(CLIENT_CORE), *command], cwd=folder, stdout=out, stderr=out, env={**known, **(environ or {})}
        )
        watchdog = threading.Timer(LONGEST_S, child.kill)
        watchdog.start()
        _, status, used = os.wait4(child.pid, 0)
        watchdog.cancel()
    wall_s, cpu_s = time.perf_counter() - began, used.ru_utime + used.ru_stime
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise Failed(f"{command[0]} ended with {child.returncode}: {printed.read_text(errors='replace')[-800:]}")
    return Cost(cpu_s, wall_s, used.ru_maxrss / 1024, (_busy_s() - busy_s - cpu_s) / wall_s)


def _busy_s() -> float:
    """CPU seconds that the whole machine has spent on anything but waiting; 0 where the kernel does not tell."""
    stat = Path("/proc/stat")
    if not stat.is_file():
        return 0.0
    user, nice, system, _idle, _iowait, irq, soft, *_ = map(int, stat.read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def served(port: int) -> tuple[int, float]:
    """The requests that the mock server has answered, and the CPU seconds it has used."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats") as answer:
        stats = json.load(answer)
    return stats["requests"], stats["cpu_user"] + stats["cpu_sys"]


def counted(port: int, requests: int, run: Callable[[Path], Cost]) -> Cost:
    """Let ``run`` measure in a new folder with the job in it, and check that it asked ``requests`` times.

    Raises:
        Failed: it asked more or less often, or ended with an error.
    """
    with tempfile.TemporaryDirectory() as name:
        asked, server_s = served(port)
        cost = run(Path(name))
        now, server_now_s = served(port)
    if now - asked != requests:
        raise Failed(f"{requests} requests were to be sent, the server counted {now - asked}")
    others = max(0.0, cost.others - (server_now_s - server_s) / cost.wall_s)
    return Cost(cost.cpu_s, cost.wall_s, cost.peak_mb, others)


def write_job(folder: Path, port: int, requests: int) -> None:
    """Write the config, as many different samples with a tool as requests, and the same as whole bodies."""
    url = f"http://127.0.0.1:{port}/v1"
    vendor = {"name": "mock", "model_id": MODEL, "url": url, "validator": "openai"}
    (folder / "config.yaml").write_text(json.dumps({MODEL: {"vendors": [vendor]}}))
    rows = [
        {"messages": [{"role": "user", "content": f"What is the weather on day {number}?"}], "tools": [TOOL]}
        for number in range(requests)
    ]
    common = {"model": MODEL, "stream": True, "stream_options": {"include_usage": True}}
    _write_lines(folder / "samples.jsonl", rows)
    _write_lines(folder / "bodies.jsonl", ({**common, **row} for row in rows))


def _write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    with path.open("w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def product(port: int, requests: int, in_flight: int, *options: str) -> Cost:
    """The whole product, from its start to the scored run on disk.

    Raises:
        Failed: an answer failed, or its call is not valid.
    """

    def run(folder: Path) -> Cost:
        write_job(folder, port, requests)
        words = ("--test-file-path", "samples.jsonl", "--request-concurrency", str(in_flight), *options)
        cost = measured([*PRODUCT, *words], folder)
        (model,) = json.loads((folder / "run" / "scores.json").read_text())["models"].values()
        (vendor,) = model["vendors"].values()
        found = vendor["success_rate"], vendor["schema_accuracy"], vendor["measured"]["schema_accuracy"]
        if found != (1, 1, requests):
            raise Failed(f"{requests} requests were to succeed with a valid call each: {found}")
        return cost

    return counted(port, requests, run)


def raw_limit(port: int, requests: int, in_flight: int) -> Cost:
    """A bare protocol that sends, stamps and parses, with no product around it."""
    command = [sys.executable, str(RAW), str(port), str(requests), str(in_flight)]
    return counted(port, requests, lambda folder: measured(command, folder))
