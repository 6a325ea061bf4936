"""Peers that are a client library only: a program of ``programs/`` asks with it; no harness, no scores, no files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from peers.peer import Job, demand

# Installed together, so that the three are measured over the same versions of what they share. The parser and the loop
# are the product's own, so that what differs is the client.
LIBRARIES = {"aiohttp": "3.14.5", "httpx2": "2.16.2", "openai": "3.52.0", "msgspec": "0.22.0", "uvloop": "0.23.0"}
REQUIREMENTS = tuple(f"{name}=={version}" for name, version in LIBRARIES.items())
PROGRAMS = Path(__file__).with_name("programs")


def asking(program: str) -> Callable[[Job], Sequence[str]]:
    """The command that runs ``program`` in the peer's environment."""

    def command(job: Job) -> Sequence[str]:
        words = [job.program("python"), str(PROGRAMS / program), job.url, "bodies.jsonl", str(job.concurrency)]
        return [*words, "--uvloop"] if job.uvloop else words

    return command


def all_whole(job: Job) -> None:
    """Every answer came, with its text, its tool call, and a moment for each token.

    Raises:
        NotDone: some did not.
    """
    told = json.loads((job.folder / "said.txt").read_text().splitlines()[-1])
    demand(told, {"answers": job.requests, "whole": job.requests}, "answers")
