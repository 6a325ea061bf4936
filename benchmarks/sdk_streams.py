"""Streams with the official openai SDK as its documentation shows, and notes when each chunk was seen; no product.

``sdk_streams.py PORT REQUESTS CONCURRENCY`` prints a JSON line an answer for timing_truth.py.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from itertools import pairwise

from openai import AsyncOpenAI


async def stream(client: AsyncOpenAI) -> dict[str, object]:
    """One answer: moments of its pieces, and what they say of when they were written."""
    began_ns = time.perf_counter_ns()
    seen_ns: list[int] = []
    written_ns: list[int] = []
    received_ns = 0
    question = {"role": "user", "content": "What is the weather in San Francisco?"}
    chunks = await client.chat.completions.create(model="mock-model", messages=[question], stream=True)  # type: ignore[list-item]
    async for chunk in chunks:
        received_ns = int(chunk.id.rpartition("-")[2])
        if chunk.choices and chunk.choices[0].delta.content:
            seen_ns.append(time.perf_counter_ns())
            written_ns.append(int(chunk.choices[0].delta.content))
    return {
        "ttft_ns": seen_ns[0] - began_ns,
        "gaps_ns": [later - earlier for earlier, later in pairwise(seen_ns)],
        "written_ns": written_ns,
        "received_ns": received_ns,
    }


async def main(port: int, requests: int, concurrency: int) -> None:
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
    due: Iterator[int] = iter(range(requests))
    answers: list[dict[str, object]] = []

    async def one_after_the_other() -> None:
        for _ in due:
            answers.append(await stream(client))

    async with client, asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(one_after_the_other())
    for answer in answers:
        print(json.dumps(answer))


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:4]]
    try:
        import uvloop
    except ImportError:
        asyncio.run(main(*words))
    else:
        uvloop.run(main(*words))
