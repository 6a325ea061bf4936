"""What a play makes of turns that cannot be sent and of plugins that raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from asking import KEY, entry, kept_in, plan_of, queue_of, samples
from fault_server import DONE, FaultServer, say, stream, text

from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.local import run_local
from vendor_verifier.wire.openai_chat import OpenAIChat

pytestmark = pytest.mark.anyio

GOOD = stream(text("hello"), DONE)


class BuggyReader:
    """A reader of somebody's plugin that falls over the first event."""

    def read(self, event: object, answer: object) -> None:
        raise LookupError(f"no idea; the key is {KEY}")

    read_body = read


@dataclass(frozen=True)
class BuggyWire:
    """A plugin with a bug, in what it asks or in what it reads."""

    where: str
    name: str = "openai"

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        if self.where == "request":
            raise LookupError(f"no idea; the key is {KEY}")
        return OpenAIChat().request(turn, endpoint)

    def reader(self, tools: Any = (), /) -> Any:
        return BuggyReader()


@pytest.mark.parametrize("where", ["request", "reader"])
async def test_a_plugin_that_raises_is_our_failure(server: FaultServer, where: str) -> None:
    """A bug in one plugin is recorded as harness, by exception and line but without the key; the others go on."""
    server.answer = lambda _seen: say(GOOD)
    good, bad = entry(server, "good"), entry(server, "bad")
    asked = samples(3)
    records: list[Record] = []
    work = queue_of([good, bad], asked, wires={"bad": BuggyWire(where)})
    await run_local(plan_of([good, bad], asked), work, "run", kept_in(records), Scrubber([KEY]))
    failures = [r.final.failure for r in records if r.label == "bad" and r.final]
    assert [failure.kind for failure in failures if failure] == ["harness"] * 3
    assert all(failure and "LookupError" in failure.message and KEY not in failure.message for failure in failures)
    assert [r.succeeded for r in records if r.label == "good"] == [True] * 3
