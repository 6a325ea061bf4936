"""The run's side of an MCP server: one for a whole run, behind a process of its own, ended with the run.

Calls of all samples go to it one at a time, in the order in which they came; how many wait is nobody's time but ours.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import msgspec

from vendor_verifier.errors import VerifierError
from vendor_verifier.features.mcp_live.access import Access, Listing
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.cluster.job import ChannelClosed
from vendor_verifier.run.cluster.process_executor import SocketChannel, framed, receive_frame, socket_channel
from vendor_verifier.values.tool_use import ToolRequest, ToolRun
from vendor_verifier.wire.payload import well_formed

# The host ends its server within three seconds.
_ENDS_WITHIN_S = 8.0
_GONE = "the process that speaks to the MCP server ended"
# The parent's module path, in case it was changed; -P keeps modules of the current folder out.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from vendor_verifier.features.mcp_live.host import main; sys.exit(main(int(sys.argv[1])))"
)


class ServerProblem(VerifierError):
    """An MCP server cannot be used; the message says why."""

    exit_code = 2


def _written(request: ToolRequest) -> list[str]:
    """A call as it is sent: its arguments as JSON, since a model may write numbers and half characters of any kind."""
    return [well_formed(request.name), well_formed(json.dumps(request.arguments, ensure_ascii=False))]


class LiveServer:
    """The server behind ``access``: a context, and a :class:`vendor_verifier.values.tool_use.ToolRunner` of one loop.

    The process between has no other variables than ``environment``.
    """

    def __init__(self, access: Access, environment: Mapping[str, str]) -> None:
        self._access = access
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._last_words = tempfile.TemporaryFile()  # noqa: SIM115 as long as the process
        self._socket: socket.socket | None = None
        self._channel: SocketChannel | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[ToolRun]] = {}
        self._number = 0

    def __enter__(self) -> LiveServer:
        self._socket, theirs = socket.socketpair()
        with theirs:
            # A group of its own: Ctrl-C in the terminal is for us, who end it when the answers under way are in.
            self._process = subprocess.Popen(  # noqa: S603 the same interpreter and our own code
                [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno()), *sys.path],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._last_words,
                process_group=0,
                env=dict(self._environment),
            )
        self._socket.sendall(framed(msgspec.msgpack.encode(self._access)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._socket is not None
        # Its end of the line falls silent, upon which the host ends the server and itself.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        try:
            self._process.wait(timeout=_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._last_words.close()

    def listing(self) -> Listing:
        """The server's tools; it is started for it. Before the first :meth:`run`.

        Raises:
            ServerProblem: it does not start, or does not list its tools.
        """
        assert self._socket is not None
        try:
            self._socket.sendall(framed(msgspec.msgpack.encode({"run": [[0, None]]})))
            ((_, found),) = msgspec.msgpack.decode(receive_frame(self._socket))["ran"]
        except (ChannelClosed, OSError):
            raise ServerProblem(self._gone()) from None
        listing = msgspec.convert(found, Listing)
        if listing.problem is not None:
            raise ServerProblem(listing.problem)
        return listing

    async def run(self, requests: Sequence[ToolRequest]) -> ToolRun:
        """The results of calls, in order, up to one that the server fails."""
        self._number = number = self._number + 1
        waiting: asyncio.Future[ToolRun] = asyncio.get_running_loop().create_future()
        try:
            if self._channel is None:
                await self._listen()
            assert self._channel is not None
            self._waiting[number] = waiting
            await self._channel.write({"run": [[number, [_written(each) for each in requests]]]})
            return await waiting
        except ChannelClosed:
            return ToolRun(failure=self._gone())
        finally:
            self._waiting.pop(number, None)

    def _gone(self) -> str:
        """The words for a process that ended, with the last line that it wrote."""
        self._last_words.seek(0)
        lines = self._last_words.read().decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), None)
        return _GONE if last is None else f"{_GONE}: {plain(last)}"

    async def _listen(self) -> None:
        assert self._socket is not None
        # A copy, since the channel closes what it is given.
        self._channel = channel = await socket_channel(self._socket.dup())
        self._reader = asyncio.create_task(self._read(channel))

    async def _read(self, channel: SocketChannel) -> None:
        """Hand each answer to whom it belongs; who has gone meanwhile gets none."""
        try:
            while True:
                for number, found in (await channel.read())["ran"]:
                    self._end(number, msgspec.convert(found, ToolRun))
        except ChannelClosed:
            for number in list(self._waiting):
                self._end(number, ToolRun(failure=self._gone()))
        finally:
            channel.abort()

    def _end(self, number: int, ran: ToolRun) -> None:
        waiting: asyncio.Future[Any] | None = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(ran)
