"""aiohttp as it comes, lines parsed as they arrive; no harness around it."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
from asking import Answer, Options, ask_all, loop


async def main(chosen: Options) -> list[Answer]:
    connector = aiohttp.TCPConnector(limit=chosen.concurrency)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=600)) as session:

        async def ask(body: dict[str, Any]) -> Answer:
            answer = Answer()
            async with session.post(f"{chosen.url}/v1/chat/completions", json=body, raise_for_status=True) as response:
                async for line in response.content:
                    if line.startswith(b"data: ") and line != b"data: [DONE]\n":
                        answer.take(json.loads(line[6:]))
            return answer

        return await ask_all(ask, chosen)


loop(main)
