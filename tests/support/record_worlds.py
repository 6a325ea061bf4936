"""Whole records of simulated vendors, as a run would have written them, and their columns as scoring makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from observed import observed

from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.ratio_table import Trials, trials_of
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite

MS = 1_000_000
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@dataclass(frozen=True)
class Persona:
    """What a vendor really is; the default is the baseline's faithful twin."""

    label: str
    runs: int = 1
    misses: float = 0.0
    broken: float = 0.02
    fails: float = 0.005
    slower: float = 1.0
    padding: int = 0


@dataclass(frozen=True)
class World:
    """The samples of one run and how likely each makes the model call."""

    samples: tuple[Sample, ...]
    chances: NDArray[np.float64]


def world(rng: np.random.Generator, n: int) -> World:
    samples = tuple(Sample(f"s{i}", Turn(({"role": "user", "content": f"{i}"},), (_TOOL,))) for i in range(n))
    clear = np.where(rng.random(n) < 0.5, 0.995, 0.005)
    return World(samples, np.where(rng.random(n) < 0.1, rng.random(n), clear))


def record(rng: np.random.Generator, persona: Persona, sample: Sample, chance: float, repetition: int) -> Record:
    """One answer of a persona."""
    turns = (TurnRecord((_attempt(rng, persona, chance),)),)
    return Record("run", "m", persona.label, persona.label, "trigger", sample.id, repetition, turns)


def columns(rng: np.random.Generator, played: World, personas: Sequence[Persona]) -> dict[str, ObservationTable]:
    """Every persona's answers to all samples, scored into columns, by label."""
    suite = TriggerSuite(checkers=KeptCheckers())
    found = {persona.label: ObservationTable() for persona in personas}
    for persona in personas:
        for repetition in range(persona.runs):
            for sample, chance in zip(played.samples, played.chances, strict=True):
                told = record(rng, persona, sample, float(chance), repetition)
                found[persona.label].add(observed(told, sample, suite))
    return found


def taken(played: World, personas: Sequence[Persona], found: Mapping[str, ObservationTable]) -> list[Trials]:
    """The columns as trials."""
    planned = {"trigger": [sample.id for sample in played.samples]}
    return [
        trials_of(persona.label, found[persona.label], planned, repeat=persona.runs, complete=True)
        for persona in personas
    ]


def trials(rng: np.random.Generator, played: World, personas: Sequence[Persona]) -> list[Trials]:
    """Every persona's answers to all samples, scored into columns and taken as trials."""
    return taken(played, personas, columns(rng, played, personas))


def _attempt(rng: np.random.Generator, persona: Persona, chance: float) -> Attempt:
    if rng.random() < persona.fails:
        return Attempt(1, failure=Failure("http_5xx", "headers", "down", 500))
    called = rng.random() < chance * (1 - persona.misses)
    arguments = '{"town": "Oslo"}' if rng.random() < persona.broken else '{"city": "Oslo"}'
    output = int(rng.poisson(120)) + 2
    first = int(rng.lognormal(6, 0.35) * persona.slower * MS)
    last = first + int(output / 80 * persona.slower * rng.lognormal(0, 0.2) * 1000 * MS)
    timing = Timing(
        "2026-01-01T00:00:00Z",
        last,
        first_token_ns=first,
        first_answer_ns=first,
        last_token_ns=last,
        first_chunk_share=0.0,
    )
    response = Response(
        text="I shall see. " * 20 if called else "It is sunny. " * 20,
        tool_calls=(ToolCall("get_weather", arguments),) if called else (),
        finish_reason="tool_calls" if called else "stop",
        usage=Usage(150 + persona.padding, output),
    )
    return Attempt(1, timing, response)
