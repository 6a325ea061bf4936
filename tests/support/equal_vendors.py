"""Runs of equal vendors on a machine whose load drifts: the product's engine, limits of places and scoring, no socket.

Every request takes longer while more of them are under way, while the machine is busy and while connections are new, so
whoever is asked alone at the end, or first at the beginning, would look better or worse than its equals.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import jumping_loop
from asking import KEY, Plain, kept_in

from vendor_verifier.records.plan import Entry, Plan
from vendor_verifier.records.record import Attempt, Record, Response, Timing, ToolCall, TurnRecord, Usage
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.sample import Sample, Samples, Source, content_digest, numbered
from vendor_verifier.run.local import Engine
from vendor_verifier.run.queue import Part, Target, WorkItem, WorkQueue
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.wire.openai_chat import OpenAIChat

_PLACES = 5
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city"],
        },
    },
}
_WARM_UP_S = 1.0
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def samples(number: int) -> tuple[Sample, ...]:
    """Questions, two thirds of which call for the tool."""
    made = []
    for place in range(number):
        words = f"What will the weather be in city {place} over the next three days? " + "Please be exact. " * (
            place % 9
        )
        turn = Turn(({"role": "system", "content": "You help."}, {"role": "user", "content": words}), (_TOOL,))
        made.append(Sample(numbered(content_digest(turn), 1), turn, source=Source("weather.jsonl", place + 1)))
    return tuple(made)


def entries(count: int) -> tuple[Entry, ...]:
    """So many equal vendors with accounts of their own; the first is the baseline."""
    return tuple(
        Entry(
            "m",
            f"v{n}",
            "plain",
            Endpoint("http://127.0.0.1:1", "m", KEY),
            "openai",
            account=f"v{n}",
            is_baseline=n == 0,
        )
        for n in range(count)
    )


@dataclass
class Machine:
    """Answers in the place of a conversation, at moments of the loop's own clock."""

    seed: int
    slowness: Mapping[str, float]
    in_use: Counter[str] = field(default_factory=Counter)
    opened: Counter[str] = field(default_factory=Counter)
    turns: dict[str, asyncio.Semaphore] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.phase = self.dice.random()
        self.period_s = self.dice.uniform(20, 100)

    async def record(self, item: WorkItem, block: int) -> Record:
        """The answer to the one turn of a sample, when its vendor has a place for it."""
        entry, sample = item.target.entry, item.sample
        async with self.turns.setdefault(entry.label, asyncio.Semaphore(_PLACES)):
            attempt = await self._answer(sample.turn, entry.label)
        turns, suite = (TurnRecord((attempt,)),), item.suite.name
        return Record(
            "run", entry.model, entry.label, entry.vendor, suite, sample.id, item.repetition, turns, block=block
        )

    async def _answer(self, turn: Turn, label: str) -> Attempt:
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        words = str(turn.messages[-1]["content"])
        self.in_use[label] += 1
        is_cold = self.in_use[label] > self.opened[label]
        self.opened[label] += is_cold
        ttft_s = 0.1 * self._load(begun_s) * (1 + len(words) / 300) * (1.1 if is_cold else 1.0) * self._luck()
        decode_s = 0.2 * self._load(begun_s) * self._luck()
        ttft_s, decode_s = (seconds * self.slowness.get(label, 1.0) for seconds in (ttft_s, decode_s))
        await asyncio.sleep(ttft_s + decode_s)
        self.in_use[label] -= 1
        first_ns, last_ns = int(ttft_s * 1e9), int((ttft_s + decode_s) * 1e9)
        timing = Timing(
            (_BEGIN + timedelta(seconds=begun_s)).isoformat(timespec="microseconds"), last_ns,
            first_token_ns=first_ns, first_answer_ns=first_ns, last_token_ns=last_ns,
            gaps_ns=(last_ns - first_ns,), first_chunk_share=0.1,
        )  # fmt: skip
        calls = () if len(words) % 2 else (ToolCall("1", "get_weather", '{"city": "Rome"}'),)
        return Attempt(1, timing, Response("" if calls else "hello", tool_calls=calls, usage=Usage(50, 20)))

    def _load(self, now_s: float) -> float:
        """How much slower everything is at this moment."""
        drift = 1 + 0.4 * math.sin(2 * math.pi * (now_s / self.period_s + self.phase))
        warm_up = 1 + 2 * math.exp(-now_s / _WARM_UP_S)
        return drift * warm_up * (1 + self.in_use.total() / 40)

    def _luck(self) -> float:
        return self.dice.lognormvariate(0, 0.3)


def run(
    seed: int, vendors: int = 7, count: int = 60, repeats: int = 2, slowness: Mapping[str, float] | None = None
) -> list[Record]:
    """The records of one run; the baseline is asked everything ``repeats`` times.

    ``slowness``: how many times as long as its equals a vendor takes.
    """
    made: list[Record] = []
    asked: tuple[Sample, ...] = samples(count)
    whole = Plan(entries(vendors), (), seed=seed, request_concurrency=_PLACES, baseline_repeats=repeats)
    targets = [Target(entry, Plain(), OpenAIChat()) for entry in whole.entries]
    queue = WorkQueue(
        targets, [Part(TriggerSuite(), Samples(asked))], [whole.repeat_of(each) for each in whole.entries]
    )
    with patch.object(jumping_loop, "_GRACE_S", 0):
        engine = Engine(whole, queue, Machine(seed, slowness or {}), kept_in(made))  # type: ignore[arg-type]
        jumping_loop.run_jumping(engine.ask())
    return made
