"""Runs a plan over worker processes of this machine: the engine in the children, all else here.

Limits are exact, because every lease is given here. Workers are not started again: what a dead one had not handed in is
asked again by the others, and when none is left the run ends with what came back.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, cast

import anyio
import msgspec
from msgspec import structs

from vendor_verifier.errors import ClusterError, UsageError, VerifierError
from vendor_verifier.records.plan import ExecutorChoice
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.cluster.coordinator import Coordinator
from vendor_verifier.run.cluster.job import (
    Bench,
    ChannelClosed,
    ClusterSide,
    Job,
    Message,
    Outbox,
    linger_of,
    longest_attempt_s,
)
from vendor_verifier.run.cluster.lease_server import LeaseServer
from vendor_verifier.run.cluster.load_coordinator import coordinator_of
from vendor_verifier.run.cluster.worker_session import serve
from vendor_verifier.run.event_loop_lag import quiet_collector
from vendor_verifier.run.interruption import interruptible
from vendor_verifier.run.local_run import RunEnd, Work

_LENGTH = struct.Struct("<I")
_BUFFER = 1 << 20
_decode = msgspec.msgpack.Decoder(dict[str, list[object]]).decode


def framed(data: bytes) -> bytes:
    """``data`` with its length before it."""
    return _LENGTH.pack(len(data)) + data


def receive_frame(connection: socket.socket) -> bytes:
    """One frame, waited for without an event loop.

    Raises:
        ChannelClosed: the other side is gone.
    """
    (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size))
    return _receive(connection, length)


def _receive(connection: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = connection.recv(size - len(parts))
        if not part:
            raise ChannelClosed
        parts += part
    return bytes(parts)


class SocketChannel:
    """One side of a socket pair as a channel: MessagePack, each message with its length before it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> Message:
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            return cast(Message, _decode(await self._reader.readexactly(length)))
        except (OSError, asyncio.IncompleteReadError):
            raise ChannelClosed from None

    async def write(self, message: Message) -> None:
        # A loop may refuse to write what another one drops.
        if self._writer.is_closing():
            raise ChannelClosed
        try:
            self._writer.write(framed(msgspec.msgpack.encode(message)))
            await self._writer.drain()
        except OSError:
            raise ChannelClosed from None

    def write_raw(self, data: bytes) -> None:
        """Send what is framed already, without waiting for it to be on its way; nothing where the other side left."""
        if not self._writer.is_closing():
            self._writer.write(data)

    def abort(self) -> None:
        self._writer.transport.abort()


async def socket_channel(connection: socket.socket) -> SocketChannel:
    """The channel over a connected socket, which it closes in the end."""
    connection.setblocking(False)
    return SocketChannel(*await asyncio.open_unix_connection(sock=connection, limit=_BUFFER))


@dataclass(frozen=True, slots=True)
class Start:
    """The first message to a worker. ``job`` has the keys in its entries, unlike one that leaves this machine."""

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


# Importing the product takes half a second of CPU; many workers on few cores share it.
READY_WITHIN_S = 60.0
_DEAD_WITHIN_S = 2.0
# The parent's module path, in case it was changed; -P keeps modules of the current folder out.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from vendor_verifier.run.cluster.process_executor import main; sys.exit(main(int(sys.argv[1])))"
)


