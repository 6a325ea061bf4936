"""The process between a run and its MCP server: it alone loads the SDK, and runs one call after the other.

A process of its own keeps the work off the loop that takes the vendors' times, what a server sends out of the run's
memory, and the run's keys out of the server's reach: it is given no more of the environment than the server is. A
server that dies, hangs at a call or breaks a limit is ended and started again for the next call, so often and no
oftener; after that every call fails at once. When the run goes away, however it does, the server is ended too.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Any, TypeAlias

import anyio
import msgspec
from mcp.client import Client, ClientSession
from mcp.client._transport import TransportStreams
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    Implementation,
    PaginatedRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
)
from pydantic import ValidationError

from vendor_verifier import __version__
from vendor_verifier.features.mcp_live.access import Access, Listing
from vendor_verifier.features.mcp_live.transports import ServerProblem, Watch, http_transport, process_transport
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.cluster.job import ChannelClosed
from vendor_verifier.run.cluster.process_executor import SocketChannel, receive_frame, socket_channel
from vendor_verifier.values.tool_use import ToolRequest, ToolResult, ToolRun

MOST_TOOLS = 10_000
_MOST_PAGES = 100
# Of one declaration: a longer description is cut, a longer schema makes the tool unusable.
_MOST_DESCRIPTION = 8_192
_MOST_SCHEMA = 65_536
# The SDK's word for a call whose connection ended; any other error is the tool's answer, for the model to read.
_CLOSED = "Connection closed"


class _Ask(msgspec.Struct):
    """A call that waits for its result; a text is the reason that there is none."""

    request: ToolRequest | None
    answer: asyncio.Future[ToolResult | str]

    def end(self, answer: ToolResult | str) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


Inbox: TypeAlias = "asyncio.Queue[_Ask]"


def main(descriptor: int) -> int:
    """Serve the run at the other end of ``descriptor`` until it goes away."""
    connection = socket.socket(fileno=descriptor)
    # Much of what the SDK logs are a server's own words, of any length.
    logging.disable()
    try:
        access = msgspec.msgpack.decode(receive_frame(connection), type=Access)
        anyio.run(_serve, connection, access)
    except (ChannelClosed, OSError):
        return 1
    return 0


async def _serve(connection: socket.socket, access: Access) -> None:
    channel = await socket_channel(connection)
    server = Server(access)
    async with anyio.create_task_group() as group:
        group.start_soon(server.work)
        with suppress(ChannelClosed):
            while True:
                for number, calls in (await channel.read())["run"]:
                    group.start_soon(_answer, channel, server, number, calls)
        group.cancel_scope.cancel()
    channel.abort()


async def _answer(channel: SocketChannel, server: Server, number: int, calls: object) -> None:
    """Run the calls of one message and answer it; without any the answer is what the server lists."""
    written = msgspec.convert(calls, list[tuple[str, str]] | None)
    wanted = None if written is None else [ToolRequest(name, json.loads(arguments)) for name, arguments in written]
    found = await server.listing() if wanted is None else await server.run(wanted)
    with suppress(ChannelClosed):
        await channel.write({"ran": [[number, msgspec.to_builtins(found)]]})


class Server:
    """The server behind ``access``; :meth:`work` starts it when it is first needed."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._allowed = frozenset(access.allowed)
        self._inbox: Inbox = asyncio.Queue()
        self._listing: Listing | None = None
        self._given_up: str | None = None
        self._starts = 0

    async def listing(self) -> Listing:
        """The tools of the server, or the problem that kept it from starting or listing them."""
        problem = await self._ask(None)
        return self._listing or Listing(problem=str(problem))

    async def run(self, requests: Sequence[ToolRequest]) -> ToolRun:
        """Run calls in order, up to one that the server fails. Those that are not allowed never reach it."""
        results: list[ToolResult] = []
        for request in requests:
            if request.name not in self._allowed:
                results.append(ToolResult(request.name, "not_allowed", f"There is no tool {request.name!r:.80}."))
                continue
            result = await self._ask(request)
            if isinstance(result, str):
                return ToolRun(tuple(results), result)
            results.append(result)
        return ToolRun(tuple(results), None if requests else self._given_up)

    async def _ask(self, request: ToolRequest | None) -> ToolResult | str:
        ask = _Ask(request, asyncio.get_running_loop().create_future())
        self._inbox.put_nowait(ask)
        return await ask.answer

    async def work(self) -> None:
        """Answer what is asked, one after the other, over one connection after the other."""
        ask = await self._inbox.get()
        while True:
            if self._given_up is not None:
                ask.end(self._given_up)
                ask = await self._inbox.get()
            else:
                ask = await self._over_one_connection(ask)

    async def _over_one_connection(self, ask: _Ask) -> _Ask:
        """Answer ``ask`` and those after it, until the connection is over; returns the next one to be answered."""
        watch, self._starts = Watch(), self._starts + 1
        serving = _Serving(ask, self._access, watch)
        with anyio.CancelScope(deadline=anyio.current_time() + self._access.start_s) as scope:
            try:
                streams = _Transport(_connect(self._access, watch))
                async with Client(streams, cache=None, client_info=_CLIENT) as client:
                    listing = await _listed(client.session, self._allowed, client.server_info)
                    serving.problem = self._otherwise(listing)
                    self._listing = self._listing or listing
                    scope.deadline = float("inf")
                    if serving.problem is None:
                        await serving.serve(client.session, self._inbox)
            except Exception as error:  # noqa: BLE001 the SDK raises what it likes, and a server must end no run
                serving.problem = serving.problem or watch.problem or _words(error)
        late = f"it was not ready within {self._access.start_s:g} s" if scope.cancelled_caught else None
        reason = _said(serving.problem or watch.problem or late or "the connection ended", watch)
        if self._starts > self._access.restarts:
            self._given_up = f"the MCP server was started {self._starts} times and failed again: {reason}"
        if serving.ask is not None and not serving.is_sent:
            return serving.ask
        if serving.ask is not None:
            serving.ask.end(f"the MCP server failed: {reason}")
        return await self._inbox.get()

    def _otherwise(self, listing: Listing) -> str | None:
        """The reason that a server that was started again is no longer the same, if it is not."""
        before = self._listing
        changed = before is not None and before.declared != listing.declared
        return "started again it declares its tools otherwise" if changed else None


