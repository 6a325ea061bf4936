"""The server on its socket: what it refuses, how it streams, and that it outlives its clients."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from costs import PATIENCE_S, least_of
from questions import body

from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.server import SimulatedVendors, serve
from vendor_verifier.wire.assembler import collect
from vendor_verifier.wire.gemini.reader import GeminiReader
from vendor_verifier.wire.sse import SseDecoder

GEMINI = {"contents": [{"role": "user", "parts": [{"text": "How are you?"}]}]}
PATH = "/faithful/v1/chat/completions"


def _run(test: Callable[[SimulatedVendors], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with SimulatedVendors(**{"speed": 20.0, **options}) as vendors, asyncio.timeout(PATIENCE_S):
            await test(vendors)

    asyncio.run(main())


def _post(content: dict[str, Any] | bytes, path: str = PATH, extra: str = "") -> bytes:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return f"POST {path} HTTP/1.1\r\nhost: x\r\n{extra}content-length: {len(data)}\r\n\r\n".encode() + data


async def _read_reply(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if line)
    if headers.get("transfer-encoding") != "chunked":
        length = headers.get("content-length")
        data = await (reader.read() if length is None else reader.readexactly(int(length)))
        return int(head[0].split()[1]), headers, data
    data = b""
    while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
        data += (await reader.readexactly(size + 2))[:-2]
    assert await reader.readexactly(2) == b"\r\n"
    return int(head[0].split()[1]), headers, data


async def _exchange(vendors: SimulatedVendors, raw: bytes) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", vendors.port)
    try:
        writer.write(raw)
        return await _read_reply(reader)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (_post({}), 400),
        (_post(b"{nonsense"), 400),
        (_post(b"[1]"), 400),
        (_post(b"[" * 5000), 400),
        (_post(body("?", stream="yes")), 400),
        (_post({**body("?"), "messages": "hello"}), 400),
        (_post({**body("?"), "model": None}), 400),
        (_post(b""), 400),
        (_post(body("?"), path="/nobody/v1/chat/completions"), 404),
        (_post(body("?"), path="/faithful/v1/embeddings"), 404),
        (b"GET /faithful/v1/chat/completions HTTP/1.1\r\n\r\n", 405),
        (b"GET /faithful/v1/messages HTTP/1.1\r\n\r\n", 405),
        (_post({"model": "m", "input": "?"}, path="/faithful/v1/responses"), 200),
        (_post(body("?", tools=[], max_tokens=9), path="/faithful/v1/messages"), 200),
        (_post(body("?", tools=[]), path="/faithful/v1/messages"), 400),
        (_post({"model": "m", "prompt": "?"}, path="/faithful/v1/completions"), 200),
        (_post(GEMINI, path="/faithful/v1beta/models/m:generateContent"), 200),
        (_post(GEMINI, path="/faithful/v1/models/m:generateContent"), 200),
        (_post(GEMINI, path="/faithful/v1/publishers/google/models/m%2Fn:streamGenerateContent"), 200),
        (_post(b"{nonsense", path="/faithful/v1beta/models/m:streamGenerateContent?alt=sse"), 400),
        (_post(GEMINI, path="/faithful/v1beta/models/m:countTokens"), 404),
        (_post(GEMINI, path="/faithful/v2/models/m:generateContent"), 404),
        (b"GET /faithful/v1beta/models HTTP/1.1\r\n\r\n", 200),
        (b"DELETE /faithful/v1/models HTTP/1.1\r\n\r\n", 405),
        (b"POST / HTTP/1.1\r\ncontent-length: 999999999\r\n\r\n", 413),
        (b"\x16\x03\x01 tls hello\r\n\r\n", 400),
        (b"GET /faithful/v1/models HTTP/1.1\r\n\r\n", 200),
        (b"GET /locked/v1/models HTTP/1.1\r\n\r\n", 401),
        (b"GET /down/v1/models HTTP/1.1\r\n\r\n", 500),
        (b"GET / HTTP/1.1\r\n\r\n", 200),
    ],
)
def test_statuses(raw: bytes, status: int) -> None:
    """Every kind of bad input has its status and a JSON error, and the lists are served."""

    async def check(vendors: SimulatedVendors) -> None:
        found, headers, data = await _exchange(vendors, raw)
        assert found == status
        assert headers["content-type"].split(";")[0] == "application/json"
        answer = json.loads(data)
        assert (isinstance(answer, dict) and answer.get("error") is not None) == (status != 200)

    _run(check)


def test_pipelined_requests_are_answered_in_order() -> None:
    """Several requests sent at once on one connection, whole and streamed, are answered one after another."""

    async def check(vendors: SimulatedVendors) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", vendors.port)
        asked = [body(f"question {number}", stream=bool(number % 2), tool_choice="none") for number in range(6)]
        writer.write(b"".join(_post(item) for item in asked))
        types = [(await _read_reply(reader))[1]["content-type"].split(";")[0] for _ in asked]
        assert types == ["application/json", "text/event-stream"] * 3
        writer.close()
        await writer.wait_closed()
        assert vendors.traffic.max_in_flight["faithful"] == 1

    _run(check)


def test_a_chunked_body_sent_byte_by_byte_is_answered() -> None:
    """A client that trickles a chunked request gets the same answer as one that sends it whole."""

    async def check(vendors: SimulatedVendors) -> None:
        data = json.dumps(body("slowly", tool_choice="none")).encode()
        head = f"POST {PATH} HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n".encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", vendors.port)
        writer.write(head)
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        for byte in b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data):
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        trickled = json.loads((await _read_reply(reader))[2])
        writer.close()
        await writer.wait_closed()
        whole = json.loads((await _exchange(vendors, _post(data)))[2])
        assert trickled["choices"] == whole["choices"]
        assert trickled["id"] != whole["id"]

    _run(check)


def test_http_1_0_gets_a_stream_that_ends_with_the_connection() -> None:
    """An old client is answered without chunks."""

    async def check(vendors: SimulatedVendors) -> None:
        raw = _post(body("old", stream=True)).replace(b"HTTP/1.1", b"HTTP/1.0")
        _, headers, data = await _exchange(vendors, raw)
        assert "transfer-encoding" not in headers
        assert data.endswith(b"data: [DONE]\n\n")

    _run(check)


def test_geminis_stream_is_an_array_unless_events_are_asked_for() -> None:
    """The same chunks come as one JSON array, or with ``alt=sse`` as events, and our reader hears the same in both."""

    async def check(vendors: SimulatedVendors) -> None:
        path = "/faithful/v1beta/models/m:streamGenerateContent"
        _, headers, array = await _exchange(vendors, _post(GEMINI, path=path))
        assert headers["content-type"].startswith("application/json")
        _, headers, events = await _exchange(vendors, _post(GEMINI, path=f"{path}?alt=sse"))
        assert headers["content-type"].startswith("text/event-stream")
        decoder, reader = SseDecoder(), GeminiReader()
        heard = collect(event for item in decoder.feed(events) for event in reader.read(item)).response
        listed = collect(GeminiReader().read_body(json.loads(array))).response
        assert len(json.loads(array)) > 3
        assert heard.text
        assert (heard.text, heard.finish_raw, heard.usage) == (listed.text, listed.finish_raw, listed.usage)
        assert heard.served_model == "m"

    _run(check)


def test_each_protocol_has_refusals_of_its_own() -> None:
    """A question that a bursty vendor refused and then answered over one protocol is refused first over the next."""

    async def check(vendors: SimulatedVendors) -> None:
        refused = 0
        for number in range(20):
            chat = _post(body(f"burst {number}", tools=[]), path="/bursty/v1/chat/completions")
            asked = {"model": "m", "input": f"burst {number}"}
            responses = _post(asked, path="/bursty/v1/responses")
            seen = [[(await _exchange(vendors, raw))[0] for _ in range(3)] for raw in (chat, responses)]
            assert seen[0] == seen[1]
            refused += seen[0][0] != 200
        assert refused

    _run(check)


def test_clients_that_leave_are_forgotten() -> None:
    """A client that hangs up in the middle of a stream ends it, and the next one is served."""

    async def check(vendors: SimulatedVendors) -> None:
        for _ in range(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", vendors.port)
            writer.write(_post(body("leaving", stream=True), path="/slow/v1/chat/completions"))
            await reader.readuntil(b"\r\n\r\n")
            writer.transport.abort()
        while vendors.traffic.in_flight["slow"]:
            await asyncio.sleep(0.005)
        assert (await _exchange(vendors, _post(body("next"))))[0] == 200

    _run(check, speed=0.5)


def test_a_client_that_does_not_read_is_waited_for() -> None:
    """An answer larger than all buffers waits for its reader and arrives whole, while others are served."""

    async def check(vendors: SimulatedVendors) -> None:
        word = {"type": "object", "properties": {f"k{n}": {"const": "x" * 100_000} for n in range(100)}}
        word["required"] = list(word["properties"])
        tool = {"type": "function", "function": {"name": "big", "parameters": word}}
        big = body("big", stream=True, tools=[tool], tool_choice="required", parallel_tool_calls=False)
        reader, writer = await asyncio.open_connection("127.0.0.1", vendors.port, limit=1 << 16)
        writer.write(_post(big))
        await writer.drain()
        while not vendors.traffic.in_flight["faithful"]:
            await asyncio.sleep(0.01)
        assert (await _exchange(vendors, _post(body("other"), path="/padded/v1/chat/completions")))[0] == 200
        await asyncio.sleep(0.3)
        assert vendors.traffic.in_flight["faithful"] == 1
        _, _, data = await _read_reply(reader)
        assert data.count(b"x") >= 100 * 100_000
        assert data.endswith(b"data: [DONE]\n\n")
        writer.close()
        await writer.wait_closed()

    _run(check, speed=20_000.0)


def test_streams_are_paced_and_buffering_is_not() -> None:
    """The faithful vendor's stream is spread over time; the buffering one's arrives in one piece after as long."""

    async def moments(vendors: SimulatedVendors, persona: str) -> list[float]:
        reader, writer = await asyncio.open_connection("127.0.0.1", vendors.port)
        start = time.perf_counter()
        writer.write(_post(body("pace", stream=True, tool_choice="none"), path=f"/{persona}/v1/chat/completions"))
        found = []
        while not (data := await reader.read(65536)).endswith(b"0\r\n\r\n"):
            assert data
            found.append(time.perf_counter() - start)
        found.append(time.perf_counter() - start)
        writer.close()
        await writer.wait_closed()
        return found

    async def shortest_burst(vendors: SimulatedVendors) -> float:
        """Its length, as a share of the time over which the faithful stream was spread just before."""
        spread, burst = await moments(vendors, "faithful"), await moments(vendors, "buffering")
        # A busy machine may let us read a paced answer late, and so in fewer pieces.
        if len(spread) < 6 or spread[-1] - spread[0] <= 0.020:
            return math.inf
        assert burst[-1] > 0.030
        return (burst[-1] - burst[0]) / (spread[-1] - spread[0])

    async def check(vendors: SimulatedVendors) -> None:
        assert await least_of(partial(shortest_burst, vendors), 0.5) < 0.5

    _run(check, speed=1.0)


def test_a_run_repeated_on_one_server_is_refused_again() -> None:
    """A bursty vendor refuses, answers, and refuses the same question again: a second run sees what the first saw."""

    async def check(vendors: SimulatedVendors) -> None:
        seen = []
        for number in range(40):
            raw = _post(body(f"burst {number}"), path="/bursty/v1/chat/completions")
            seen.append([(await _exchange(vendors, raw))[0] for _ in range(6)])
        refused = [statuses for statuses in seen if statuses[0] != 200]
        assert 2 <= len(refused) <= 15
        for statuses in refused:
            cycle = statuses.index(200) + 1
            assert statuses == (statuses[:cycle] * 6)[:6]
        assert [statuses for statuses in seen if statuses not in refused] == [[200] * 6] * (40 - len(refused))

    _run(check)


def test_retry_hints_stand_in_both_headers() -> None:
    """A 429 says how long to wait, in whole seconds and in milliseconds."""

    async def check(vendors: SimulatedVendors) -> None:
        for number in range(60):
            raw = _post(body(f"burst {number}"), path="/bursty/v1/chat/completions")
            status, headers, _ = await _exchange(vendors, raw)
            if status == 429:
                assert headers["retry-after"] == "0"
                assert 50 <= int(headers["retry-after-ms"]) <= 200
                return
        raise AssertionError("no 429 in 60 questions")

    _run(check)


def test_only_loopback_is_bound() -> None:
    """The server listens on 127.0.0.1 and says so in every base url."""

    async def check(vendors: SimulatedVendors) -> None:
        assert vendors._server is not None
        assert [sock.getsockname()[0] for sock in vendors._server.sockets] == ["127.0.0.1"]
        assert {vendors.base_url(name) for name in PERSONAS} == {
            f"http://127.0.0.1:{vendors.port}/{name}/v1" for name in PERSONAS
        }
        with pytest.raises(KeyError):
            vendors.base_url("nobody")

    _run(check)


def test_a_vendor_with_little_room_refuses_only_who_comes_too_many() -> None:
    """Of ten requests at once the throttled one answers six; asked one after the other it answers all."""

    async def check(vendors: SimulatedVendors) -> None:
        path = "/throttled/v1/chat/completions"
        at_once = await asyncio.gather(*(_exchange(vendors, _post(body(f"{n}"), path)) for n in range(10)))
        assert sorted(status for status, *_ in at_once) == [200] * 6 + [429] * 4
        assert [(await _exchange(vendors, _post(body(f"{n}"), path)))[0] for n in range(3)] == [200] * 3

    _run(check)


def test_traffic_is_counted() -> None:
    """Requests, questions and the most in flight at once are kept per persona."""

    async def check(vendors: SimulatedVendors) -> None:
        await asyncio.gather(*(_exchange(vendors, _post(body(f"{n}"), extra="x-tag: 7\r\n")) for n in range(4)))
        traffic = vendors.traffic
        assert (traffic.requests["faithful"], traffic.in_flight["faithful"]) == (4, 0)
        assert 1 <= traffic.max_in_flight["faithful"] <= 4
        assert len(traffic.seen) == 4
        assert traffic.seen[0].headers["x-tag"] == "7"
        assert traffic.seen[0].body["model"] == "m"

    _run(check)


def test_serve_runs_until_cancelled() -> None:
    """The sub-command's coroutine reports its addresses, serves, and frees the port when cancelled."""

    async def main() -> None:
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(serve(ready=told.set_result, speed=50.0))
        url = (await told)["faithful"]
        port = int(url.split(":")[2].split("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /faithful/v1/models HTTP/1.1\r\n\r\n")
        assert (await _read_reply(reader))[0] == 200
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    asyncio.run(main())


@pytest.mark.parametrize("speed", [0, -1])
def test_speed_must_be_positive(speed: float) -> None:
    """A speed that would stop time is refused."""
    with pytest.raises(ValueError, match="speed"):
        SimulatedVendors(speed=speed)