class Child:
    """A worker process and the channel to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = anyio.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: SocketChannel | None = None

    @property
    def channel(self) -> SocketChannel:
        assert self._channel is not None
        return self._channel

    async def start(self, start: Start) -> None:
        """Start the process and tell it its job; :meth:`until_ready` waits for it.

        Raises:
            ClusterError: the system allows no further process.
        """
        ours, theirs = socket.socketpair()
        self._channel = await socket_channel(ours)
        with theirs:
            try:
                # A group of its own: Ctrl-C in the terminal is for the parent, which has work to finish.
                self._process = subprocess.Popen(  # noqa: S603 the same interpreter and our own code
                    [sys.executable, "-P", "-c", _PROGRAM, str(theirs.fileno()), *sys.path],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    process_group=0,
                )
            except OSError as error:
                raise ClusterError(f"worker process {self.name} could not be started: {error}") from error
        self._channel.write_raw(framed(pickle.dumps(start)))

    async def until_ready(self) -> None:
        """Wait until the worker has read its job.

        Raises:
            UsageError: it cannot do what the run asks for.
            ClusterError: it died, or is not ready within a minute.
        """
        with anyio.move_on_after(READY_WITHIN_S):
            try:
                message = await self.channel.read()
            except ChannelClosed:
                raise ClusterError(f"worker process {self.name} did not start: {await self.how_it_ended()}") from None
            failure = failure_in(self.name, message)
            if failure is not None:
                raise failure
            return
        raise ClusterError(f"worker process {self.name} was not ready within {READY_WITHIN_S:.0f} s")

    async def how_it_ended(self) -> str:
        """The process's end, in words, once its channel has closed."""
        assert self._process is not None
        deadline = time.monotonic() + _DEAD_WITHIN_S
        while (code := self._process.poll()) is None:
            if time.monotonic() > deadline:
                return "it closed its connection"
            await anyio.sleep(0.01)
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """Kill the process if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def end(self) -> None:
        """Kill the process if it still runs, and clear it away."""
        if self._channel is not None:
            self._channel.abort()
        self.kill()
        if self._process is not None:
            self._process.wait()


def failure_in(name: str, message: Message) -> VerifierError | None:
    """The failure a worker reports in ``message``; None when it reports none."""
    if "failed" not in message:
        return None
    is_users, words = message["failed"][-1]
    return UsageError(words) if is_users else ClusterError(f"worker process {name} failed:\n{words}")


_GRACE_S = 3.0


class WorkersExecutor:
    """One run over several processes."""

    def __init__(self, choice: ExecutorChoice, side: ClusterSide) -> None:
        self._choice = choice
        self._side = side
        self._children = [Child(f"w{number}") for number in range(choice.workers)]
        self._coordinator: Coordinator | None = None

    async def open(self, work: Work) -> None:
        """Start the processes and wait for all of them.

        Raises:
            UsageError: they cannot do what the run asks for.
            ClusterError: one did not start.
        """
        # Unlike a job for other machines this one has the keys: it goes through a socket to our own child.
        job = replace(work.job, plan=structs.replace(work.plan, tasks=()))
        for child in self._children:
            await child.start(Start(child.name, job, self._side.open_here, work.scrubber, work.use_uvloop))
        async with anyio.create_task_group() as group:
            for child in self._children:
                group.start_soon(child.until_ready)

    async def run(self, work: Work) -> RunEnd:
        lease_server = LeaseServer(
            work.plan,
            work.costs,
            work.in_flight,
            hang_after_s=self._choice.hang_after_s,
            attempt_s=longest_attempt_s(work.plan),
        )
        coordinator = self._coordinator = coordinator_of(
            work, len(self._children), lambda kind, *items: lease_server.order({kind: list(items)}), is_far=False
        )
        outboxes = [Outbox(child.channel, linger_of(work.plan)) for child in self._children]
        for child, outbox in zip(self._children, outboxes, strict=True):
            lease_server.join(child.name, child.name, outbox.send)
        lease_server.attend(partial(self._tell, coordinator))
        # Together, so that the first of them does not get it all.
        coordinator.receive({"joined": [child.name for child in self._children]})
        async with anyio.create_task_group() as group:
            group.start_soon(lease_server.watch)
            for child, outbox in zip(self._children, outboxes, strict=True):
                group.start_soon(self._converse, child, outbox, lease_server, coordinator)
            async with interruptible(coordinator.close) as interruption:
                await coordinator.until_finished()
            coordinator.wind_down()
            lease_server.order({"finish": [True]})
            with anyio.move_on_after(_GRACE_S):
                for child in self._children:
                    await child.ended.wait()
            group.cancel_scope.cancel()
        lease_server.order({"facts": [True]})
        return coordinator.run_end(interruption.signal_number)

    def _tell(self, coordinator: Coordinator, kind: str, *items: Any) -> None:
        coordinator.receive({kind: list(items)})
        # One that was given up hangs or is dead already: what it has in flight counts while its process is there.
        for name, *_ in items if kind == "left" else ():
            next(child for child in self._children if child.name == name).kill()

    def describe(self) -> Mapping[str, Any]:
        coordinator = self._coordinator
        reports = {} if coordinator is None else coordinator.reports
        workers = [
            {"name": child.name, **(asdict(reports[child.name]) if child.name in reports else {})}
            for child in self._children
        ]
        found: dict[str, Any] = {"name": "workers", "workers": workers}
        return found if coordinator is None else found | coordinator.describe()

    async def close(self) -> None:
        for child in self._children:
            child.end()

    async def _converse(
        self, child: Child, outbox: Outbox, lease_server: LeaseServer, coordinator: Coordinator
    ) -> None:
        """One worker's side of the run, until it has ended."""
        async with anyio.create_task_group() as group:
            group.start_soon(outbox.run)
            try:
                while True:
                    message = await child.channel.read()
                    failure = failure_in(child.name, message)
                    if failure is not None:
                        coordinator.fail(failure)
                    lease_server.receive(child.name, message)
            except ChannelClosed:
                child.ended.set()
                reason = await child.how_it_ended()
                lease_server.leave(child.name, reason)
            group.cancel_scope.cancel()
        if not coordinator.sessions:
            coordinator.fail(
                ClusterError(
                    f"no worker process is left, the last one: {reason}; what came back is kept, {coordinator.way_on}"
                )
            )
