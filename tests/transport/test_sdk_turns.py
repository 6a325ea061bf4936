"""Many requests through one SDK at once: it takes its time, and nobody's clock, connection or turn suffers from it."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping
from itertools import accumulate, pairwise
from typing import Any

import pytest
from asking import TURN
from costs import PATIENCE_S, held_until
from fault_server import DONE, END, FaultServer, Script, chunk, head, say, stream, text
from sending import CLIENTS, PATIENT, SOON_A_TOKEN, OpenTransport, send

from vendor_verifier.records.request import Endpoint
from vendor_verifier.transport import sdk_client
from vendor_verifier.transport.policy import ProgressMeter, Sending
from vendor_verifier.transport.sdk_adapter import open_stream
from vendor_verifier.wire.openai_chat import OpenAIChat

pytestmark = pytest.mark.anyio

through_sdk: OpenTransport = CLIENTS["sdk"]
GOOD = say(stream(text("fine"), DONE))
ITEMS = 30
WORK_S = 0.01


@pytest.fixture
def slow_sdk(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An SDK that computes for 10 ms over every item and never waits; when it was through with each (ns)."""
    worked_ns: list[int] = []

    async def working(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for item in items:
            time.sleep(WORK_S)
            worked_ns.append(time.perf_counter_ns())
            yield item

    async def opened(client: Any, wire: str, body: Mapping[str, Any]) -> AsyncIterator[Any]:
        return working(await open_stream(client, wire, body))

    monkeypatch.setattr(sdk_client, "open_stream", opened)
    return worked_ns


async def test_an_sdk_that_reads_slowly_moves_nobodys_stamps(server: FaultServer, slow_sdk: list[int]) -> None:
    """Two long answers are read for over half a second; one that ticks every 50 ms meanwhile is stamped between their
    items, and not after all of them."""
    ticks = [(0.05, chunk(text(f"{n} ", None))) for n in range(8)]
    script = Script([(0.0, head()), *ticks, (0.0, chunk(DONE) + END)], "keep")
    long = say(stream(*(text("x", None) for _ in range(ITEMS)), DONE))
    server.answer = lambda seen: script if seen.vendor == "ticks" else long

    async with asyncio.timeout(PATIENCE_S), through_sdk(PATIENT) as client:
        began_ns = time.perf_counter_ns()
        asked = (send(client, server.url(vendor)) for vendor in ("ticks", "a", "b"))
        ticking, *others = await asyncio.gather(*asked)
    assert [one.kind for one in others] == [None] * 2
    assert ticking.text == "0 1 2 3 4 5 6 7 "
    assert len(slow_sdk) > 2 * ITEMS
    # Read in one go, an answer would hold the clock up for all of its items: no stamp could fall between them.
    first_ns = ticking.timing.first_token_ns
    assert first_ns is not None
    stamps_ns = list(accumulate(ticking.timing.gaps_ns, initial=began_ns + first_ns))
    worked = [bisect_left(slow_sdk, at_ns) for at_ns in stamps_ns]
    assert max(later - earlier for earlier, later in pairwise(worked)) < ITEMS


async def test_a_connection_serves_one_request_after_the_other(server: FaultServer) -> None:
    """As without an SDK, and the record says so."""
    server.answer = lambda _: GOOD
    async with through_sdk(PATIENT) as client:
        sent = [await send(client, server.url()) for _ in range(3)]
    assert [one.exchange.connection_reused for one in sent] == [False, True, True]
    assert server.connections == 1


async def test_an_answer_byte_by_byte_is_read_like_any_other(server: FaultServer) -> None:
    """Each byte in a piece of its own, in the middle of a character too: text and kind are as in one piece."""
    whole = stream(text("für dich", None), text("!"), DONE)
    server.answer = lambda _: Script([(0.0005, whole[n : n + 1]) for n in range(len(whole))], "keep")
    async with through_sdk(PATIENT) as client:
        sent = await send(client, server.url())
    assert len(sent.exchange.chunks) > 100
    assert (sent.kind, sent.text) == (None, "für dich!")


async def test_many_at_once_each_get_their_own_answer(server: FaultServer) -> None:
    """Fifty through one SDK client: all of them wait for the network together, and no answer is mixed up."""
    server.answer = lambda seen: Script(
        held_until(lambda: len(server.seen) == 50, stream(text(seen.vendor), DONE)), "keep"
    )
    async with asyncio.timeout(PATIENCE_S), through_sdk(PATIENT) as client:
        sent = await asyncio.gather(*(send(client, server.url(f"v{n}")) for n in range(50)))
    assert [one.text for one in sent] == [f"v{n}" for n in range(50)]
    assert server.most_together == 50


async def test_a_request_that_is_cancelled_gives_its_turn_back(server: FaultServer) -> None:
    """While it waits for the network or reads, wherever it is stopped, the next request goes through."""
    async with through_sdk(PATIENT) as client:
        for script in (Script((), "hang"), say(stream(*(text("x", None) for _ in range(2_000)), DONE))):
            server.answer = lambda _, script=script: script  # type: ignore[misc]
            task = asyncio.create_task(send(client, server.url()))
            await _until_asked(server)
            await asyncio.sleep(0.05)
            assert not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.answer = lambda _: GOOD
            server.seen.clear()
            async with asyncio.timeout(PATIENCE_S):
                assert (await send(client, server.url())).text == "fine"
            server.seen.clear()


async def _until_asked(server: FaultServer) -> None:
    while not server.seen:
        await asyncio.sleep(0.001)


async def test_a_time_limit_is_the_networks_and_not_what_the_sdk_calls_it(server: FaultServer) -> None:
    """The SDK is told of a ReadTimeout and raises its own; the record keeps which limit was met."""
    server.answer = lambda _: Script((), "hang")
    async with through_sdk(SOON_A_TOKEN) as client:
        sent = await send(client, server.url())
    assert (sent.kind, sent.phase) == ("timeout_first_token", "headers")


async def test_a_bug_of_ours_is_not_taken_for_the_vendors_failure(server: FaultServer) -> None:
    """A reader that raises does so to whoever asked; an SDK underneath which it happens does not wrap it."""

    class Broken(ProgressMeter):
        def feed(self, chunk: bytes) -> bool:
            raise ZeroDivisionError

    steps = [(0.0, head() + chunk(text("a", None))), (0.02, chunk(DONE) + END)]
    server.answer = lambda _: Script(steps, "keep")
    wire = OpenAIChat()
    asked = wire.request(TURN, Endpoint(server.url(), "m", "key"))
    async with through_sdk(PATIENT) as client:
        with pytest.raises(ZeroDivisionError):
            await client.exchange(Sending(asked, Broken(wire.reader()), time.perf_counter_ns(), wire.name))
