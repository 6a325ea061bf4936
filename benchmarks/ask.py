"""Asks with a client library and nothing around it: the client of an application that streams.

ask.py {aiohttp,httpx2,openai} URL BODIES.jsonl IN_FLIGHT [--moments]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

Body = dict[str, Any]
Ask = Callable[[Body, "Answer"], Awaitable[None]]


@dataclass
class Answer:
    """One stream: its text, tool arguments, billed tokens and id, and a moment for each token."""

    began_ns: int = field(default_factory=time.perf_counter_ns)
    text: str = ""
    arguments: str = ""
    tokens: int | None = None
    id: str = ""
    moments_ns: list[int] = field(default_factory=list)
    rest: bytes = b""

    def receive(self, data: bytes) -> None:
        """Split and parse bytes that have just arrived: cheaper than any library's way of handing out lines."""
        *events, self.rest = (self.rest + data).split(b"\n\n")
        for event in events:
            if event != b"data: [DONE]":
                self._take(msgspec.json.decode(event[6:]))

    def _take(self, chunk: Body) -> None:
        self.id = chunk["id"]
        if chunk.get("usage"):
            self.tokens = chunk["usage"]["completion_tokens"]
        for choice in chunk["choices"]:
            if choice["delta"].get("content"):
                self.text += choice["delta"]["content"]
                self.moments_ns.append(time.perf_counter_ns())
            for call in choice["delta"].get("tool_calls") or ():
                self.arguments += call["function"]["arguments"]
                self.moments_ns.append(time.perf_counter_ns())

    def times(self) -> Body:
        """TTFT and gaps as seen here, and the server's stamps, which are the text and the id."""
        return {
            "ttft_ns": self.moments_ns[0] - self.began_ns,
            "gaps_ns": [later - earlier for earlier, later in pairwise(self.moments_ns)],
            "written_ns": [int(stamp) for stamp in self.text.split()],
            "received_ns": int(self.id.rpartition("-")[2]),
        }


@contextlib.asynccontextmanager
async def by_aiohttp(url: str, in_flight: int) -> AsyncIterator[Ask]:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=in_flight)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)) as session:

        async def ask(body: Body, answer: Answer) -> None:
            async with session.post(f"{url}/v1/chat/completions", json=body, raise_for_status=True) as response:
                async for data in response.content.iter_any():
                    answer.receive(data)

        yield ask


@contextlib.asynccontextmanager
async def by_httpx2(url: str, in_flight: int) -> AsyncIterator[Ask]:
    import httpx2

    limits = httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    async with httpx2.AsyncClient(limits=limits, timeout=600) as client:

        async def ask(body: Body, answer: Answer) -> None:
            async with client.stream("POST", f"{url}/v1/chat/completions", json=body) as response:
                response.raise_for_status()
                async for data in response.aiter_bytes():
                    answer.receive(data)

        yield ask


@contextlib.asynccontextmanager
async def by_openai(url: str, in_flight: int) -> AsyncIterator[Ask]:
    import httpx2
    import openai

    limits = httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
    http = httpx2.AsyncClient(limits=limits)
    async with openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", http_client=http, timeout=600) as client:

        async def ask(body: Body, answer: Answer) -> None:
            async for chunk in await client.chat.completions.create(**body):
                answer.id = chunk.id
                if chunk.usage:
                    answer.tokens = chunk.usage.completion_tokens
                for choice in chunk.choices:
                    if choice.delta.content:
                        answer.text += choice.delta.content
                        answer.moments_ns.append(time.perf_counter_ns())
                    for call in choice.delta.tool_calls or ():
                        answer.arguments += (call.function and call.function.arguments) or ""
                        answer.moments_ns.append(time.perf_counter_ns())

        yield ask


CLIENTS = {"aiohttp": by_aiohttp, "httpx2": by_httpx2, "openai": by_openai}


async def ask_all(client: str, url: str, bodies: Path, in_flight: int) -> list[Answer]:
    """Ask for every body, ``in_flight`` at a time."""
    due = iter([json.loads(line) for line in bodies.read_bytes().splitlines()])
    answers: list[Answer] = []
    async with CLIENTS[client](url, in_flight) as ask, asyncio.TaskGroup() as group:

        async def worker() -> None:
            for body in due:
                answers.append(Answer())
                await ask(body, answers[-1])

        for _ in range(in_flight):
            group.create_task(worker())
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=CLIENTS)
    parser.add_argument("url")
    parser.add_argument("bodies", type=Path)
    parser.add_argument("in_flight", type=int)
    parser.add_argument("--moments", action="store_true", help="print a line for each answer")
    chosen = parser.parse_args()
    answers = asyncio.run(ask_all(chosen.client, chosen.url, chosen.bodies, chosen.in_flight))
    if chosen.moments:
        for answer in answers:
            print(json.dumps(answer.times()))
    else:
        whole = sum(one.tokens == len(one.moments_ns) and bool(json.loads(one.arguments)) for one in answers)
        print(json.dumps({"answers": len(answers), "whole": whole}))


if __name__ == "__main__":
    main()