class _Serving:
    """The calls over one connection. ``ask`` is the one at hand, if any; one that is not sent may go to another
    connection, any other would be run twice."""

    def __init__(self, ask: _Ask, access: Access, watch: Watch) -> None:
        self.ask: _Ask | None = ask
        self.is_sent = True
        self.problem: str | None = None
        self._access = access
        self._watch = watch

    async def serve(self, session: ClientSession, inbox: Inbox) -> None:
        """Answer until the server fails; the last ``ask`` is then still without its answer."""
        while self.ask is not None:
            answer = await self._answer(session, self.ask.request)
            if answer is None:
                return
            self.ask.end(answer)
            self.ask, self.is_sent = None, False
            self.ask = await inbox.get()
            if self._watch.problem is not None:
                return
            self.is_sent = True

    async def _answer(self, session: ClientSession, request: ToolRequest | None) -> ToolResult | None:
        """The result of a call, an empty one where only the listing was wanted; None where the server failed."""
        if request is None:
            return ToolResult("", "ok")
        self._watch.since_call, self._watch.in_call = 0, True
        began_ns = time.monotonic_ns()
        made = CallToolRequest(params=CallToolRequestParams(name=request.name, arguments=dict(request.arguments)))
        result: CallToolResult | None = None
        said = ""
        with anyio.move_on_after(self._access.call_s):
            try:
                result = await session.send_request(made, CallToolResult)
            except MCPError as error:
                if self._watch.problem is not None or str(error) == _CLOSED:
                    self.problem = self._watch.problem or f"{request.name}: {error.message}"
                    return None
                said = error.message
            except ValidationError:
                self.problem = f"{request.name}: what it returned is no result of a tool"
                return None
            took_ns = time.monotonic_ns() - began_ns
            text = said if result is None else text_of(result)
            shown, left_out = cut(text, self._access.result_bytes)
            failed = result is None or result.is_error
            return ToolResult(request.name, "error" if failed else "ok", shown, took_ns, left_out)
        self.problem = f"{request.name} did not return within {self._access.call_s:g} s"
        return None


