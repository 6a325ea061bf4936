"""Sends one answer of any size over plain sockets, from a thread of its own: what it does is not counted as ours."""

from __future__ import annotations

import contextlib
import socket
import threading

# Of processor time: encoding and writing a megabyte of control characters takes half of it.
LONGEST_S = 0.03
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def sized(body: bytes, head: bytes = HEAD) -> bytes:
    """The answer with its length stated."""
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


class FloodServer:
    """Answers every connection with the same bytes, and ends it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def url(self, vendor: str = "v") -> str:
        return f"http://127.0.0.1:{self.port}/{vendor}"

    def __enter__(self) -> FloodServer:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Whoever waits in accept is not woken by closing.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(20)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(1024 * 1024)
                    connection.sendall(self._data)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(1024 * 1024):
                        """What is left unread at the end would make a reset of it."""
