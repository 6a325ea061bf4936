"""The interface of a protocol (a Wire asks, a Reader reads the answer) and what all wires need: addresses, bodies,
notes.

No I/O, and no vendor's bytes can make them raise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.sse import SseEvent

_METHOD = ":streamGenerateContent"
_WHOLE_METHOD = ":generateContent"


@lru_cache(maxsize=256)
def join_url(base_url: str, path: str) -> str:
    """``base_url`` plus ``path``, unless the base already is the full address; a query stays at the end."""
    base, question, query = base_url.partition("?")
    base = base.rstrip("/")
    return (base if base.endswith(path) else base + path) + question + query


def messages_url(base_url: str) -> str:
    """The address of Messages under a base that may end in the version or the whole path already."""
    base = base_url.rstrip("/")
    if base.endswith("/messages"):
        return base
    return f"{base}/messages" if re.search(r"/v\d+$", base) else f"{base}/v1/messages"


def stream_url(base_url: str, model_id: str) -> str:
    """The streaming address of a model; ``alt=sse`` because without it the stream is one JSON array."""
    base = base_url.rstrip("/")
    if _METHOD in base:
        return base
    prefixed = model_id.startswith(("models/", "tunedModels/", "publishers/", "projects/"))
    model = model_id if prefixed else f"models/{model_id}"
    return f"{base}/{quote(model, safe='/:@')}{_METHOD}?alt=sse"


def whole_url(base_url: str, model_id: str) -> str:
    """The address of a model for an answer in one piece."""
    head, _, query = stream_url(base_url, model_id).partition(_METHOD)
    kept = [word for word in query.removeprefix("?").split("&") if word not in ("", "alt=sse")]
    return head + _WHOLE_METHOD + ("?" + "&".join(kept) if kept else "")


class Reader(Protocol):
    """Reads one answer; fresh for each attempt, may hold state between events."""

    def read(self, event: SseEvent, answer: Answer) -> None:
        """Put into ``answer`` what one server-sent event says. Unknown events say nothing, unreadable ones are noted as
        anomalies or losses."""

    def read_body(self, body: object, answer: Answer) -> None:
        """Read a whole, parsed JSON answer (a vendor that does not stream)."""


class Wire(Protocol):
    """One protocol. Instances are immutable; quirks are constructor arguments."""

    @property
    def name(self) -> str:
        """The protocol's name in config.yaml, under ``validator:``."""

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        """Translate a turn into one POST, streaming unless the turn says otherwise."""

    def reader(self, tools: Sequence[Mapping[str, Any]] = (), /) -> Reader:
        """A fresh reader for one attempt. ``tools`` are the turn's; most protocols need none of them to read."""


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """Serialise a request body once, compactly; a lone surrogate in a sample stays the escape it was."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()


class Notes:
    """The parts of a turn that a translation cannot carry (:meth:`cannot`) or has rewritten (:meth:`rewrote`)."""

    def __init__(self) -> None:
        self._untranslatable: dict[str, None] = {}
        self._rewritten: dict[str, None] = {}

    def cannot(self, what: str) -> None:
        self._untranslatable[what] = None

    def rewrote(self, what: str) -> None:
        self._rewritten[what] = None

    @property
    def untranslatable(self) -> tuple[str, ...]:
        return tuple(self._untranslatable)

    @property
    def rewritten(self) -> tuple[str, ...]:
        return tuple(self._rewritten)
