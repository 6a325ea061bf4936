"""vLLM's own request function over a session set up as ``vllm bench serve`` does it; none of vLLM around it.

Its command wants torch for the rest of vLLM, its request function wants aiohttp only. It keeps no tool arguments.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import aiohttp
from endpoint_request_func import RequestFuncInput, RequestFuncOutput, async_request_openai_chat_completions


def inputs(url: str, bodies: Path) -> list[RequestFuncInput]:
    asked = []
    for line in bodies.read_text().splitlines():
        body = json.loads(line)
        question = body["messages"][0]["content"]
        more = {"tools": body["tools"]}
        asked.append(RequestFuncInput(question, f"{url}/v1/chat/completions", 10, 128, body["model"], extra_body=more))
    return asked


async def main(url: str, bodies: Path, concurrency: int) -> list[RequestFuncOutput]:
    connector = aiohttp.TCPConnector(
        limit=concurrency, limit_per_host=concurrency, ttl_dns_cache=300, keepalive_timeout=60, ssl=False
    )
    leave = asyncio.Semaphore(concurrency)
    async with aiohttp.ClientSession(
        connector=connector, trust_env=True, timeout=aiohttp.ClientTimeout(total=6 * 60 * 60)
    ) as session:

        async def ask(one: RequestFuncInput) -> RequestFuncOutput:
            async with leave:
                return await async_request_openai_chat_completions(one, session)

        return await asyncio.gather(*map(ask, inputs(url, bodies)))


if __name__ == "__main__":
    outputs = asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
    whole = sum(one.success and one.output_tokens == len(one.itl) + 1 for one in outputs)
    print(json.dumps({"answers": len(outputs), "whole": whole}))
