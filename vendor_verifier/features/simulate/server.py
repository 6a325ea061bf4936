"""The simulated vendors, served on loopback: ``http://127.0.0.1:PORT/<persona>/v1/…``, nowhere else.

All five protocols stand below a persona; Gemini's under ``/v1beta`` too.

A request is parsed (``http``), read by its protocol (``wires``), answered by its persona (``performance``) and sent at
that persona's pace (``http``). The only state is how often a question was refused and asked, how many requests are
in flight, and a bounded log of them for tests.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from vendor_verifier.features.simulate.answer import NOTHING_KNOWN, AnswerKey
from vendor_verifier.features.simulate.answer_key import shipped_answers
from vendor_verifier.features.simulate.http import Connection, HttpCall, Reply, body_reply, stream_reply, whole_reply
from vendor_verifier.features.simulate.performance import Refusal, first_refusals, perform, refusal_of
from vendor_verifier.features.simulate.personas import PERSONAS, Persona
from vendor_verifier.features.simulate.question import BadQuestion
from vendor_verifier.features.simulate.wires import Asked, SimulatedWire, encoded, openai_error
from vendor_verifier.features.simulate.wires.anthropic import SimulatedAnthropic
from vendor_verifier.features.simulate.wires.completions import SimulatedCompletions
from vendor_verifier.features.simulate.wires.gemini import SimulatedGemini
from vendor_verifier.features.simulate.wires.openai import SimulatedChat, SimulatedResponses
from vendor_verifier.pipeline.simulated_vendors import READY_PREFIX
from vendor_verifier.wire.payload import PayloadError

_LOG_SIZE = 2000


@dataclass(frozen=True, slots=True)
class Seen:
    """One question as it arrived and the status it was given. Headers may hold a key and stay out of the ``repr``."""

    persona: str
    digest: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)


class Traffic:
    """Counts by persona and the last ``_LOG_SIZE`` questions."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.max_in_flight: Counter[str] = Counter()
        self.seen: deque[Seen] = deque(maxlen=_LOG_SIZE)

    def begin(self, persona: str) -> None:
        """A request for ``persona`` has arrived whole."""
        self.requests[persona] += 1
        self.in_flight[persona] += 1
        self.max_in_flight[persona] = max(self.max_in_flight[persona], self.in_flight[persona])

    def end(self, persona: str) -> None:
        """Its reply is out, or its client has gone."""
        self.in_flight[persona] -= 1


HOST = "127.0.0.1"
MODEL = "simulated-model"
WIRES: tuple[SimulatedWire, ...] = (
    SimulatedChat(),
    SimulatedResponses(),
    SimulatedCompletions(),
    SimulatedAnthropic(),
    SimulatedGemini(),
)
_MODELS_PATHS = ("/v1/models", "/v1beta/models")
_BACKLOG = 512


