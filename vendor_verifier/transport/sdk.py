"""Sends requests through the official SDKs, to show what an application built on them gets; retries nothing.

The SDK builds the request and reads the answer; our client lies underneath. So limits, proxies, the record's bytes and
every time in it are the same as without an SDK. It takes about 100 µs for an event, so it reads an answer after its
end, and the loop serves others between two events. Where it fails on a sound answer, that is ``bad_payload``.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib import import_module
from logging import CRITICAL, getLogger
from operator import attrgetter
from typing import Any

import httpx2
from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Exchange, Failure
from vendor_verifier.transport.exchange import Client, Sending

# Package, class of the client, and the method that sends.
_SDKS: Mapping[str, tuple[str, str, str]] = {
    "openai": ("openai", "AsyncOpenAI", "chat.completions.create"),
    "openai_responses": ("openai", "AsyncOpenAI", "responses.create"),
    "openai_completions": ("openai", "AsyncOpenAI", "completions.create"),
    "anthropic": ("anthropic", "AsyncAnthropic", "messages.create"),
}
_SDK_HEADERS = frozenset({"accept", "content-type", "user-agent", "anthropic-version", "anthropic-beta"})
# The body reaches the SDK decoded and unframed, whatever it was on the network.
_FRAMING = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection"})


@dataclass
class _Call:
    sending: Sending
    exchange: Exchange | None = None
    bug: Exception | None = None


# The request in flight in this task, and what came of it.
_call: ContextVar[_Call] = ContextVar("call")


class SdkTransport(httpx2.AsyncBaseTransport):
    """A client that sends through ``network``, which it opens and closes, and speaks ``wires``; for one run."""

    def __init__(self, network: AbstractAsyncContextManager[Client], wires: Iterable[str] = ()) -> None:
        self._opening, self._wires = network, tuple(wires)
        self._http = httpx2.AsyncClient(transport=self, cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])))
        self._sdks: dict[str, Any] = {}
        self._reading = asyncio.Lock()

    async def __aenter__(self) -> SdkTransport:
        """Load the SDKs, so that no request pays for it, and open the network; UsageError: a wire has no SDK."""
        for wire in self._wires:
            self._sdk(wire)
        self._network = await self._opening.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._opening.__aexit__(*error)

    def _sdk(self, wire: str) -> Any:
        if wire not in _SDKS:
            raise UsageError(f"there is no official SDK for the wire {wire}; there is one for {', '.join(_SDKS)}")
        if wire not in self._sdks:
            package, kind, _ = _SDKS[wire]
            make = getattr(import_module(package), kind)
            getLogger(package).setLevel(CRITICAL)  # after the import, which sets a level of its own
            # Address and key are replaced before anything is sent; retries and time limits are ours.
            rules = {"http_client": self._http, "max_retries": 0, "timeout": None}
            self._sdks[wire] = make(api_key="none", base_url="http://sdk.invalid/v1", **rules)
        return self._sdks[wire]

    async def exchange(self, sending: Sending) -> Exchange:
        """Send one request through the SDK of its wire."""
        call, error, body = _Call(sending), None, json.loads(sending.request.body)
        _call.set(call)
        has_items = is_whole = body.get("stream") is not True
        create = attrgetter(_SDKS[sending.wire][2])(self._sdk(sending.wire))
        rest = {name: body.pop(name) for name in body.keys() - inspect.signature(create).parameters.keys()}
        try:
            answer = await create(**body, extra_body=rest or None)
            if not is_whole:
                async with self._reading:
                    async for _ in answer:
                        has_items = True
                        await asyncio.sleep(0)
        except Exception as raised:  # noqa: BLE001 whatever an SDK raises is what an application would see
            error = raised
        if call.bug is not None:
            raise call.bug
        if call.exchange is None:
            failure = Failure.of("harness", f"the SDK of {sending.wire} sent nothing: {_named(error)}")
            return Exchange(sent_at=datetime.now(UTC).isoformat(timespec="microseconds"), end_ns=0, failure=failure)
        failed = call.exchange.failure or _sdk_failure(call.exchange, sending, error, has_items=has_items)
        return structs.replace(call.exchange, failure=failed)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the SDK's request with our address and key; its answer is there when the last byte has been stamped."""
        call = _call.get()
        shaping = {name for name in request.headers if name in _SDK_HEADERS or name.startswith("x-stainless-")}
        ours = {name.lower(): value for name, value in call.sending.request.headers.items()}
        headers = ours | {name: request.headers[name] for name in shaping - (ours.keys() - {"accept", "content-type"})}
        sent = structs.replace(call.sending.request, headers=headers, body=await request.aread())
        try:
            exchange = call.exchange = await self._network.exchange(structs.replace(call.sending, request=sent))
        except Exception as error:
            call.bug = error
            raise
        if exchange.status is None:
            raise httpx2.ConnectError("there was no answer", request=request)
        kept = {name: value for name, value in exchange.headers.items() if name not in _FRAMING}
        return httpx2.Response(exchange.status, headers=kept, content=_pieces(exchange), request=request)


async def _pieces(exchange: Exchange) -> AsyncIterator[bytes]:
    for _, piece in exchange.chunks:
        yield piece
    if exchange.failure is not None:
        raise httpx2.ReadError(exchange.failure.message)


def _sdk_failure(exchange: Exchange, sending: Sending, error: Exception | None, *, has_items: bool) -> Failure | None:
    """The failure that the SDK alone makes of a sound, successful answer."""
    if exchange.status is None or not 200 <= exchange.status < 300:
        return None
    words = f"raised {_named(error)}"
    if error is None:
        # The last piece of an answer is not looked into as it arrives; twice finds no more.
        sending.meter.feed(exchange.chunks[-1][1] if exchange.chunks else b"")
        if has_items or exchange.body[:64].lstrip().startswith(b"<") or not sending.meter.has_token:
            return None
        words = f"yielded nothing of an answer of type {exchange.headers.get('content-type', '(none)')}"
    package = import_module(_SDKS[sending.wire][0])
    return Failure.of("bad_payload", f"the {package.__name__} SDK {package.__version__} {words}", exchange.status)


def _named(error: Exception | None) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:300]}"
