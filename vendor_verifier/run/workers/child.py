"""One worker process as its parent sees it: started, spoken to, and surely ended. It knows nothing of samples."""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
import time

import anyio

from vendor_verifier.errors import ClusterError, UsageError, VerifierError
from vendor_verifier.run.cluster.outbox import ChannelClosed, Message
from vendor_verifier.run.workers.process import Start
from vendor_verifier.run.workers.socket_channel import SocketChannel, framed, socket_channel

# Importing the product takes half a second of CPU; many workers on few cores share it.
READY_WITHIN_S = 60.0
_DEAD_WITHIN_S = 2.0
# The parent's way to find modules, for whoever set one up; -P keeps modules of the current folder out.
_PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from vendor_verifier.run.workers.process import main; sys.exit(main(int(sys.argv[1])))"
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
                # A group of its own: Ctrl-C in the terminal is the parent's to hear, and it has work to finish.
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
        """Wait until it has read its job.

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
        """In words, once its channel has closed."""
        assert self._process is not None
        deadline = time.monotonic() + _DEAD_WITHIN_S
        while (code := self._process.poll()) is None:
            if time.monotonic() > deadline:
                return "it closed its connection"
            await anyio.sleep(0.01)
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"

    def end(self) -> None:
        """Nothing of it remains. One that has ended by itself is only cleared away."""
        if self._channel is not None:
            self._channel.abort()
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()


def failure_in(name: str, message: Message) -> VerifierError | None:
    """What a worker says went wrong there; None when it says something else."""
    if "failed" not in message:
        return None
    is_users, words = message["failed"][-1]
    return UsageError(words) if is_users else ClusterError(f"worker process {name} failed:\n{words}")
