"""The tools of one MCP server for a whole run, through the client of the MCP SDK.

Calls run one at a time in a thread of their own. A server that failed is not started again.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT, TextContent

from vendor_verifier.errors import UsageError
from vendor_verifier.records.request import ToolRequest, ToolResult, ToolRun
from vendor_verifier.reports.escape import plain

_MOST_CHARACTERS = 16_384  # of one result
_MOST_FAILURES = 3  # in a row; then the server is not used again


@contextmanager
def live_tools(
    command: Sequence[str], environment: Mapping[str, str], allowed: Sequence[str], timeout_s: float
) -> Iterator[tuple[tuple[Mapping[str, Any], ...], LiveTools]]:
    """The allowed tools of a server as chat completions declare them, and what runs them; it ends with the block.

    Raises UsageError where the server does not start, or has no such tool.
    """
    with ExitStack() as stack:
        last_words = stack.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
        portal = stack.enter_context(start_blocking_portal())
        offered: dict[str, Mapping[str, Any]] = {}
        try:
            server = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(environment))
            transport = stdio_client(server, errlog=last_words)
            client = Client(transport, cache=None, read_timeout_seconds=timeout_s)
            connection = portal.wrap_async_context_manager(client)
            connection.__enter__()
            # The SDK wraps errors that pass through it in groups, so that those of the run do not.
            stack.callback(connection.__exit__, None, None, None)
            pages = [portal.call(client.list_tools)]
            while pages[-1].next_cursor is not None:
                pages.append(portal.call(partial(client.list_tools, cursor=pages[-1].next_cursor)))
            for tool in (tool for page in pages for tool in page.tools):
                function = {"name": tool.name, "description": tool.description or "", "parameters": tool.input_schema}
                offered[tool.name] = {"type": "function", "function": function}
        except Exception as error:  # noqa: BLE001 the SDK raises groups of anything
            while isinstance(error, ExceptionGroup):
                error = error.exceptions[0]
            last_words.seek(0)
            last = "".join(last_words.readlines()[-1:])
            raise UsageError(plain(f"the MCP server cannot be used: {error}. {last}", 600)) from None
        unknown = [name for name in allowed if name not in offered]
        if unknown or not allowed:
            names = ",".join(f"{name:.80}" for name in list(offered)[:60])
            problem = f"the MCP server has no tool {', '.join(unknown)}" if unknown else "no tool is allowed"
            raise UsageError(
                f"suites.mcp_live.allow: {problem}; choose from what the server offers: --set mcp_live.allow={names}"
            )
        yield tuple(offered[name] for name in allowed), LiveTools(portal, client, frozenset(allowed))


class LiveTools:
    """Runs calls on the server; a :class:`vendor_verifier.records.request.ToolRunner`."""

    def __init__(self, portal: BlockingPortal, client: Client, allowed: frozenset[str]) -> None:
        self._portal, self._client, self._allowed = portal, client, allowed
        self._one_at_a_time = anyio.Lock()
        self._failures, self._problem = 0, ""

    async def run(self, requests: Sequence[ToolRequest]) -> ToolRun:
        """The results of calls, in order, up to one that the server fails."""
        return await asyncio.wrap_future(self._portal.start_task_soon(self._run, requests))

    async def _run(self, requests: Sequence[ToolRequest]) -> ToolRun:
        results: list[ToolResult] = []
        async with self._one_at_a_time:
            if self._failures >= _MOST_FAILURES:
                return ToolRun(failure=self._problem)
            for request in requests:
                try:
                    results.append(await self._call(request))
                    self._failures = 0
                except Exception as error:  # noqa: BLE001 a server must not end a run
                    self._failures += 1
                    self._problem = plain(f"the MCP server failed at {request.name}: {error}", 600)
                    return ToolRun(tuple(results), self._problem)
        return ToolRun(tuple(results))

    async def _call(self, request: ToolRequest) -> ToolResult:
        if request.name not in self._allowed:
            return ToolResult(request.name, "not_allowed", f"There is no tool {request.name!r:.80}.")
        began_ns = time.monotonic_ns()
        try:
            result = await self._client.call_tool(request.name, dict(request.arguments))
            is_error = bool(result.is_error)
            parts = [each.text if isinstance(each, TextContent) else f"[{each.type}]" for each in result.content]
            text = "\n".join(parts) if parts else json.dumps(result.structured_content, ensure_ascii=False)
        except MCPError as error:
            if error.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise
            # The tool's own answer, for the model to read.
            is_error, text = True, error.message
        took_ns, left_out = time.monotonic_ns() - began_ns, max(0, len(text) - _MOST_CHARACTERS)
        text = f"{text[:_MOST_CHARACTERS]}\n[{left_out} more characters are left out]" if left_out else text
        return ToolResult(request.name, "error" if is_error else "ok", text, took_ns, left_out)
