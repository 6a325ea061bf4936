"""What runs in a worker process: it is told its job over the socket it was born with, does it, and ends.

It also ends when its parent is gone, however that came about: then the socket is. Nothing secret is on its command line
or in a file; keys come over the socket and stay in memory.
"""

from __future__ import annotations

import pickle
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import anyio
import msgspec

from vendor_verifier.errors import UsageError
from vendor_verifier.run.cluster.job import Bench, Job
from vendor_verifier.run.cluster.outbox import ChannelClosed
from vendor_verifier.run.cluster.session import serve
from vendor_verifier.run.quiet_collector import quiet_collector
from vendor_verifier.run.workers.socket_channel import framed, receive_frame, socket_channel
from vendor_verifier.scrub import Scrubber


@dataclass(frozen=True, slots=True)
class Start:
    """The first thing a worker hears. ``job`` has the keys in its entries, unlike one that leaves this machine."""

    name: str
    job: Job
    open_bench: Callable[[Job, Scrubber], Bench]
    scrubber: Scrubber
    use_uvloop: bool


def main(descriptor: int) -> int:
    """Work for the parent at the other end of ``descriptor``; the exit code is for whoever looks at the process."""
    connection = socket.socket(fileno=descriptor)
    try:
        start = pickle.loads(receive_frame(connection))  # noqa: S301 our own parent's, over a socket nobody else holds
        assert isinstance(start, Start)
        bench = start.open_bench(start.job, start.scrubber)
        connection.sendall(_message("ready", start.name))
        with quiet_collector():
            anyio.run(_work, connection, start, bench, backend_options={"use_uvloop": start.use_uvloop})
    except (ChannelClosed, OSError):
        return 1
    except BaseException as error:  # noqa: BLE001 the parent tells the user; here there is nobody
        return _tell(connection, error)
    return 0


async def _work(connection: socket.socket, start: Start, bench: Bench) -> None:
    # A copy, so that there is still a way to tell what went wrong when the channel is closed.
    channel = await socket_channel(connection.dup())
    try:
        await serve(channel, bench, start.job.run, start.name)
    finally:
        channel.abort()


def _tell(connection: socket.socket, error: BaseException) -> int:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    is_users = isinstance(error, UsageError)
    words = str(error) if is_users else "".join(traceback.format_exception(error))[-2000:]
    try:
        connection.setblocking(True)
        connection.sendall(_message("failed", [is_users, words]))
    except OSError:
        return 1
    return 2 if is_users else 3


def _message(kind: str, item: object) -> bytes:
    return framed(msgspec.msgpack.encode({kind: [item]}))
