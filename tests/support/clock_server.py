"""Streams tokens that say when they were sent.

A process of its own, standard library only, so that it is up at once and shares no event loop with what is
measured. It speaks as much HTTP as that needs: keep-alive, one answer after the other, server-sent events in
the chat-completions form. Every stamp is ``perf_counter_ns``, which on one machine is one clock for all processes. The
answer's id is the moment its request arrived; each piece of its text is the moment just before it was written. It
prints its port, and ends by itself.
"""

from __future__ import annotations

import selectors
import socket
import sys
import time
from heapq import heappop, heappush
from itertools import count

PIECES = 12
TTFT_S = 0.06
GAP_S = 0.01
# The process that started it may have been killed.
_LONGEST_S = 30.0
_LENGTH = b"\r\ncontent-length:"
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_CHOICE = '{"id":"%d","object":"chat.completion.chunk","model":"clock","choices":[{"index":0,%s}]}'
_PIECE = '"delta":{"content":"%d "},"finish_reason":null'
_FINISH = '"delta":{},"finish_reason":"stop"'


class _Stream:
    """One connection: what was asked and how much of the answer is still to come."""

    def __init__(self, connection: socket.socket, offset_s: float) -> None:
        self.connection = connection
        self.offset_s = offset_s
        self._read = b""
        self._asked_ns = 0
        self._left = 0

    def receive(self, data: bytes) -> bool:
        """Take bytes that have just arrived; True when they complete a request."""
        now_ns = time.perf_counter_ns()
        self._read += data
        head, end, body = self._read.partition(b"\r\n\r\n")
        _, _, length = head.lower().partition(_LENGTH)
        if not end or len(body) < int(length.partition(b"\r\n")[0] or 0):
            return False
        self._read, self._asked_ns, self._left = b"", now_ns, PIECES
        return True

    def send_next(self) -> bool:
        """Write the next piece; True when there is another."""
        begin = _HEAD if self._left == PIECES else b""
        self._left -= 1
        end = b"" if self._left else _event(_CHOICE % (self._asked_ns, _FINISH)) + _event("[DONE]") + b"0\r\n\r\n"
        piece = _PIECE % time.perf_counter_ns()
        self.connection.sendall(begin + _event(_CHOICE % (self._asked_ns, piece)) + end)
        return self._left > 0


def _event(data: str) -> bytes:
    event = f"data: {data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(event), event)


def serve(listener: socket.socket) -> None:
    """Answer until ``_LONGEST_S`` have passed."""
    over_s = time.perf_counter() + _LONGEST_S
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    numbers = count()
    due: list[tuple[float, int, _Stream]] = []
    while (now_s := time.perf_counter()) < over_s:
        for key, _ in waiting.select(max(0.0, due[0][0] - now_s) if due else 1.0):
            if key.data is None:
                connection, _address = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                # Streams speak at moments of their own, as those of many customers do, not all at once.
                stream = _Stream(connection, GAP_S * (next(numbers) * 0.618 % 1.0))
                waiting.register(connection, selectors.EVENT_READ, stream)
            elif _received(key.data, waiting):
                heappush(due, (time.perf_counter() + TTFT_S + key.data.offset_s, next(numbers), key.data))
        while due and due[0][0] <= time.perf_counter():
            at_s, _, stream = heappop(due)
            if _sent(stream):
                heappush(due, (at_s + GAP_S, next(numbers), stream))


def _received(stream: _Stream, waiting: selectors.BaseSelector) -> bool:
    """Whether a request is complete; a client that left is forgotten."""
    try:
        data = stream.connection.recv(65536)
    except OSError:
        data = b""
    if not data:
        waiting.unregister(stream.connection)
        stream.connection.close()
        return False
    return stream.receive(data)


def _sent(stream: _Stream) -> bool:
    try:
        return stream.send_next()
    except OSError:
        return False


def main() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        serve(listener)


if __name__ == "__main__":
    main()
