"""The role of a protocol on the server's side: it reads a question and tells an answer, and decides neither."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from vendor_verifier.simulate.performance import Performance, Refusal
from vendor_verifier.simulate.question import Question

EVENT_STREAM = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what only concerns how it is answered. ``body`` is the request as it came.

    ``style`` is a word between a protocol's ``read`` and its telling: which of several forms the answer takes.
    """

    question: Question
    model: str
    stream: bool
    include_usage: bool = True
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    style: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """A streamed answer as bytes: what comes before the first token, the tokens, and what ends it.

    An empty piece is time in which the model generates and the protocol has nothing to say.
    """

    opening: bytes
    pieces: list[bytes]
    closing: bytes
    content_type: str = EVENT_STREAM


class SimulatedWire(Protocol):
    """One protocol. Instances hold no state."""

    @property
    def name(self) -> str:
        """The product's name of the protocol, as ``validator:`` says it."""

    def serves(self, path: str) -> bool:
        """Whether it is spoken at ``path``, which begins below the persona and has no query."""

    def read(self, body: bytes, target: str = "") -> Asked:
        """Read a request to ``target``, path and query below the persona.

        Raises:
            BadQuestion: not a request of this protocol.
            PayloadError: not JSON.
        """

    def stream(self, asked: Asked, performance: Performance, created: int) -> Told:
        """The answer in pieces."""

    def whole(self, asked: Asked, performance: Performance, created: int) -> bytes:
        """The answer as one JSON object."""

    def refusal(self, refusal: Refusal) -> tuple[int, bytes]:
        """Status and error object, in this protocol's own words."""
