"""Does the clock tell the truth? Times as the product records them, held against stamps of the server that sent them.

The mock server waits 200 ms, then sends a piece every 10 ms, and writes into every piece when it did. What is compared
is what a whole run leaves in records.jsonl. Client and server are pinned to a core each; several processes have all.
The first answer of every stream is left out: it waits for all connections to be opened at once. Prints a page.

    TTFT error = TTFT as measured − (first piece written − request received)
    gap error  = |gap as measured − gap as written|, of every single gap
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec
import numpy as np
from cost import measured, write_job
from serving import CLIENT_CORE, NoCompiler, mock_server, pinned

SDK_CLIENT = Path(__file__).with_name("sdk_streams.py")
_PIECES = 72
_SERVER = ("--ttft-ms", "200", "--itl-ms", "10", "--chunks", str(_PIECES), "--tool-chunks", "0", "--stamp-content")
# In flight → the most that TTFT may be off by on a quiet machine, ms: mean and p99.
TARGETS: Mapping[int, tuple[float, float]] = {100: (0.5, 3.0), 500: (1.0, 6.0), 1_000: (0.5, 5.0)}
# From so many on one process is too few.
_SEVERAL_FROM = 1_000
# Beyond this many streams the others are off by seconds, and take minutes to say so.
_OTHERS_UP_TO = 500
_ROUNDS_OF_STREAMS = 4


class Times(msgspec.Struct):
    """One answer: TTFT as measured, gaps as measured, the stamps of its pieces, and when its request was received."""

    ttft_ns: int
    gaps_ns: list[int]
    written_ns: list[int]
    received_ns: int


@dataclass(frozen=True, slots=True)
class Errors:
    """ms; ``collapsed`` is the share of gaps shorter than 1 ms, of which the server sent none."""

    answers: int
    ttft_mean: float
    ttft_p50: float
    ttft_p99: float
    gap_p50: float
    gap_p99: float
    collapsed: float


def errors(answers: Sequence[Times]) -> Errors:
    """How far ``answers`` are off."""
    ttft = np.array([one.ttft_ns - (one.written_ns[0] - one.received_ns) for one in answers]) / 1e6
    seen = np.array([one.gaps_ns for one in answers]) / 1e6
    gaps = np.abs(seen - np.diff(np.array([one.written_ns for one in answers])) / 1e6)
    return Errors(
        len(answers),
        float(ttft.mean()),
        *(float(np.percentile(ttft, share)) for share in (50, 99)),
        *(float(np.percentile(gaps, share)) for share in (50, 99)),
        float((seen < 1.0).mean()),
    )


def product(port: int, in_flight: int, *options: str) -> list[Times]:
    """What a run of the whole product recorded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder, port, in_flight * _ROUNDS_OF_STREAMS)
        command = [sys.executable, "-P", "-m", "vendor_verifier.cli.main", "--test-file-path", "samples.jsonl"]
        command += ["-o", "run", "--quiet", "--no-history", "--request-concurrency", str(in_flight)]
        measured([*command, *options], folder, None if "--workers" in options else CLIENT_CORE)
        lines = (folder / "run" / "records.jsonl").read_bytes().splitlines()
        return later_ones([_recorded(json.loads(line)) for line in lines], in_flight)


def _recorded(record: Mapping[str, object]) -> Times:
    attempt = record["turns"][0]["attempts"][-1]  # type: ignore[index]
    timing, response = attempt["timing"], attempt["response"]
    written = [int(stamp) for stamp in response["text"].split()]
    return Times(timing["first_token_ns"], timing["gaps_ns"], written, int(response["request_id"].rpartition("-")[2]))


def openai_sdk(port: int, in_flight: int) -> list[Times]:
    """What an application sees that streams with the official SDK, as its documentation shows."""
    command = [sys.executable, str(SDK_CLIENT), str(port), str(in_flight * _ROUNDS_OF_STREAMS), str(in_flight)]
    done = subprocess.run([*pinned(CLIENT_CORE), *command], capture_output=True, check=True, timeout=600)
    return later_ones([msgspec.json.decode(line, type=Times) for line in done.stdout.splitlines()], in_flight)


def later_ones(answers: Sequence[Times], in_flight: int) -> list[Times]:
    """Without the ``in_flight`` that were asked first; all must be whole."""
    if any((len(one.written_ns), len(one.gaps_ns)) != (_PIECES, _PIECES - 1) for one in answers):
        raise RuntimeError("an answer is not whole")
    return sorted(answers, key=lambda one: one.received_ns)[in_flight:]


def subjects(in_flights: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Who is measured at how many streams."""
    for in_flight in in_flights:
        yield "product", in_flight
        if in_flight >= _SEVERAL_FROM:
            yield "product, --workers 2", in_flight
    for in_flight in in_flights:
        if in_flight <= _OTHERS_UP_TO and importlib.util.find_spec("openai") is not None:
            yield "product, --client sdk", in_flight
            yield "openai SDK, typed chunks", in_flight


def measure(name: str, port: int, in_flight: int) -> Errors:
    """One round."""
    if name.startswith("openai"):
        return errors(openai_sdk(port, in_flight))
    return errors(product(port, in_flight, *name.split()[1:]))


def take_turns(port: int, in_flights: Sequence[int], rounds: int) -> dict[tuple[str, int], list[Errors]]:
    """``rounds`` of everybody, one after the other, so that nobody has the machine's worst minute alone."""
    found: dict[tuple[str, int], list[Errors]] = {}
    for number in range(rounds):
        for name, in_flight in subjects(in_flights):
            seen = measure(name, port, in_flight)
            found.setdefault((name, in_flight), []).append(seen)
            told = f"mean {seen.ttft_mean:.2f} p99 {seen.ttft_p99:.2f} gap p99 {seen.gap_p99:.2f}"
            print(f"round {number + 1}: {name} at {in_flight}: {told}", file=sys.stderr, flush=True)
    return found


def page(found: Mapping[tuple[str, int], Sequence[Errors]], rounds: int) -> str:
    """The table: median of the rounds, and in brackets the best of them, which other work disturbed least."""
    has_uvloop = importlib.util.find_spec("uvloop") is not None
    lines = [
        f"Error against the server's own stamps, ms; medians of {rounds} interleaved rounds, best round in brackets, "
        f"on {'uvloop' if has_uvloop else 'asyncio’s own loop'}. Target: mean and p99 of TTFT on a quiet machine.",
        "",
        "| client | in flight | TTFT mean | TTFT p50 | TTFT p99 | target | gap p50 | gap p99 | collapsed gaps |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, in_flight), seen in found.items():
        target = TARGETS.get(in_flight)
        cells = [name, f"{in_flight:,}", *(_cell([getattr(one, f"ttft_{part}") for one in seen]) for part in _PARTS)]
        cells.append("–" if target is None else f"{target[0]:g} / {target[1]:g}")
        cells += [_cell([getattr(one, f"gap_{part}") for one in seen]) for part in ("p50", "p99")]
        cells.append(f"{100 * median(one.collapsed for one in seen):.1f} %")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


_PARTS = ("mean", "p50", "p99")


def _cell(values: Sequence[float]) -> str:
    return f"{median(values):,.2f} ({min(values):,.2f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[100, 500, 1_000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    try:
        with contextlib.ExitStack() as stack:
            port = stack.enter_context(mock_server(*_SERVER))
            found = take_turns(port, options.in_flight, options.rounds)
    except NoCompiler as reason:
        print(f"Skipped: {reason}.")
        return 0
    print(page(found, options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
