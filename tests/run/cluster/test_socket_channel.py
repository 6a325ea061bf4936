"""Messages between two processes: whole, in order, and an end that is noticed."""

from __future__ import annotations

import asyncio
import socket

import pytest

from vendor_verifier.run.cluster.job import ChannelClosed, Outbox
from vendor_verifier.run.cluster.process_executor import SocketChannel, framed, receive_frame, socket_channel

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def pair() -> tuple[SocketChannel, SocketChannel]:
    one, two = socket.socketpair()
    return await socket_channel(one), await socket_channel(two)


async def write_for_ever(channel: SocketChannel) -> None:
    while True:
        await channel.write({"rows": [[1, b"x" * 100_000]]})


async def test_messages_arrive_whole_and_in_order() -> None:
    """Small ones, one of several megabytes, and everything that a message may hold."""
    one, two = await pair()
    sent = [{"rows": [[1, b"x" * 3_000_000]]}, {"fine": [0, 1, -1], "pause": [[0, 1.5]]}, {"beat": [True]}]

    async def send() -> None:
        for message in sent:
            await one.write(message)

    sending = asyncio.ensure_future(send())
    assert [await two.read() for _ in sent] == sent
    await sending
    one.abort()
    two.abort()


async def test_an_end_is_noticed_on_both_sides() -> None:
    """By who reads and by who writes, in the middle of a message as well."""
    one, two = await pair()
    two.write_raw(framed(b"cut short")[:7])
    await asyncio.sleep(0.01)
    two.abort()
    with pytest.raises(ChannelClosed):
        await one.read()
    with pytest.raises(ChannelClosed):
        await write_for_ever(one)
    one.abort()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_nothing_is_written_to_who_has_left(loop: str) -> None:
    """Also where the loop calls it a defect: the channel says that it is closed, and the outbox ends."""
    made = pytest.importorskip("uvloop").new_event_loop if loop == "uvloop" else asyncio.new_event_loop

    async def whole() -> None:
        one, two = await pair()
        two.abort()
        with pytest.raises(ChannelClosed):
            await one.read()
        one.abort()
        await asyncio.sleep(0.01)
        with pytest.raises(ChannelClosed):
            await one.write({"beat": [True]})
        one.write_raw(framed(b"too late"))

    with asyncio.Runner(loop_factory=made) as runner:
        runner.run(whole())


async def test_a_quiet_outbox_writes_at_once_and_a_busy_one_together() -> None:
    """The first word does not wait; what is said within the next moments shares a write."""
    one, two = await pair()
    outbox = Outbox(one, linger_s=0.2)
    writing = asyncio.ensure_future(outbox.run())
    outbox.send("fine", 1)
    assert await two.read() == {"fine": [1]}
    for number in range(2, 50):
        outbox.send("fine", number)
    assert await two.read() == {"fine": list(range(2, 50))}
    writing.cancel()
    one.abort()
    two.abort()


def test_a_first_frame_is_read_without_a_loop() -> None:
    """What a worker hears before it has one, and that nobody is there any more."""
    one, two = socket.socketpair()
    with two:
        with one:
            one.sendall(framed(b"hello") + framed(b"") + framed(b"cut")[:-1])
        assert receive_frame(two) == b"hello"
        assert receive_frame(two) == b""
        with pytest.raises(ChannelClosed):
            receive_frame(two)
