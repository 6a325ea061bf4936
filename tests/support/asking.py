"""Short ways to send one request, or to run a small plan, against the fault server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from vendor_verifier.records.plan import Entry, Limits, Plan, RetryRules, Task
from vendor_verifier.records.record import Attempt, Exchange, Record, Timing
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.conversation import Emit
from vendor_verifier.run.local import RunEnd, run_local
from vendor_verifier.run.queue import Part, Target, WorkQueue
from vendor_verifier.suites import Suite
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import Client, ProgressMeter, Sending
from vendor_verifier.transport.sdk import SdkTransport
from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.gemini import Gemini
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.openai_responses import OpenAIResponses
from vendor_verifier.wire.parse_answer import read_answer

KEY = "CANARY-0123456789abcdef"
TURN = Turn(({"role": "user", "content": "hi"},))
# Less than the product's ten minutes, and far beyond what a busy machine needs: only a test that replaces a limit
# meets one.
QUICK = Limits(total_s=60, connect_s=60, first_token_s=60, idle_s=60)


OpenClient = Callable[[Limits], AbstractAsyncContextManager[Client]]


def _sdk(limits: Limits) -> SdkTransport:
    return SdkTransport(FastTransport(limits), ("openai",))


# The official SDKs carry a run with fewer promises: they give up where we can still read.
CLIENTS: Mapping[str, OpenClient] = {"fast": FastTransport, "sdk": _sdk}


def _plain_prompt(turn: Turn) -> str:
    return "\n".join(str(message.get("content")) for message in turn.messages)


WIRES: Mapping[str, Wire] = {
    "chat": OpenAIChat(),
    "responses": OpenAIResponses(),
    "completions": OpenAICompletions(render=_plain_prompt),
    "anthropic": AnthropicMessages(),
    "gemini": Gemini(),
}


@dataclass(frozen=True)
class Asked:
    """One attempt as the engine would have recorded it, and the raw exchange under it."""

    exchange: Exchange
    attempt: Attempt

    @property
    def kind(self) -> str | None:
        return self.attempt.failure.kind if self.attempt.failure else None

    @property
    def phase(self) -> str | None:
        return self.attempt.failure.phase if self.attempt.failure else None

    @property
    def message(self) -> str:
        return self.attempt.failure.message if self.attempt.failure else ""

    @property
    def text(self) -> str:
        return self.attempt.response.text if self.attempt.response else ""

    @property
    def timing(self) -> Timing:
        assert self.attempt.timing is not None
        return self.attempt.timing


async def ask(
    url: str, client: Client | None = None, limits: Limits = QUICK, headers: Mapping[str, str] | None = None,
    wire: str = "chat",
) -> Asked:  # fmt: skip
    """Send one question to ``url`` over a wire, through the real transport unless another is given; what comes."""
    if client is None:
        async with FastTransport(limits) as own:
            return await ask(url, own, limits, headers, wire)
    speaks = WIRES[wire]
    request = speaks.request(TURN, Endpoint(url, "m", KEY, headers or {}))
    meter = ProgressMeter(speaks.reader())
    exchange = await client.exchange(Sending(request, meter, time.perf_counter_ns(), speaks.name))
    return Asked(exchange, Attempt(1, *read_answer(exchange, speaks.reader())))


class Plain(OpenAICompatible):
    """A vendor without quirks."""

    name = "plain"


class Served(Protocol):
    """Any server of the tests."""

    def url(self, vendor: str = "v") -> str: ...


def entry(server: Served, label: str, **fields: Any) -> Entry:
    """An entry of the fault server whose path begins with its label; an account of its own unless given."""
    endpoint = Endpoint(server.url(label), "m", KEY)
    return Entry("model", label, "plain", endpoint, "openai", **{"account": label} | fields)


def samples(count: int) -> tuple[Sample, ...]:
    """Different samples, the number of each as its message."""
    return tuple(Sample(f"{n:03}-1", Turn(({"role": "user", "content": str(n)},))) for n in range(count))


def queue_of(
    entries: Iterable[Entry],
    asked: Sequence[Sample],
    repeat: int = 1,
    suite: Suite | None = None,
    wires: Mapping[str, Wire] | None = None,
) -> WorkQueue:
    """Everything to be asked of everyone; ``wires`` by label, where they are not the usual one."""
    known = wires or {}
    targets = [Target(one, Plain(), known.get(one.label) or OpenAIChat()) for one in entries]
    return WorkQueue(targets, [Part(suite or TriggerSuite(), Samples(asked))], [repeat] * len(targets))


def plan_of(entries: Sequence[Entry], asked: tuple[Sample, ...], **plan: Any) -> Plan:
    """A plan of one task."""
    return Plan(tuple(entries), (Task("trigger", asked),), **plan)


def kept_in(records: list[Record]) -> Emit:
    """Keeps records in a list, at once."""

    def emit(made: Sequence[Record]) -> None:
        records.extend(made)

    return emit


@dataclass
class Ran:
    """What a small run left."""

    records: list[Record] = field(default_factory=list)
    end: RunEnd | None = None

    def of(self, label: str) -> list[Record]:
        return [record for record in self.records if record.label == label]

    def kinds(self, label: str) -> list[str | None]:
        """The final failure kind of every record of a vendor."""
        finals = [record.final for record in self.of(label)]
        return [final.failure.kind if final and final.failure else None for final in finals]


async def run(entries: Sequence[Entry], count: int = 10, into: Ran | None = None, **plan: Any) -> Ran:
    """Run ``count`` samples against ``entries``; further arguments are the plan's. Quick retries by default."""
    ran = into or Ran()
    asked = samples(count)
    whole = plan_of(entries, asked, **{"limits": QUICK, "retry": RetryRules(2, max_wait_s=0.02)} | plan)
    work = queue_of(entries, asked)
    work = WorkQueue(work.targets, work.parts, [whole.repeat_of(one) for one in entries])
    ran.end = await run_local(whole, work, "run", kept_in(ran.records), Scrubber([KEY]))
    return ran
