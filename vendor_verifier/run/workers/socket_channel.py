"""Carries messages between two processes of this machine over a socket that only they hold; it understands none."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import cast

import msgspec

from vendor_verifier.run.cluster.outbox import ChannelClosed, Message

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
        try:
            self._writer.write(framed(msgspec.msgpack.encode(message)))
            await self._writer.drain()
        except OSError:
            raise ChannelClosed from None

    def write_raw(self, data: bytes) -> None:
        """Send what is framed already, without waiting for it to be on its way."""
        self._writer.write(data)

    def abort(self) -> None:
        self._writer.transport.abort()


async def socket_channel(connection: socket.socket) -> SocketChannel:
    """The channel over a connected socket, which it closes in the end."""
    connection.setblocking(False)
    return SocketChannel(*await asyncio.open_unix_connection(sock=connection, limit=_BUFFER))
