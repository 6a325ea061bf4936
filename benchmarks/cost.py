"""What one request costs: CPU of the whole command, from start to scored run on disk, beside the raw protocol limit.

Client and server are pinned to a core each; runs of both kinds alternate and each run is held against its neighbour,
because other work on the machine moves single figures. The ratio is the median over the rounds. ``cost.py --help``
tells the options.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from serving import CLIENT_CORE, MODEL, NoCompiler, mock_server, pinned

RAW = Path(__file__).with_name("raw_protocol.py")
_LONGEST_S = 300.0
_TOOL = {
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


@dataclass(frozen=True, slots=True)
class Cost:
    """One command: CPU (user + system) and wall seconds, largest resident set."""

    cpu_s: float
    wall_s: float
    peak_mb: float


def measured(
    command: Sequence[str], folder: Path, core: int | None = CLIENT_CORE, longest_s: float = _LONGEST_S
) -> Cost:
    """Run ``command`` to its end on the client's core, or on all with None.

    Raises:
        RuntimeError: it failed; what it said is in the message.
    """
    said = folder / "stderr.txt"
    # Where bytecode is not kept, every start compiles hundreds of files anew, which no installed program does.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words = [*(() if core is None else pinned(core)), *command]
    began = time.perf_counter()
    with said.open("wb") as errors:
        child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors, env=environment)
        watchdog = threading.Timer(longest_s, child.kill)
        watchdog.start()
        _, status, used = os.wait4(child.pid, 0)
        watchdog.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{command[0]} ended with {child.returncode}: {said.read_text()[-1000:]}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024)


def product(port: int, requests: int, concurrency: int, extra: Sequence[str] = ()) -> Cost:
    """The whole product: ``requests`` different samples with a tool, asked once each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder, port, requests)
        program = str(Path(sys.executable).with_name("agent-vendor-verifier"))
        command = [program, "--test-file-path", "samples.jsonl", "-o", "run", "--quiet"]
        cost = measured([*command, "--request-concurrency", str(concurrency), *extra], folder)
        check(folder / "run", requests)
        return cost


def raw(port: int, requests: int, concurrency: int) -> Cost:
    """The raw protocol with nothing around it."""
    with tempfile.TemporaryDirectory() as name:
        return measured([sys.executable, str(RAW), str(port), str(requests), str(concurrency)], Path(name))


def write_job(folder: Path, port: int, requests: int) -> None:
    """A config with the one mock vendor and as many different samples with a tool as there are to be requests."""
    config = {
        MODEL: {
            "vendors": [
                {"name": "mock", "model_id": MODEL, "url": f"http://127.0.0.1:{port}/v1", "validator": "openai"}
            ]
        }
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    with (folder / "samples.jsonl").open("w") as out:
        for number in range(requests):
            question = {"role": "user", "content": f"What is the weather in San Francisco on day {number}?"}
            out.write(json.dumps({"messages": [question], "tools": [_TOOL]}) + "\n")


def check(run: Path, requests: int) -> None:
    """A benchmark of a run that failed would be worth nothing."""
    scores = json.loads((run / "scores.json").read_text())
    vendor = next(iter(next(iter(scores["models"].values()))["vendors"].values()))
    found = vendor["success_rate"], vendor["schema_accuracy"], vendor["measured"]["schema_accuracy"]
    if found != (1, 1, requests):
        raise RuntimeError(f"{requests} requests were to succeed with a valid call each: {found}")


def compare(sizes: Sequence[int], concurrency: int, rounds: int, extra: Sequence[str]) -> float:
    """Print a table of medians; the largest ratio of the product's cost to the limit."""
    worst = 0.0
    with mock_server() as port:
        product(port, 10, 1, extra)
        print("requests  product µs/request  raw µs/request  ratio  wall s  peak MB")
        for size in sizes:
            ours, limit = [], []
            for _ in range(rounds):
                ours.append(product(port, size, concurrency, extra))
                limit.append(raw(port, size, concurrency))
            cost, least = (1e6 * median(one.cpu_s for one in runs) / size for runs in (ours, limit))
            ratio = median(one.cpu_s / other.cpu_s for one, other in zip(ours, limit, strict=True))
            worst = max(worst, ratio)
            wall, peak = median(one.wall_s for one in ours), max(one.peak_mb for one in ours)
            print(f"{size:8}  {cost:18.0f}  {least:14.0f}  {ratio:5.2f}  {wall:6.2f}  {peak:7.0f}", flush=True)
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, nargs="+", default=[1000, 2000, 5000, 20000])
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-most", type=float, help="fail when the product costs more than this many raw limits")
    options, extra = parser.parse_known_args()
    try:
        worst = compare(options.requests, options.concurrency, options.rounds, extra)
        if options.at_most is not None and worst > options.at_most:
            print("once more, in case something else was at work:")
            worst = min(worst, compare(options.requests, options.concurrency, options.rounds, extra))
    except NoCompiler as reason:
        print(f"skipped: {reason}")
        return 0
    if options.at_most is not None and worst > options.at_most:
        print(f"too dear: {worst:.2f} times the raw protocol, allowed are {options.at_most:g}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
