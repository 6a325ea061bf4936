"""Recorded times against the stamps of the server that sent the tokens: errors of TTFT and of each gap."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from measuring import PRODUCT, Failed, measured, write_job

PIECES = 72
# 200 ms to the first piece, 10 ms to each further one; every piece says when it was written.
SERVER = ("--ttft-ms", "200", "--itl-ms", "10", "--chunks", str(PIECES), "--tool-chunks", "0", "--stamp-content")
# The first answer of each stream is left out: it waits for all connections to be opened at once.
ANSWERS_OF_A_STREAM = 4


class Times(msgspec.Struct):
    """One answer: TTFT and gaps as measured, the stamps of its pieces, and when its request was received."""

    ttft_ns: int
    gaps_ns: list[int]
    written_ns: list[int]
    received_ns: int


@dataclass(frozen=True, slots=True)
class Errors:
    """In ms; ``gap_p99`` is of the absolute error of every single gap."""

    ttft_mean: float
    ttft_p50: float
    ttft_p99: float
    gap_p99: float


def errors(answers: Sequence[Times]) -> Errors:
    """TTFT error = TTFT as measured − (first piece written − request received)."""
    ttft = np.array([one.ttft_ns - (one.written_ns[0] - one.received_ns) for one in answers]) / 1e6
    gaps = np.array([one.gaps_ns for one in answers]) - np.diff(np.array([one.written_ns for one in answers]))
    p50, p99 = np.percentile(ttft, (50, 99))
    return Errors(float(ttft.mean()), float(p50), float(p99), float(np.percentile(np.abs(gaps) / 1e6, 99)))


def measure(port: int, in_flight: int, command: Sequence[str], read: Callable[[Path], list[Times]]) -> Errors:
    """Run ``command`` on the job in a new folder and compare what ``read`` finds there.

    Raises:
        Failed: an answer is not whole.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder, port, in_flight * ANSWERS_OF_A_STREAM)
        measured(command, folder)
        answers = sorted(read(folder), key=lambda one: one.received_ns)[in_flight:]
    if any((len(one.written_ns), len(one.gaps_ns)) != (PIECES, PIECES - 1) for one in answers):
        raise Failed("an answer is not whole")
    return errors(answers)


def product(port: int, in_flight: int, *options: str) -> Errors:
    """What a run of the whole product recorded."""
    words = ("--test-file-path", "samples.jsonl", "--request-concurrency", str(in_flight), *options)
    return measure(port, in_flight, [*PRODUCT, *words], _recorded)


def _recorded(folder: Path) -> list[Times]:
    lines = (folder / "run" / "records.jsonl").read_bytes().splitlines()
    return [_times(json.loads(line)["turns"][0]["attempts"][-1]) for line in lines]


def _times(attempt: dict[str, Any]) -> Times:
    timing, response = attempt["timing"], attempt["response"]
    written = [int(stamp) for stamp in response["text"].split()]
    received = int(response["request_id"].rpartition("-")[2])
    return Times(timing["first_token_ns"], timing["gaps_ns"], written, received)


def library(port: int, in_flight: int, command: Sequence[str]) -> Errors:
    """What an application sees that streams with a client library as its documentation shows."""

    def read(folder: Path) -> list[Times]:
        return [msgspec.json.decode(line, type=Times) for line in (folder / "printed.txt").read_bytes().splitlines()]

    return measure(port, in_flight, [*command, str(in_flight), "--moments"], read)
