"""Carries our messages over one of Dask's own connections, with whatever encryption the cluster has."""

from __future__ import annotations

from typing import Any, cast

from distributed.comm.core import Comm, CommClosedError, connect

from vendor_verifier.run.cluster.outbox import ChannelClosed, Message

_CONNECT_S = 20.0


def operation(sitting: str) -> str:
    """The name under which the gate of a run's sitting listens in the scheduler."""
    return f"vendor-verifier-gate-{sitting}"


class CommChannel:
    """A Dask connection as a channel."""

    def __init__(self, comm: Comm) -> None:
        self._comm = comm

    async def read(self) -> Message:
        try:
            return cast(Message, await self._comm.read())
        except (CommClosedError, OSError, EOFError):
            raise ChannelClosed from None

    async def write(self, message: Message) -> None:
        try:
            await self._comm.write(message)
        except (CommClosedError, OSError, EOFError):
            raise ChannelClosed from None

    def abort(self) -> None:
        self._comm.abort()


async def open_channel(address: str, sitting: str, connection: dict[str, Any], **who: str) -> CommChannel:
    """Connect to the gate of a sitting, saying who comes.

    Raises:
        OSError: there is no scheduler, or it does not accept us.
    """
    comm = await connect(address, timeout=_CONNECT_S, **connection)
    await comm.write({"op": operation(sitting), "reply": False, "who": who})
    return CommChannel(comm)
