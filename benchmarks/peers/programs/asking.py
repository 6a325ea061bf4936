"""What the programs around a bare client share: bodies, so many in flight, one line of result; no client."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

Ask = Callable[[dict[str, Any]], Awaitable["Answer"]]


@dataclass
class Answer:
    """What each client keeps of one stream: text, tool arguments, tokens told by the vendor, a moment per token."""

    text: str = ""
    arguments: str = ""
    tokens: int | None = None
    moments_ns: list[int] = field(default_factory=list)
    rest: bytes = b""

    def receive(self, data: bytes) -> None:
        """Split and parse bytes that have just arrived: cheaper than any library's way of handing out lines."""
        *events, self.rest = (self.rest + data).split(b"\n\n")
        for event in events:
            if event != b"data: [DONE]":
                self._take(msgspec.json.decode(event[6:]))

    def _take(self, chunk: dict[str, Any]) -> None:
        if chunk.get("usage"):
            self.tokens = chunk["usage"]["completion_tokens"]
        for choice in chunk["choices"]:
            delta = choice["delta"]
            if delta.get("content"):
                self.text += delta["content"]
                self.moments_ns.append(time.perf_counter_ns())
            for call in delta.get("tool_calls") or ():
                self.arguments += call["function"]["arguments"]
                self.moments_ns.append(time.perf_counter_ns())


@dataclass(frozen=True)
class Options:
    url: str
    bodies: Path
    concurrency: int
    uvloop: bool


def options() -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("bodies", type=Path)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("--uvloop", action="store_true")
    return Options(**vars(parser.parse_args()))


def loop(main: Callable[[Options], Awaitable[list[Answer]]]) -> None:
    """Run ``main`` on the loop the product uses here, and print what was received."""
    chosen = options()
    if chosen.uvloop:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    else:
        runner = asyncio.Runner()
    with runner:
        answers = runner.run(main(chosen))
    whole = sum(1 for one in answers if one.tokens == len(one.moments_ns) and one.text and json.loads(one.arguments))
    print(json.dumps({"answers": len(answers), "whole": whole}))


async def ask_all(ask: Ask, chosen: Options) -> list[Answer]:
    """Ask for every body, ``concurrency`` of them at a time."""
    with chosen.bodies.open() as lines:
        due: Iterator[dict[str, Any]] = iter([json.loads(line) for line in lines])
    answers = []

    async def worker() -> None:
        for body in due:
            answers.append(await ask(body))

    async with asyncio.TaskGroup() as group:
        for _ in range(chosen.concurrency):
            group.create_task(worker())
    return answers
