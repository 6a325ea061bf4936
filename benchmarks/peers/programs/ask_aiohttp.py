"""aiohttp as it comes, events parsed as they arrive; no harness around it."""

from __future__ import annotations

from typing import Any

import aiohttp
from asking import Answer, Options, ask_all, loop


async def main(chosen: Options) -> list[Answer]:
    connector = aiohttp.TCPConnector(limit=chosen.concurrency)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)) as session:

        async def ask(body: dict[str, Any]) -> Answer:
            answer = Answer()
            async with session.post(f"{chosen.url}/v1/chat/completions", json=body, raise_for_status=True) as response:
                async for data in response.content.iter_any():
                    answer.receive(data)
            return answer

        return await ask_all(ask, chosen)


loop(main)
