"""The examination of a config's vendors: their network path, and their answers when asked as a run asks."""

from __future__ import annotations

import random
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import msgspec
from msgspec import structs

from vendor_verifier.config import load_config
from vendor_verifier.config.credentials import read_address
from vendor_verifier.features.doctor.diagnose import diagnose
from vendor_verifier.features.doctor.hints import hints
from vendor_verifier.features.doctor.sdk_compatibility import replay_answers
from vendor_verifier.features.doctor.values import (
    Answer,
    Case,
    Diagnosis,
    Question,
    Reach,
    next_question,
    pause_s,
    within_budget,
)
from vendor_verifier.pipeline.plan import run_wires, wire_of
from vendor_verifier.pipeline.simulated_vendors import with_simulated_vendors
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import find_vendors
from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.conversation import Conversation, Target
from vendor_verifier.run.event_loop_lag import LoopLag
from vendor_verifier.run.rate_limiter import LocalLimiter
from vendor_verifier.suites import Play
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import Client, Sending
from vendor_verifier.transport.proxies import proxy_for, require_proxies
from vendor_verifier.values.plan import Limits, RetryRules
from vendor_verifier.values.record import Attempt, Exchange
from vendor_verifier.values.request import HttpRequest, Turn
from vendor_verifier.values.score import Score
from vendor_verifier.words import english

LIMITS = Limits(total_s=90.0, connect_s=10.0, first_token_s=45.0, idle_s=30.0)
# Few at a time: an examination must not disturb its own timing.
_AT_ONCE = 4
_NOTHING = Exchange(sent_at="", end_ns=0)
_ONE_TRY = RetryRules(retries=0)
_LIMIT_S = 6.0
_CONNECT_S = 4.0
_TOO_LATE = english("doctor_too_late", seconds=f"{_LIMIT_S:g}")
_DAY_S = 86400.0
_PORTS = {"http": 80, "https": 443}


async def examine(targets: Sequence[Target], environ: Mapping[str, str], scrubber: Scrubber) -> tuple[Diagnosis, ...]:
    """Ask every entry at most three questions and judge it; in the order given."""
    found: dict[int, Case] = {}
    keys = KeyRing(scrubber)
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def one(number: int, target: Target) -> None:
        async with limiter:
            found[number] = await _case(target, transport, keys, scrubber, environ, lag)

    async with FastTransport(LIMITS) as transport:
        with LoopLag() as lag:
            async with anyio.create_task_group() as group:
                for number, target in enumerate(targets):
                    group.start_soon(one, number, target)
    cases = [found[number] for number in range(len(targets))]
    told = hints(cases)
    # The SDKs come after all have been asked, because they are slow enough to disturb what is being timed.
    return tuple([
        diagnose(await _replayed(case), target.wire, said)
        for case, target, said in zip(cases, targets, told, strict=True)
    ])  # fmt: skip


async def _replayed(case: Case) -> Case:
    return structs.replace(case, sdk=await replay_answers(case.answers, case.entry.wire))


async def _case(
    target: Target,
    transport: FastTransport,
    keys: KeyRing,
    scrubber: Scrubber,
    environ: Mapping[str, str],
    lag: LoopLag,
) -> Case:
    entry = target.entry
    reached = await reach(entry.endpoint.base_url, environ)
    # The questions bring the entry's own parameters, without its budgets.
    endpoint = replace(entry.endpoint, body=within_budget(entry.endpoint.body))
    asked = replace(target, entry=structs.replace(entry, endpoint=endpoint, parameters={}))
    answers: list[Answer] = []
    while (question := next_question(entry, answers)) is not None:
        await anyio.sleep(pause_s(answers))
        witness = _Witness(transport, scrubber)
        # A limiter for each question: what stops a vendor in a run is here one finding among others.
        limiter = LocalLimiter([asked.entry], 1)
        conversation = Conversation(
            witness,
            limiter,
            _ONE_TRY,
            random.Random(0),  # noqa: S311 waits
            scrubber,
            keys,
            lag=lag,
        )
        (turn,) = await conversation.play(_once(question.turn), asked)
        answers.append(witness.answer(question, turn.attempts[-1]))
    return Case(entry, reached, tuple(answers))


def _once(turn: Turn) -> Play:
    """A play of one question without a judgement."""
    yield turn
    return partial(Score, "doctor")


