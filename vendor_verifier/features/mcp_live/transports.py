"""The ways to an MCP server, each bounded: a process over its pipes, and streamable HTTP.

The SDK's own transport of processes keeps a line of any length and passes on more of the environment than it is told
to; here a message, all that comes between two calls, and what is kept of stderr have limits, and the environment is
exactly the one given. A process has a group of its own, all of which ends with the connection.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import httpx2
import msgspec
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

# The longest message, which a list of 10,000 tools stays below, and all that may come between two calls.
MOST_MESSAGE = 4 * 2**20
MOST_BETWEEN_CALLS = 16 * 2**20
# Lines on stdout that are no messages: a few are a print that was forgotten, many are no MCP server.
MOST_GARBAGE = 1_000
_STDERR_KEPT = 2_000
_ENDS_WITHIN_S = 1.0
_POLL_S = 0.01

_Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class ServerProblem(Exception):
    """A server cannot be reached; the message says why."""


class Watch(msgspec.Struct):
    """The count of all that came over one connection, and the ``problem`` that ended it, if any.

    ``is_closing``: we end it ourselves. ``in_call``: tools are called, and not only listed.
    """

    problem: str | None = None
    received: int = 0
    since_call: int = 0
    garbage: int = 0
    is_closing: bool = False
    in_call: bool = False
    last_words: bytearray = msgspec.field(default_factory=bytearray)

    def count(self, size: int) -> bool:
        """Count bytes from the server; whether there are still few enough since the last call."""
        self.received += size
        self.since_call += size
        if self.since_call > MOST_BETWEEN_CALLS:
            self.end(f"it sent more than {MOST_BETWEEN_CALLS // 2**20} MiB between two calls")
        return self.problem is None

    def end(self, problem: str) -> None:
        """Note why the connection is over; the first reason stands."""
        self.problem = self.problem or problem

    @property
    def stderr(self) -> str:
        """The end of what the server wrote to stderr, as one line."""
        return " ".join(self.last_words.decode(errors="replace").split())


@asynccontextmanager
async def process_transport(
    command: Sequence[str], environment: Mapping[str, str], watch: Watch
) -> AsyncGenerator[_Streams]:
    """The streams of a session with a server that is started as ``command``, which ends with the block.

    Raises:
        ServerProblem: it cannot be started.
    """
    try:
        process = await anyio.open_process(list(command), env=environment, start_new_session=True)
    except (OSError, ValueError) as error:
        raise ServerProblem(f"{command[0]!r} cannot be started: {error}") from None
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_receive, process, process.stdout, incoming, watch)
        group.start_soon(_send, process.stdin, to_send, watch)
        group.start_soon(_listen, process.stderr, watch)
        try:
            yield received, outgoing
        finally:
            watch.is_closing = True
            with anyio.CancelScope(shield=True):
                await _end(process)
            for stream in (incoming, received, outgoing, to_send):
                stream.close()
            group.cancel_scope.cancel()


async def _receive(
    process: Process,
    stdout: ByteReceiveStream,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    watch: Watch,
) -> None:
    """Hand on the messages of stdout until it ends or breaks a limit; the session then sees the connection end."""
    with incoming, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for line in _lines(stdout, watch):
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                watch.garbage += bool(line.strip())
                if watch.garbage > MOST_GARBAGE:
                    watch.end(f"it wrote more than {MOST_GARBAGE} lines to stdout that are no messages")
                    return
                continue
            await incoming.send(SessionMessage(message))
        if not watch.is_closing:
            # The end of stdout is seen a moment before that of the process.
            await _exited(process, _ENDS_WITHIN_S)
            watch.end("it ended" + ("" if process.returncode is None else f" with exit code {process.returncode}"))


async def _lines(stdout: ByteReceiveStream, watch: Watch) -> AsyncIterator[bytes]:
    """Whole lines, until the stream ends or breaks a limit."""
    parts: list[bytes] = []
    size = 0
    with suppress(anyio.EndOfStream, OSError):
        while watch.count(len(chunk := await stdout.receive())):
            *whole, rest = chunk.split(b"\n")
            for place, line in enumerate(whole):
                yield b"".join([*parts, line]) if place == 0 else line
            if whole:
                parts, size = [], 0
            parts.append(rest)
            size += len(rest)
            if size > MOST_MESSAGE:
                watch.end(f"it sent a message of more than {MOST_MESSAGE // 2**20} MiB")
                return


async def _send(stdin: ByteSendStream, to_send: MemoryObjectReceiveStream[SessionMessage], watch: Watch) -> None:
    try:
        async for sent in to_send:
            line = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stdin.send(line.encode() + b"\n")
    except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        watch.end("it no longer reads what is sent to it")


async def _listen(stderr: ByteReceiveStream, watch: Watch) -> None:
    """Keep the end of stderr, so that a server that writes much there neither waits nor costs memory."""
    with suppress(anyio.EndOfStream, anyio.ClosedResourceError, OSError):
        while True:
            watch.last_words += await stderr.receive()
            del watch.last_words[:-_STDERR_KEPT]


async def _end(process: Process) -> None:
    """End the server: by the end of its input, then by SIGTERM, then by SIGKILL, with all that it started."""
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        assert process.stdin is not None
        await process.stdin.aclose()
    if not await _exited(process, _ENDS_WITHIN_S):
        _signal_group(process, signal.SIGTERM)
        await _exited(process, _ENDS_WITHIN_S)
    # Those it left behind have the same group; they get no time, for it has had its own.
    _signal_group(process, signal.SIGKILL)
    await _exited(process, _ENDS_WITHIN_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            await stream.aclose()


async def _exited(process: Process, within_s: float) -> bool:
    """Whether the process ended in time; its pipes may be held open by what it started, so they are not waited for."""
    with anyio.move_on_after(within_s):
        while process.returncode is None:
            await anyio.sleep(_POLL_S)
    return process.returncode is not None


def _signal_group(process: Process, number: signal.Signals) -> None:
    # The leader's number is that of its group (start_new_session).
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@asynccontextmanager
async def http_transport(
    url: str, headers: Mapping[str, str], timeout_s: float, watch: Watch
) -> AsyncGenerator[_Streams]:
    """The streams of a session with the server at ``url``, over streamable HTTP."""
    timeout = httpx2.Timeout(timeout_s, read=None)
    # Packed answers are refused, since their size is known only once they are unpacked. No proxy and no .netrc: what
    # goes to this server is what the user wrote for it.
    sent = {**headers, "accept-encoding": "identity"}
    async with (
        httpx2.AsyncClient(
            transport=_Bounded(httpx2.AsyncHTTPTransport(), watch), headers=sent, timeout=timeout, trust_env=False
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MOST_MESSAGE) as streams,
    ):
        yield streams  # type: ignore[misc]  # the SDK's own streams, of the same two methods


class _Bounded(httpx2.AsyncBaseTransport):
    """Counts what comes back, and breaks off where it is too much."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            self._watch.end("it packed its answer, which nobody asked for")
            raise httpx2.DecodingError("packed", request=request)
        if self._watch.in_call and request.method == "POST" and (trouble := _trouble(response)) is not None:
            self._watch.end(trouble)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._watch)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


# Of a server and its door, not of a tool: wrong key, session gone, too many requests.
_NOT_THE_TOOL = frozenset({401, 403, 404, 408, 429})


def _trouble(response: httpx2.Response) -> str | None:
    """The reason that an answer to a call is no answer of its tool, if it is none; the SDK makes an error of both."""
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.status_code in _NOT_THE_TOOL or response.status_code >= 500:
        return f"it answered HTTP {response.status_code}"
    if response.status_code != 202 and kind not in ("application/json", "text/event-stream"):
        return f"it answered HTTP {response.status_code} with {kind[:40] or 'no content type'}"
    return None


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            if not self._watch.count(len(chunk)):
                raise httpx2.ReadError(self._watch.problem or "")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
