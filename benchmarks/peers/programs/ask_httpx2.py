"""httpx2 as it comes, events parsed as they arrive; no harness around it."""

from __future__ import annotations

from typing import Any

import httpx2
from asking import Answer, Options, ask_all, loop


async def main(chosen: Options) -> list[Answer]:
    limits = httpx2.Limits(max_connections=chosen.concurrency, max_keepalive_connections=chosen.concurrency)
    async with httpx2.AsyncClient(limits=limits, timeout=600) as client:

        async def ask(body: dict[str, Any]) -> Answer:
            answer = Answer()
            async with client.stream("POST", f"{chosen.url}/v1/chat/completions", json=body) as response:
                response.raise_for_status()
                async for data in response.aiter_bytes():
                    answer.receive(data)
            return answer

        return await ask_all(ask, chosen)


loop(main)
