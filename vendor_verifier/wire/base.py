"""The two roles of a protocol: a Wire asks, a Reader listens. No I/O, and no vendor's bytes can make them raise."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from vendor_verifier.values.event import SseEvent, StreamEvent
from vendor_verifier.values.request import Endpoint, HttpRequest, Turn


class Reader(Protocol):
    """Reads one answer; fresh for each attempt, may hold state between events."""

    def read(self, event: SseEvent) -> Iterable[StreamEvent]:
        """Normalise one server-sent event. Unknown events yield nothing; unreadable ones yield an Anomaly."""

    def read_body(self, body: object) -> Iterable[StreamEvent]:
        """Normalise a whole, parsed JSON answer (a vendor that does not stream)."""


class Wire(Protocol):
    """One protocol. Instances are immutable; quirks are constructor arguments."""

    @property
    def name(self) -> str:
        """What config.yaml says under ``validator:``."""

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