class _Witness:
    """A client that keeps the bytes of the last exchange, because a run's record holds too little to judge by."""

    def __init__(self, client: Client, scrubber: Scrubber) -> None:
        self._client = client
        self._scrubber = scrubber
        self._request = HttpRequest("", {}, b"")
        self._exchange = _NOTHING

    async def exchange(self, sending: Sending) -> Exchange:
        """As :meth:`vendor_verifier.transport.policy.Client.exchange`."""
        found = await self._client.exchange(sending)
        # At the source, because everything further on is cut into excerpts, and half a key is not recognised.
        chunks = [(at_ns, self._scrubber.bytes(chunk)) for at_ns, chunk in found.chunks]
        self._request, self._exchange = sending.request, structs.replace(found, chunks=chunks)
        return self._exchange

    def answer(self, question: Question, attempt: Attempt) -> Answer:
        """The answer to ``question``, without its exchange where our own code failed while reading it."""
        failure = attempt.failure
        seen = _NOTHING if failure is not None and failure.kind == "harness" else self._exchange
        return Answer(question, self._request, seen, attempt.timing, attempt.response, failure)


class DoctorRequest(msgspec.Struct, frozen=True):
    """The options of one examination. ``env_file`` None means the ``.env`` beside the config."""

    config_file: Path
    env_file: Path | None = None
    vendor_paths: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    tokenizer_model: str | None = None


class Visit(msgspec.Struct, frozen=True):
    """The diagnoses of an examination, with the scrubber that must see every text printed of them."""

    diagnoses: tuple[Diagnosis, ...]
    scrubber: Scrubber
    warnings: tuple[str, ...] = ()


def doctor(request: DoctorRequest, environ: Mapping[str, str]) -> Visit:
    """Examine every selected entry of a config.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        UsageError: a raw completion without its tokenizer, or a proxy of an unknown kind.
    """
    registry = find_vendors(request.vendor_paths)
    configuration = load_config(
        request.config_file,
        env_file=request.env_file,
        environ=environ,
        registry=registry,
        models=request.models,
        vendors=request.vendors,
    )
    require_proxies((entry.endpoint.base_url for entry in configuration.entries), environ)
    scrubber = Scrubber(configuration.secrets)
    with with_simulated_vendors(configuration.entries, seed=0) as entries:
        wires = run_wires(entries, request.tokenizer_model)
        found = [(entry, registry.vendor(entry.vendor)) for entry in entries]
        targets = [Target(entry, vendor, wire_of(entry, vendor, wires)) for entry, vendor in found]
        diagnoses = anyio.run(partial(examine, targets, environ, scrubber))
    broken = [english("warn_plugin", source=plugin.source, error=plugin.error) for plugin in registry.broken]
    return Visit(diagnoses, scrubber, (*configuration.warnings, *broken))


async def reach(base_url: str, environ: Mapping[str, str]) -> Reach:
    """The reachability of an address, found in at most twelve seconds; behind a proxy nothing is looked up here.

    Raises:
        AddressError: the address is none; configuration has refused it long before.
    """
    address = read_address(base_url, allow_http=True)
    parts = urlsplit(address.url)
    proxy = proxy_for(address.url, environ)
    shown = None if proxy is None else english("doctor_proxy_from", proxy=proxy.shown, variable=proxy.variable)
    known = Reach(address.origin, address.host, parts.scheme, address.local, shown)
    if proxy is not None:
        return known
    port = parts.port or _PORTS[parts.scheme]
    found = structs.replace(known, dns_error=_TOO_LATE)
    with anyio.move_on_after(_LIMIT_S):
        # A resolver cannot be interrupted; its thread is left behind when time is up.
        found = await anyio.to_thread.run_sync(_resolved, known, port, abandon_on_cancel=True)
    if not found.addresses or parts.scheme != "https":
        return found
    with anyio.move_on_after(_LIMIT_S):
        return await anyio.to_thread.run_sync(_secured, found, port, abandon_on_cancel=True)
    return structs.replace(found, tls_error=_TOO_LATE)


def _resolved(reach: Reach, port: int) -> Reach:
    try:
        found = socket.getaddrinfo(reach.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return structs.replace(reach, dns_error=str(error) or type(error).__name__)
    return structs.replace(reach, addresses=tuple(dict.fromkeys(str(item[4][0]) for item in found)))


def _secured(reach: Reach, port: int) -> Reach:
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((reach.host, port), timeout=_CONNECT_S) as plain,
            context.wrap_socket(plain, server_hostname=reach.host) as secure,
        ):
            expiry = (secure.getpeercert() or {}).get("notAfter")
            version = secure.version()
    except (OSError, ValueError) as error:
        return structs.replace(reach, tls_error=str(error) or type(error).__name__)
    days = (ssl.cert_time_to_seconds(expiry) - time.time()) / _DAY_S if isinstance(expiry, str) else None
    return structs.replace(reach, tls_version=version, tls_days_left=days)
