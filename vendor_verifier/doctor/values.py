"""What an examination asks, hears and finds: frozen values without behaviour beyond small derivations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vendor_verifier.values.exchange import Exchange
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.record import Failure, Response, Timing
from vendor_verifier.values.request import HttpRequest, Turn

Status = Literal["ok", "warning", "failed", "not_measurable"]
Verdict = Literal["usable", "usable_with_reservations", "not_usable"]
Topic = Literal["tools", "text"]


@dataclass(frozen=True, slots=True)
class Question:
    """One tiny request. ``name`` tells it apart in reports, ``topic`` is what it examines."""

    name: str
    topic: Topic
    turn: Turn


@dataclass(frozen=True, slots=True)
class Answer:
    """One question as it was sent and answered; ``exchange`` holds the bytes, the rest is our reading of them."""

    question: Question
    request: HttpRequest
    exchange: Exchange
    timing: Timing | None
    response: Response | None
    failure: Failure | None

    @property
    def succeeded(self) -> bool:
        return self.failure is None and self.response is not None

    @property
    def accepted(self) -> bool:
        """The vendor took the request: a 2xx status, whatever came after it."""
        return self.exchange.status is not None and 200 <= self.exchange.status < 300


@dataclass(frozen=True, slots=True)
class Reach:
    """How the vendor is reached, before and beside its answers.

    ``origin`` is scheme, host and port the key goes to. ``addresses`` and the TLS facts come from a connection of their
    own (standard library, no request); ``None`` and empty where it was not made, ``*_error`` where it failed.
    ``proxy`` is the proxy that the environment prescribes, without its credentials.
    """

    origin: str
    host: str
    scheme: str
    local: bool
    proxy: str | None = None
    addresses: tuple[str, ...] = ()
    dns_error: str | None = None
    tls_version: str | None = None
    tls_days_left: float | None = None
    tls_error: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One finding with what it rests on."""

    name: str
    status: Status
    evidence: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened in an answer, ``at_ms`` after the request was handed to a connected socket."""

    at_ms: float
    what: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens of all requests together, as reported or (``estimated``) a quarter of the characters.

    ``cost_usd`` is what the vendor says, else by the configured price; ``None`` when neither is known.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    cost_usd: float | None = None


SdkStatus = Literal["consistent", "crashes", "loses"]


@dataclass(frozen=True, slots=True)
class SdkFinding:
    """What an application on the official SDK makes of one answer. ``route``: the SDK's call that was used."""

    question: str
    sdk: str
    route: str
    status: SdkStatus
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything found out about one entry."""

    model: str
    label: str
    vendor: str
    wire: str
    model_id: str
    reach: Reach
    verdict: Verdict
    checks: tuple[Check, ...]
    spending: Spending
    key_name: str | None = None
    timeline_of: str | None = None
    timeline: tuple[Moment, ...] = ()
    error_body: str | None = None
    sdk: tuple[SdkFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One entry with all that was heard: what the judgements are made from."""

    entry: Entry
    reach: Reach
    answers: tuple[Answer, ...]
    sdk: tuple[SdkFinding, ...] = ()

    def about(self, topic: Topic) -> tuple[Answer, ...]:
        """The answers of one topic in the order asked."""
        return tuple(answer for answer in self.answers if answer.question.topic == topic)
