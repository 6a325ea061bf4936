"""The openai SDK as everyone uses it: ``create(stream=True)`` and typed chunks; no harness around it."""

from __future__ import annotations

import time
from typing import Any

import httpx2
from asking import Answer, Options, ask_all, loop
from openai import AsyncOpenAI


async def main(chosen: Options) -> list[Answer]:
    limits = httpx2.Limits(max_connections=chosen.concurrency, max_keepalive_connections=chosen.concurrency)
    async with AsyncOpenAI(
        api_key="none", base_url=f"{chosen.url}/v1", http_client=httpx2.AsyncClient(limits=limits), timeout=600
    ) as client:

        async def ask(body: dict[str, Any]) -> Answer:
            answer = Answer()
            async for chunk in await client.chat.completions.create(**body):
                if chunk.usage:
                    answer.tokens = chunk.usage.completion_tokens
                for choice in chunk.choices:
                    if choice.delta.content:
                        answer.text += choice.delta.content
                        answer.moments_ns.append(time.perf_counter_ns())
                    for call in choice.delta.tool_calls or ():
                        answer.arguments += (call.function and call.function.arguments) or ""
                        answer.moments_ns.append(time.perf_counter_ns())
            return answer

        return await ask_all(ask, chosen)


loop(main)
