"""The role of a protocol on the server's side: it reads a question and tells an answer, and decides neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from vendor_verifier.simulate.performance import Performance, Refusal
from vendor_verifier.simulate.question import Question


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what only concerns how it is answered. ``body`` is the request as it came."""

    question: Question
    model: str
    stream: bool
    include_usage: bool = True
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Told:
    """A streamed answer as bytes: what comes before the first token, the tokens, and what ends it."""

    opening: bytes
    pieces: list[bytes]
    closing: bytes


class SimulatedWire(Protocol):
    """One protocol. Instances hold no state."""

    @property
    def path(self) -> str:
        """Where it is served, below the persona."""

    def read(self, body: bytes) -> Asked: ...

    def stream(self, asked: Asked, performance: Performance, created: int) -> Told: ...

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes: ...

    def refusal(self, refusal: Refusal) -> bytes: ...
