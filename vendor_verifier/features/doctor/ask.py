"""Examines the vendors of a config: asks the tiny questions over the run's own transport, without retries."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import anyio
from msgspec import structs

from vendor_verifier.config import load_config
from vendor_verifier.errors import UsageError
from vendor_verifier.features.doctor.diagnose import diagnose
from vendor_verifier.features.doctor.reach import reach
from vendor_verifier.features.doctor.sdk_compatibility import replay_answers
from vendor_verifier.features.doctor.values import (
    Answer,
    Case,
    Diagnosis,
    Question,
    next_question,
    pause_s,
    within_budget,
)
from vendor_verifier.pipeline.plan import run_wires, wire_of
from vendor_verifier.pipeline.simulated_vendors import with_simulated_vendors
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import in_slices
from vendor_verifier.transport.proxies import require_proxies
from vendor_verifier.transport.resend import sent_to_the_end
from vendor_verifier.transport.sdk_adapter import SDK_OF_WIRE, require_sdks
from vendor_verifier.values.plan import Entry, Limits
from vendor_verifier.values.record import Exchange, Failure
from vendor_verifier.values.request import HttpRequest
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.parse_answer import answer_in_steps
from vendor_verifier.wire.progress import ProgressMeter

LIMITS = Limits(total_s=90.0, connect_s=10.0, first_token_s=45.0, idle_s=30.0)
# Few at a time: an examination must not disturb its own timing.
_AT_ONCE = 4
_NOTHING = Exchange(sent_at="", end_ns=0)


@dataclass(frozen=True, slots=True)
class Patient:
    """Everything needed to talk to one entry."""

    entry: Entry
    vendor: Vendor
    wire: Wire


async def examine(
    patients: Sequence[Patient], environ: Mapping[str, str], scrubber: Scrubber, *, sdk: bool = False
) -> tuple[Diagnosis, ...]:
    """Ask every entry at most three questions and judge it; in the order given."""
    found: dict[int, Case] = {}
    keys = KeyRing(scrubber)
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def one(number: int, patient: Patient) -> None:
        async with limiter:
            found[number] = await _case(patient, _Desk(transport, keys, scrubber), environ)

    async with FastTransport(LIMITS) as transport, anyio.create_task_group() as group:
        for number, patient in enumerate(patients):
            group.start_soon(one, number, patient)
    return tuple([
        diagnose(await _replayed(found[number]) if sdk else found[number], patient.wire)
        for number, patient in enumerate(patients)
    ])  # fmt: skip


async def _replayed(case: Case) -> Case:
    """After all have been asked, because the SDKs are slow enough to disturb what is being timed."""
    return replace(case, sdk=await replay_answers(case.answers, case.entry.wire))


async def _case(patient: Patient, desk: _Desk, environ: Mapping[str, str]) -> Case:
    entry = patient.entry
    reached = await reach(entry.endpoint.base_url, environ)
    answers: list[Answer] = []
    while (question := next_question(entry, answers)) is not None:
        await anyio.sleep(pause_s(answers))
        answers.append(await desk.ask(question, patient))
    return Case(entry, reached, tuple(answers))


@dataclass(frozen=True, slots=True)
class _Desk:
    """What asking needs, whoever is asked."""

    transport: FastTransport
    keys: KeyRing
    scrubber: Scrubber

    async def ask(self, question: Question, patient: Patient) -> Answer:
        """Send one question. Whatever goes wrong, on either side, is the answer's failure."""
        request, failure = await self._request(question, patient)
        if failure is not None:
            return Answer(question, request, _NOTHING, None, None, failure)
        try:
            return await self._sent(question, request, patient)
        except Exception as error:  # noqa: BLE001 a plugin's reader may raise anything; the other vendors go on
            return Answer(question, request, _NOTHING, None, None, self._plugin_failure(error))

    async def _request(self, question: Question, patient: Patient) -> tuple[HttpRequest, Failure | None]:
        nothing = HttpRequest("", {}, b"")
        try:
            endpoint = await self.keys.endpoint(patient.entry)
        except UsageError as error:
            return nothing, Failure("auth", "plan", str(error))
        try:
            request = patient.wire.request(question.turn, replace(endpoint, body=within_budget(endpoint.body)))
        except Exception as error:  # noqa: BLE001 as above
            return nothing, self._plugin_failure(error)
        if request.untranslatable:
            words = "not expressible on this wire: " + ", ".join(request.untranslatable)
            return request, Failure("untranslatable", "plan", words)
        return request, None

    async def _sent(self, question: Question, request: HttpRequest, patient: Patient) -> Answer:
        tools = question.turn.tools
        meter = ProgressMeter(patient.wire.reader(tools))
        exchange = await sent_to_the_end(
            lambda fresh: self.transport.exchange(request, meter, time.perf_counter_ns(), fresh=fresh)
        )
        # At the source, because everything further on is cut into excerpts, and half a key is not recognised.
        chunks = [(at_ns, self.scrubber.bytes(chunk)) for at_ns, chunk in exchange.chunks]
        exchange = structs.replace(exchange, chunks=chunks)
        timing, response, failure = await in_slices(
            answer_in_steps(
                exchange, patient.wire.reader(tools), tool_names=request.tool_names, classify=patient.vendor.classify
            )
        )
        if failure is not None:
            failure = structs.replace(failure, message=self.scrubber.text(failure.message))
        return Answer(question, request, exchange, timing, response, failure)

    def _plugin_failure(self, error: Exception) -> Failure:
        return Failure(
            "harness", "plan", self.scrubber.text(f"the plugin raised {type(error).__name__}: {error}")[:500]
        )


@dataclass(frozen=True, slots=True)
class DoctorRequest:
    """What the user asked for. ``env_file`` None means the ``.env`` beside the config."""

    config_file: Path
    env_file: Path | None = None
    vendor_paths: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    sdk: bool = False
    tokenizer_model: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """What was found, with what is needed to tell it safely."""

    diagnoses: tuple[Diagnosis, ...]
    scrubber: Scrubber
    warnings: tuple[str, ...] = ()


def doctor(request: DoctorRequest, environ: Mapping[str, str]) -> Visit:
    """Examine every selected entry of a config.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        UsageError: ``request.sdk`` without the SDKs that the entries need.
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
    if request.sdk:
        require_sdks({entry.wire for entry in configuration.entries} & SDK_OF_WIRE.keys())
    require_proxies((entry.endpoint.base_url for entry in configuration.entries), environ)
    scrubber = Scrubber(configuration.secrets)
    with with_simulated_vendors(configuration.entries, seed=0) as entries:
        wires = run_wires(entries, request.tokenizer_model)
        patients = [_patient(entry, registry, wires) for entry in entries]
        diagnoses = anyio.run(partial(examine, patients, environ, scrubber, sdk=request.sdk))
    broken = [f"vendor plugin {plugin.source} cannot be used: {plugin.error}" for plugin in registry.broken]
    return Visit(diagnoses, scrubber, (*configuration.warnings, *broken))


def _patient(entry: Entry, registry: Registry, wires: Mapping[str, Wire]) -> Patient:
    vendor = registry.vendor(entry.vendor)
    return Patient(entry, vendor, wire_of(entry, vendor, wires))
