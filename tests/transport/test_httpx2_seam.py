"""What an SDK is given of an exchange: the answer in its pieces, or the exception that httpx2 would have raised."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from vendor_verifier.transport.sdk_adapter import Seam, client_over, replaying_client
from vendor_verifier.values.record import Exchange, Failure, FailureKind

pytestmark = pytest.mark.anyio

URL = "http://sdk.invalid/v1"


def exchange(*pieces: bytes, failure: Failure | None = None, **headers: str) -> Exchange:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Exchange("", 0, 200, named, [(n, piece) for n, piece in enumerate(pieces)], failure=failure)


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("dns", httpx2.ConnectError),
        ("connect_refused", httpx2.ConnectError),
        ("connect", httpx2.ConnectError),
        ("tls", httpx2.ConnectError),
        ("timeout_connect", httpx2.ConnectTimeout),
        ("timeout_first_token", httpx2.ReadTimeout),
        ("timeout_total", httpx2.ReadTimeout),
        ("connection_reset", httpx2.ReadError),
        ("protocol", httpx2.RemoteProtocolError),
        ("harness", httpx2.LocalProtocolError),
    ],
)
async def test_no_answer_is_the_exception_of_its_kind(kind: FailureKind, raised: type[httpx2.RequestError]) -> None:
    """An SDK tells a time limit from a broken connection by the class, and its user by the words."""
    nothing = Exchange("", 0, failure=Failure(kind, "headers", "what happened"))
    async with replaying_client(nothing) as http:
        with pytest.raises(httpx2.RequestError, match="what happened") as caught:
            await http.post(URL)
    assert type(caught.value) is raised
    assert str(caught.value.request.url) == URL


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("timeout_idle", httpx2.ReadTimeout),
        ("truncated", httpx2.RemoteProtocolError),
        ("bad_payload", httpx2.DecodingError),
        ("limit_exceeded", httpx2.ReadError),
    ],
)
async def test_an_answer_breaks_where_it_broke(kind: FailureKind, raised: type[httpx2.RequestError]) -> None:
    """Every piece that arrived is given out first, each by itself, then the exception."""
    cut = exchange(b"hel", b"lo", failure=Failure(kind, "stream", "it broke", 200))
    async with replaying_client(cut) as http, http.stream("POST", URL) as response:
        pieces = response.aiter_raw()
        assert [await anext(pieces), await anext(pieces)] == [b"hel", b"lo"]
        with pytest.raises(httpx2.RequestError, match="it broke") as caught:
            await anext(pieces)
    assert type(caught.value) is raised


async def test_an_answer_is_given_as_it_was_unpacked() -> None:
    """Headers that speak of the transfer are gone, or the body would be unpacked and counted once more."""
    answer = exchange(b"plain", content_encoding="gzip", content_length="3", transfer_encoding="chunked", x_id="7")
    async with replaying_client(answer) as http:
        response = await http.post(URL)
    assert (response.status_code, response.content, dict(response.headers)) == (200, b"plain", {"x-id": "7"})


async def test_each_task_is_answered_by_its_own_exchange() -> None:
    """Many ask at once through one client, and nobody gets another's answer, nor one after its own is over."""
    seam = Seam()

    async def ask(number: int, http: httpx2.AsyncClient) -> bytes:
        async def send(_: httpx2.Request) -> Exchange:
            await asyncio.sleep(0.001 * (number % 3))
            return exchange(b"%d" % number)

        with seam.sending(send):
            content = (await http.post(URL)).content
        with pytest.raises(LookupError):
            await http.post(URL)
        return content

    async with client_over(seam) as http:
        assert await asyncio.gather(*(ask(n, http) for n in range(20))) == [b"%d" % n for n in range(20)]


async def test_no_cookie_is_kept() -> None:
    """One client serves a whole run: what a vendor sets must neither be sent to another nor pile up."""
    async with replaying_client(exchange(b"", set_cookie="route=1; Path=/")) as http:
        await http.post(URL)
        assert len(http.cookies.jar) == 0