class SimulatedVendors:
    """All personas behind one port, for as long as the context lasts.

    Args:
        seed: another seed makes other decisions, arguments and faults.
        port: 0 takes a free one.
        speed: 2.0 answers twice as fast.
        key: what the model knows; by default the answers to all rows that ship, read on entering.

    Raises:
        OSError: on entering, when the port is taken.
    """

    def __init__(self, *, seed: int = 0, port: int = 0, speed: float = 1.0, key: AnswerKey | None = None) -> None:
        if speed <= 0:
            raise ValueError("speed must be above 0")
        self.traffic = Traffic()
        self._seed = seed
        self._port = port
        self._speed = speed
        self._key = key
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()
        self._refused: Counter[tuple[str, str, str]] = Counter()
        self._asked: Counter[tuple[str, str, str]] = Counter()

    async def __aenter__(self) -> SimulatedVendors:
        # Before the first question, so that no answer waits for it.
        self._key = shipped_answers() if self._key is None else self._key
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connect, HOST, self._port, backlog=_BACKLOG)
        self._port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
            for connection in list(self._connections):
                connection.abort()
            while self._connections:
                await asyncio.sleep(0)
            await self._server.wait_closed()
            self._server = None

    @property
    def port(self) -> int:
        """The port served, known once entered."""
        return self._port

    def base_url(self, persona: str) -> str:
        """The ``url`` of a vendor entry for ``persona``.

        Raises:
            KeyError: no such persona.
        """
        return f"http://{HOST}:{self._port}/{PERSONAS[persona].name}/v1"

    def _connect(self) -> Connection:
        return Connection(self._respond, self._done, self._connections)

    def _done(self, reply: Reply) -> None:
        if reply.persona is not None:
            self.traffic.end(reply.persona)

    def _respond(self, call: HttpCall) -> Reply:
        path = call.target.partition("?")[0]
        if path == "/":
            return whole_reply(200, encoded({name: persona.description for name, persona in PERSONAS.items()}))
        name, _, rest = path.removeprefix("/").partition("/")
        persona = PERSONAS.get(name)
        if persona is None:
            known = ", ".join(PERSONAS)
            return _refuse(404, f"no simulated vendor at {path[:200]}; the path begins with one of: {known}")
        if f"/{rest}" in _MODELS_PATHS:
            return self._models(call, persona)
        wire = next((wire for wire in WIRES if wire.serves(f"/{rest}")), None)
        if wire is None:
            return _refuse(404, f"{persona.name} serves nothing at /{rest[:200]}")
        if call.method != "POST":
            return _refuse(405, f"{call.method} is not allowed here", allow="POST")
        self.traffic.begin(persona.name)
        return self._answer(call, persona, wire)

    def _models(self, call: HttpCall, persona: Persona) -> Reply:
        if call.method != "GET":
            return _refuse(405, f"{call.method} is not allowed here", allow="GET")
        if persona.refusal is not None:
            return _refused(WIRES[0], refusal_of(persona.refusal))
        return whole_reply(200, encoded(_model_list(persona)))

    def _answer(self, call: HttpCall, persona: Persona, wire: SimulatedWire) -> Reply:
        try:
            asked = wire.read(call.body, call.target.removeprefix(f"/{persona.name}"))
        except BadQuestion as error:
            return _refused(wire, Refusal(400, "invalid_value", str(error), parameter=error.parameter), persona)
        except PayloadError as error:
            return _refused(wire, Refusal(400, "invalid_json", f"the body is not JSON: {error}"), persona)
        reply = self._performed(asked, persona, wire)
        self.traffic.seen.append(Seen(persona.name, asked.question.digest, reply.status, call.headers, asked.body))
        return reply

    def _performed(self, asked: Asked, persona: Persona, wire: SimulatedWire) -> Reply:
        key = (persona.name, wire.name, asked.question.digest)
        self._asked[key] += 1
        outcome = perform(
            asked.question,
            persona.among(self.traffic.in_flight[persona.name]).after(self.traffic.requests[persona.name]),
            self._seed,
            refused=self._refused[key],
            asked=self._asked[key],
            key=self._key or NOTHING_KNOWN,
        )
        if isinstance(outcome, Refusal):
            self._refused[key] += 1
            return _refused(wire, outcome, persona)
        # The next one who asks the same is refused first again, so that a run can be repeated on one server.
        if self._refused[key] >= first_refusals(asked.question, persona, self._seed):
            self._refused.pop(key, None)
        created = int(time.time())
        if asked.stream:
            return stream_reply(outcome, wire.stream(asked, outcome, created), self._speed, persona.name)
        return body_reply(outcome, wire.whole(asked, outcome, created), self._speed, persona.name)


async def serve(
    *,
    seed: int = 0,
    port: int = 0,
    speed: float = 1.0,
    known: AnswerKey = NOTHING_KNOWN,
    knows_shipped: bool = True,
    ready: Callable[[Mapping[str, str]], None] | None = None,
) -> None:
    """Serve until cancelled; ``ready`` is called with the base url of every persona once the port is open.

    ``known`` are answers before those to the rows that ship, which only those need who do not know what will be asked.

    Raises:
        OSError: the port is taken.
    """
    key = {**shipped_answers(), **known} if knows_shipped else known
    async with SimulatedVendors(seed=seed, port=port, speed=speed, key=key) as vendors:
        if ready is not None:
            ready({name: vendors.base_url(name) for name in PERSONAS})
        await asyncio.Event().wait()


def _model_list(persona: Persona) -> dict[str, Any]:
    """The one model, so that OpenAI's, Anthropic's and Gemini's clients each find what they look for."""
    name = persona.served_model or MODEL
    model = {"id": name, "object": "model", "created": 0, "owned_by": persona.name}
    anthropic = {"type": "model", "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
    gemini = {"name": f"models/{name}", "supportedGenerationMethods": ["generateContent"]}
    listed = {"object": "list", "data": [{**model, **anthropic}], "has_more": False, "first_id": name, "last_id": name}
    return {**listed, "models": [gemini]}


def _refused(wire: SimulatedWire, refusal: Refusal, persona: Persona | None = None) -> Reply:
    headers: list[tuple[str, str]] = []
    if refusal.retry_after_s is not None:
        # Whole seconds are all the standard header can say; the precise wait stands in the header SDKs read first.
        headers = [("retry-after", "0"), ("retry-after-ms", str(round(refusal.retry_after_s * 1000)))]
    name = None if persona is None else persona.name
    status, body = wire.refusal(refusal)
    return whole_reply(status, body, headers=headers, persona=name)


def _refuse(status: int, message: str, allow: str | None = None) -> Reply:
    headers = () if allow is None else (("allow", allow),)
    code = "not_found" if status == 404 else "method_not_allowed"
    return whole_reply(status, openai_error(Refusal(status, code, message)), headers=headers)


def announce(addresses: Mapping[str, str]) -> None:
    """Say where to find each persona; the first line is read by the demonstration."""
    some = next(iter(addresses.values()))
    sys.stdout.write(f"{READY_PREFIX}{some.rsplit('/', 2)[0]}\n")
    sys.stdout.writelines(f"  {persona:14} {url}\n" for persona, url in addresses.items())
    sys.stdout.flush()
