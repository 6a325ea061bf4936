"""One client's connection: requests in, timed bytes out, in order; what is said is the ``respond`` function's business.

Each step of a reply is timed from the step before, so a busy machine slows a stream down but never runs its pieces
together. A client that does not read stops the stream; one that goes away ends it.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import cast

from vendor_verifier.simulate.http1 import MAX_BODY, CallParser, HttpCall, HttpError
from vendor_verifier.simulate.reply import Reply, whole_reply

_MAX_WAITING = 2 * MAX_BODY


class Connection(asyncio.Protocol):
    """Callbacks of one connection. ``respond`` answers a request, ``done`` is told of each reply that has ended."""

    def __init__(
        self,
        respond: Callable[[HttpCall], Reply],
        done: Callable[[Reply], None],
        connections: set[Connection],
    ) -> None:
        self._respond = respond
        self._done = done
        self._connections = connections
        self._parser = CallParser()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reply: Reply | None = None
        self._next_step = 0
        self._keep_alive = True
        self._chunked = False
        self._blocked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 every way of going away is the same
        self._connections.discard(self)
        self._transport = None
        self._leave_reply()

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        if self._reply is not None and self._timer is None:
            self._play()
            self._advance()

    def data_received(self, data: bytes) -> None:
        self._parser.feed(data)
        if self._reply is None:
            self._advance()
        elif self._parser.buffered > _MAX_WAITING:
            self.abort()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _advance(self) -> None:
        """Answer what has been asked, one request after another, until a reply takes time or bytes are missing."""
        while self._reply is None and self._transport is not None and not self._transport.is_closing():
            try:
                call = self._parser.take()
            except HttpError as error:
                self._begin(_protocol_error(error), keep_alive=False, chunked=False)
                return
            if call is None:
                if self._parser.wants_continue:
                    self._parser.wants_continue = False
                    self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                return
            self._begin(self._respond(call), keep_alive=call.keep_alive, chunked=call.chunks_allowed)

    def _begin(self, reply: Reply, *, keep_alive: bool, chunked: bool) -> None:
        self._reply = reply
        self._chunked = reply.length is None and chunked
        self._keep_alive = keep_alive and (self._chunked or reply.length is not None)
        self._next_step = 0
        self._wait(reply.steps[0].after_s)

    def _wait(self, after_s: float) -> None:
        if after_s > 0:
            self._timer = asyncio.get_running_loop().call_later(after_s, self._continue)
        else:
            self._play()

    def _continue(self) -> None:
        self._play()
        self._advance()

    def _play(self) -> None:
        """Send the steps that are due."""
        self._timer = None
        reply, transport = self._reply, self._transport
        while reply is not None and transport is not None and not self._blocked:
            transport.write(self._framed(reply))
            self._next_step += 1
            if self._next_step == len(reply.steps):
                self._finish(reply, transport)
                return
            after_s = reply.steps[self._next_step].after_s
            if after_s > 0:
                self._timer = asyncio.get_running_loop().call_later(after_s, self._continue)
                return

    def _framed(self, reply: Reply) -> bytes:
        data = reply.steps[self._next_step].data
        if self._chunked and data:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._next_step == 0:
            data = reply.head(keep_alive=self._keep_alive, chunked=self._chunked) + data
        last = self._next_step == len(reply.steps) - 1
        return data + b"0\r\n\r\n" if last and self._chunked and reply.ending == "complete" else data

    def _finish(self, reply: Reply, transport: asyncio.Transport) -> None:
        self._leave_reply()
        if reply.ending == "reset":
            # No lingering: the kernel sends a reset instead of a close.
            sock = cast(socket.socket, transport.get_extra_info("socket"))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        elif reply.ending != "complete" or not self._keep_alive:
            transport.close()

    def _leave_reply(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._reply is not None:
            reply, self._reply = self._reply, None
            self._done(reply)


def _protocol_error(error: HttpError) -> Reply:
    body = {"error": {"message": str(error), "type": "invalid_request_error", "param": None, "code": None}}
    return whole_reply(error.status, json.dumps(body).encode())
