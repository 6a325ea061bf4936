"""A loopback server on threads of its own that promises to keep a connection and then does not, as llama.cpp's does."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable
from types import TracebackType

from fault_server import DONE, END, chunk, head, text

ANSWER = head(keep_alive="timeout=5", connection="keep-alive") + chunk(text("hello")) + chunk(DONE) + END
# The whole of what goes over a connection that was asked ``nth`` (from 1) times; None: it is closed without an answer.
Answers = Callable[[int], bytes | None]


class ClosingServer:
    """Closes each connection after ``answers`` on it; ``answer(nth)`` says what the ``nth`` request of one gets.

    ``requests`` counts what was read whole, whether it was answered or not. Being on other threads, it closes when it
    likes and not when the client's loop has a moment for it.
    """

    def __init__(self, answers: int = 1, answer: Answers = lambda _nth: ANSWER) -> None:
        self.requests = 0
        self.connections = 0
        self._answers = answers
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v"

    def __enter__(self) -> ClosingServer:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A thread that waits in accept() is woken by this and not by a close alone.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as reader, contextlib.suppress(OSError):
            for nth in itertools.count(1):
                length = 0
                while (line := reader.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                if not line:
                    return
                reader.read(length)
                self.requests += 1
                answer = self._answer(nth)
                if answer is None:
                    return
                connection.sendall(answer)
                if nth == self._answers:
                    return
