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
# What the ``nth`` request (from 1) on the connection of that number (from 1) gets before the connection is closed, if
# that is its last; None: nothing.
Answers = Callable[[int, int], bytes | None]


class ClosingServer:
    """Closes each connection after ``answers`` on it, or where ``answer(connection, nth)`` gives nothing.

    After each answer on a connection it sends what ``unasked(connection)`` gives, and then sets ``was_sent``.
    ``requests`` counts what was read whole, whether it was answered or not; ``closed`` is released once for every
    connection that was closed. Being on other threads, it closes when it likes and not when the client's loop has a
    moment for it.
    """

    def __init__(
        self,
        answers: int | None = 1,
        answer: Answers = lambda _connection, _nth: ANSWER,
        unasked: Callable[[int], bytes] = lambda _connection: b"",
        was_sent: threading.Event | None = None,
    ) -> None:
        self.requests = 0
        self.connections = 0
        self.closed = threading.Semaphore(0)
        self._counting = threading.Lock()
        self._answers = answers
        self._answer = answer
        self._unasked = unasked
        self._was_sent = was_sent or threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)

    def url(self, vendor: str = "v") -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/{vendor}"

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
                threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):
            self._answer_all(connection, number)
        connection.close()
        self.closed.release()

    def _answer_all(self, connection: socket.socket, number: int) -> None:
        with connection.makefile("rb") as reader:
            for nth in itertools.count(1):
                length = 0
                while (line := reader.readline()) not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                if not line:
                    return
                reader.read(length)
                with self._counting:
                    self.requests += 1
                answer = self._answer(number, nth)
                if answer is None:
                    return
                connection.sendall(answer)
                connection.sendall(self._unasked(number))
                self._was_sent.set()
                if nth == self._answers:
                    return
