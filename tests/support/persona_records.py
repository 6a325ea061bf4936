"""Whole records of the simulated vendors without a socket or a clock: what they say at the moments they would say it.

The product's own wire, reader and retry rules make attempts of it, as in a run; only the network is left out.
"""

from __future__ import annotations

import asyncio
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vendor_verifier.features.simulate.answer import NOTHING_KNOWN, AnswerKey
from vendor_verifier.features.simulate.http import stream_reply
from vendor_verifier.features.simulate.performance import Refusal, perform
from vendor_verifier.features.simulate.personas import Persona
from vendor_verifier.features.simulate.wires.openai import SimulatedChat
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.retry import attempt_until_done, stops_vendor
from vendor_verifier.store import RunFolder
from vendor_verifier.values.manifest import manifest_of
from vendor_verifier.values.plan import RetryRules
from vendor_verifier.values.record import Attempt, Exchange, Failure, Record, TurnRecord
from vendor_verifier.values.request import Endpoint, HttpRequest
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.parse_answer import read_answer

MODEL = "simulated-model"
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_ROUND_TRIP_NS = 5_000_000
_WIRE, _SERVER = OpenAIChat(), SimulatedChat()
_ENDPOINT = Endpoint(base_url="http://127.0.0.1:1/v1", model_id=MODEL)


@dataclass
class Vendor:
    """One simulated vendor under a label; ``jitter`` is the log-sd of its times."""

    label: str
    persona: Persona
    repeat: int = 1
    seed: int = 0
    jitter: float = 0.1
    key: AnswerKey = field(default_factory=lambda: NOTHING_KNOWN)

    def records(self, samples: Sequence[Sample], suite: str = "trigger") -> list[Record]:
        """Its answers to all samples, one after the other, as the product would have recorded them."""
        return asyncio.run(self._records(samples, suite))

    async def _records(self, samples: Sequence[Sample], suite: str) -> list[Record]:
        dice = random.Random(f"{self.seed} {self.label}")
        made: list[Record] = []
        stopped = False
        for repetition in range(self.repeat):
            for number, sample in enumerate(samples):
                moment = _BEGIN + timedelta(seconds=number + 1000 * repetition)
                persona = self.persona.after(len(made) + 1)
                attempts = (_skipped(),) if stopped else await self._attempts(sample, persona, repetition, dice, moment)
                last = attempts[-1].failure
                stopped = stopped or (last is not None and stops_vendor(last))
                turns = (TurnRecord(attempts),)
                made.append(Record("run", MODEL, self.label, "simulated", suite, sample.id, repetition, turns))
        return made

    async def _attempts(
        self, sample: Sample, persona: Persona, repetition: int, dice: random.Random, moment: datetime
    ) -> tuple[Attempt, ...]:
        request = _WIRE.request(sample.turn, _ENDPOINT)
        refused = 0
        # Another number for every label, repetition and attempt: what is sampled differs, and so do the answers' ids.
        before = zlib.crc32(self.label.encode()) + 1000 * repetition

        async def once(number: int) -> Attempt:
            nonlocal refused
            exchange, was_refused = self._exchange(request, persona, before + number, refused, dice, moment)
            refused += was_refused
            timing, response, failure = read_answer(exchange, _WIRE.reader(sample.turn.tools))
            return Attempt(number, timing, response, failure)

        async def at_once(_seconds: float) -> None:
            return None

        first = await once(1)
        return await attempt_until_done(first, once, RetryRules(), dice, at_once, lambda _failure, _seconds: None)

    def _exchange(
        self, request: HttpRequest, persona: Persona, before: int, refused: int, dice: random.Random, moment: datetime
    ) -> tuple[Exchange, bool]:
        """What the transport would have seen, and whether it was a refusal."""
        asked = _SERVER.read(request.body)
        told = perform(asked.question, persona, self.seed, refused=refused, asked=before, key=self.key)
        sent = moment.isoformat()
        if isinstance(told, Refusal):
            status, body = _SERVER.refusal(told)
            headers = {"content-type": "application/json"}
            at = _ROUND_TRIP_NS
            return Exchange(sent, at, status, headers, [(at, body)], at), True
        reply = stream_reply(told, _SERVER.stream(asked, told, 0), 1.0, persona.name)
        pace = dice.lognormvariate(0, self.jitter)
        now, chunks = _ROUND_TRIP_NS, []
        for step in reply.steps:
            now += int(step.after_s * pace * 1e9)
            chunks.append((now, step.data))
        cut = Failure("truncated", "stream", "the connection was reset") if reply.ending != "complete" else None
        headers = {"content-type": reply.content_type}
        return Exchange(sent, now, reply.status, headers, chunks, chunks[0][0], failure=cut), False


def _skipped() -> Attempt:
    return Attempt(1, failure=Failure("skipped", "plan", "the vendor was stopped earlier in this run"))


def run_folder(
    path: Path, vendors: Sequence[Vendor], samples: Sequence[Sample], suite: str = "trigger", baseline: int | None = 0
) -> RunFolder:
    """A finished run of ``vendors``, ready to be scored; ``baseline`` is the place of the baseline among them."""
    folder = RunFolder(path)
    folder.create()
    folder.write_samples(suite, samples)
    folder.write_manifest(manifest_of(manifest(list(_entries(vendors, baseline)), suite, len(samples))))
    with Journal(folder, Scrubber()) as journal:
        for vendor in vendors:
            journal.append(vendor.records(samples, suite))
    return folder


def manifest(entries: Sequence[Mapping[str, Any]], suites: str | Sequence[str], samples: int) -> dict[str, Any]:
    """The manifest of a finished run of one suite or several."""
    named = [suites] if isinstance(suites, str) else suites
    tasks = [{"suite": each, "options": {}, "file": "samples", "sha256": "", "count": samples} for each in named]
    return {
        "schema": 1,
        "run": "run",
        "created_at": _BEGIN.isoformat(),
        "status": "finished",
        "entries": list(entries),
        "tasks": [task | {"skipped": [], "defects": [], "not_run": {}} for task in tasks],
        "settings": {"repeat": 1, "seed": 0},
        "score": {},
    }


def _entries(vendors: Sequence[Vendor], baseline: int | None) -> Iterator[Mapping[str, Any]]:
    for place, vendor in enumerate(vendors):
        yield entry(vendor.label, vendor.persona.name, vendor.repeat, is_baseline=place == baseline)


def entry(label: str, persona: str, repeat: int, *, is_baseline: bool) -> dict[str, Any]:
    """One entry of a manifest."""
    return {
        "model": MODEL,
        "label": label,
        "vendor": "simulated",
        "model_id": MODEL,
        "url": f"sim://{persona}",
        "wire": "openai",
        "is_baseline": is_baseline,
        "repeat": repeat,
    }
