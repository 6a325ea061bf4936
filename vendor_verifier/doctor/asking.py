"""Asks vendors the tiny questions, with the run's own transport and clock; it judges nothing and retries nothing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from vendor_verifier.doctor.diagnosing import diagnose
from vendor_verifier.doctor.questions import next_question, pause_s, within_budget
from vendor_verifier.doctor.reaching import reach
from vendor_verifier.doctor.sdk_replay import replay_answers
from vendor_verifier.doctor.values import Answer, Case, Diagnosis, Question
from vendor_verifier.run.transport import Transport
from vendor_verifier.scrub import Scrubber
from vendor_verifier.values.exchange import Exchange
from vendor_verifier.values.plan import Entry, Limits
from vendor_verifier.values.record import Failure
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.answer import read_answer
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.progress import ProgressMeter

LIMITS = Limits(total_s=90.0, connect_s=10.0, first_token_s=45.0, idle_s=30.0)
# Few at a time: an examination must not disturb its own timing.
_AT_ONCE = 4


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
    found: dict[int, Diagnosis] = {}
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def one(number: int, patient: Patient) -> None:
        async with limiter:
            case = await _case(patient, transport, environ, scrubber, sdk=sdk)
        found[number] = diagnose(case, patient.wire)

    async with Transport(LIMITS) as transport, anyio.create_task_group() as group:
        for number, patient in enumerate(patients):
            group.start_soon(one, number, patient)
    return tuple(found[number] for number in sorted(found))


async def _case(
    patient: Patient, transport: Transport, environ: Mapping[str, str], scrubber: Scrubber, *, sdk: bool
) -> Case:
    entry = patient.entry
    reached = await reach(entry.endpoint.base_url, environ)
    answers: list[Answer] = []
    while (question := next_question(entry, answers)) is not None:
        await anyio.sleep(pause_s(answers))
        answers.append(await _ask(question, patient, transport, scrubber))
    findings = await replay_answers(answers, entry.wire) if sdk else ()
    return Case(entry, reached, tuple(answers), findings)


async def _ask(question: Question, patient: Patient, transport: Transport, scrubber: Scrubber) -> Answer:
    endpoint = patient.entry.endpoint
    request = patient.wire.request(question.turn, replace(endpoint, body=within_budget(endpoint.body)))
    if request.untranslatable:
        words = "not expressible on this wire: " + ", ".join(request.untranslatable)
        nothing = Exchange(sent_at="", end_ns=0)
        return Answer(question, request, nothing, None, None, Failure("untranslatable", "plan", words))
    meter = ProgressMeter(patient.wire.reader())
    exchange = await transport.exchange(request, meter, time.perf_counter_ns(), wire=patient.wire.name)
    # At the source, because everything further on is cut into excerpts, and half a key is not recognised.
    exchange = replace(exchange, chunks=[(at_ns, scrubber.bytes(chunk)) for at_ns, chunk in exchange.chunks])
    timing, response, failure = read_answer(
        exchange, patient.wire.reader(), tool_names=request.tool_names, classify=patient.vendor.classify
    )
    if failure is not None:
        failure = replace(failure, message=scrubber.text(failure.message))
    return Answer(question, request, exchange, timing, response, failure)
