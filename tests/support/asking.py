"""Short ways to send one request, or to run a small plan, against the fault server."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from fault_server import FaultServer

from vendor_verifier.records.plan import Entry, Limits, Plan, RetryRules, Task
from vendor_verifier.records.record import Attempt, Exchange, Record, Timing
from vendor_verifier.records.request import Endpoint, ToolRunner, Turn
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import WIRES
from vendor_verifier.run.local import run_local
from vendor_verifier.run.queue import Part, Target, WorkQueue
from vendor_verifier.suites import Suite
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.transport.client import FastTransport, open_client
from vendor_verifier.transport.exchange import Client, ProgressMeter, Sending
from vendor_verifier.vendor import OpenAICompatible
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.parse_answer import read_answer

KEY = "CANARY-0123456789abcdef"
TURN = Turn(({"role": "user", "content": "hi"},))
# Far beyond what a busy machine needs: only a test that replaces a limit meets one.
QUICK = Limits(total_s=60, connect_s=60, first_token_s=60, idle_s=60)


OpenClient = Callable[[Limits], AbstractAsyncContextManager[Client]]
# The official SDKs carry a run with fewer promises: they give up where we can still read.
CLIENTS: Mapping[str, OpenClient] = {
    "direct": lambda limits: open_client("direct", limits, ()),
    "sdk": lambda limits: open_client("sdk", limits, ("openai",)),
}
ALL: Mapping[str, Wire] = {**WIRES, "openai_completions": OpenAICompletions(render=lambda _turn: "hi")}


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
    wire: str = "openai",
) -> Asked:  # fmt: skip
    """Send one question to ``url`` over a wire, through the real transport unless another is given; what comes."""
    if client is None:
        async with FastTransport(limits) as own:
            return await ask(url, own, limits, headers, wire)
    speaks = ALL[wire]
    request = speaks.request(TURN, Endpoint(url, "m", KEY, headers or {}))
    meter = ProgressMeter(speaks.reader())
    exchange = await client.exchange(Sending(request, meter, time.perf_counter_ns(), speaks.name))
    return Asked(exchange, Attempt(1, *read_answer(exchange, speaks.reader())))


class Plain(OpenAICompatible):
    name = "plain"


def entry(server: FaultServer, label: str, **fields: Any) -> Entry:
    """An entry of the fault server whose path begins with its label; an account of its own unless given."""
    endpoint = Endpoint(server.url(label), "m", KEY)
    return Entry("model", label, "plain", endpoint, "openai", **{"account": label} | fields)


def samples(count: int) -> tuple[Sample, ...]:
    """Different samples, the number of each as its message."""
    return tuple(Sample(f"{n:03}-1", Turn(({"role": "user", "content": str(n)},))) for n in range(count))


def queue_of(
    entries: Sequence[Entry], asked: Sequence[Sample], repeats: Sequence[int] | None = None, suite: Suite | None = None,
    wires: Mapping[str, Wire] | None = None,
) -> WorkQueue:  # fmt: skip
    """Everything to be asked of everyone; ``wires`` by label, where they are not the usual one."""
    targets = [Target(one, Plain(), (wires or {}).get(one.label) or ALL["openai"]) for one in entries]
    return WorkQueue(targets, [Part(suite or TriggerSuite(), Samples(asked))], repeats or [1] * len(targets))


def plan_of(entries: Sequence[Entry], asked: tuple[Sample, ...], **plan: Any) -> Plan:
    return Plan(tuple(entries), (Task("trigger", asked),), **plan)


@dataclass
class Ran:
    """The records of a run, and its :class:`RunEnd` when it is over."""

    records: list[Record] = field(default_factory=list)
    end: Any = None

    def of(self, label: str) -> list[Record]:
        return [record for record in self.records if record.label == label]

    def kinds(self, label: str) -> list[str | None]:
        """The final failure kind of every record of a vendor."""
        finals = [record.final for record in self.of(label)]
        return [final.failure.kind if final and final.failure else None for final in finals]


async def run(
    entries: Sequence[Entry], count: int = 10, into: Ran | None = None, *, suite: Suite | None = None,
    wires: Mapping[str, Wire] | None = None, tools: ToolRunner | None = None,
    **plan: Any,
) -> Ran:  # fmt: skip
    """Run ``count`` samples against ``entries``; further arguments are the plan's. Quick retries by default."""
    ran = into or Ran()
    asked = samples(count)
    whole = plan_of(entries, asked, **{"limits": QUICK, "retry": RetryRules(2, max_wait_s=0.02)} | plan)
    work = queue_of(entries, asked, [whole.repeat_of(one) for one in entries], suite, wires)
    ran.end = await run_local(whole, work, "run", ran.records.extend, Scrubber([KEY]), tools)
    return ran