def _connect(access: Access, watch: Watch) -> AbstractAsyncContextManager[TransportStreams]:
    if access.url is not None:
        return http_transport(access.url, access.headers, access.call_s, watch)
    return process_transport(access.command, access.environment, watch)


class _Transport:
    """A transport as the SDK's client takes it."""

    def __init__(self, streams: AbstractAsyncContextManager[TransportStreams]) -> None:
        self._streams = streams

    async def __aenter__(self) -> TransportStreams:
        return await self._streams.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._streams.__aexit__(kind, error, trace)


_CLIENT = Implementation(name="agent-vendor-verifier", version=__version__)


async def _listed(session: ClientSession, allowed: frozenset[str], server: Implementation | None) -> Listing:
    """The tools of a server, page by page, up to :data:`MOST_TOOLS`."""
    names: dict[str, None] = {}
    declared: dict[str, Mapping[str, Any]] = {}
    unusable: dict[str, str] = {}
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        try:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise ServerProblem(f"its list of tools cannot be read: {place}: {first['msg']}") from None
        for tool in page.tools:
            is_new = tool.name not in names
            names[tool.name] = None
            if tool.name in allowed and is_new:
                declared[tool.name], reason = declaration(tool)
                unusable |= {tool.name: reason} if reason else {}
        cursor = page.next_cursor
        if cursor is None or len(names) >= MOST_TOOLS:
            break
    who = "?" if server is None else f"{server.name} {server.version}"
    return Listing(declared, tuple(names), plain(who, 80), unusable)


def declaration(tool: Tool) -> tuple[Mapping[str, Any], str | None]:
    """A tool as chat completions declare it, and why it cannot be, if so. Its hints are its claim and go unread."""
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description[:_MOST_DESCRIPTION]
    reason = None
    if len(json.dumps(tool.input_schema)) > _MOST_SCHEMA:
        reason = f"its schema is longer than {_MOST_SCHEMA} characters"
    else:
        function["parameters"] = tool.input_schema
    return {"type": "function", "function": function}, reason


def text_of(result: CallToolResult) -> str:
    """The text of a result that a model is shown: its texts, else its structured content; other parts by their kind."""
    parts: list[str] = []
    for block in result.content:
        if isinstance(block, TextContent):
            parts.append(block.text)
        elif isinstance(block, EmbeddedResource) and isinstance(block.resource, TextResourceContents):
            parts.append(block.resource.text)
        else:
            parts.append(f"[{block.type}, not shown]")
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def cut(text: str, most_bytes: int) -> tuple[str, int]:
    """The text within a number of bytes of UTF-8, with a note where it was cut; and how many characters were cut."""
    encoded = text.encode("utf-8", errors="replace")
    if len(encoded) <= most_bytes:
        return encoded.decode(), 0
    kept = encoded[:most_bytes].decode(errors="ignore")
    left_out = len(text) - len(kept)
    return f"{kept}\n[{left_out} more characters are left out]", left_out


def _said(reason: str, watch: Watch) -> str:
    """The reason of a failure with the last words of the server, harmless to a terminal."""
    last = watch.stderr
    return plain(f"{reason}; its last words: {last[-300:]}" if last else reason, 600)


def _words(error: BaseException) -> str:
    """The first error inside a group, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) if isinstance(error, (ServerProblem, MCPError)) else f"{type(error).__name__}: {error}"
