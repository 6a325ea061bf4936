"""The turns that a conversation takes to be busy: one to begin, then one for each answer and what is asked after it."""

from __future__ import annotations

from random import Random

import pytest
from asking import Plain, entry, plan_of, samples
from fault_server import DONE, FaultServer, Script, Seen, delta, say, stream, text

from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.api_keys import KeyRing
from vendor_verifier.run.conversation import Conversation, Target
from vendor_verifier.run.rate_limiter import LocalLimiter
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.transport.client import open_client
from vendor_verifier.transport.policy import RoundLimit
from vendor_verifier.wire.openai_chat import OpenAIChat

pytestmark = pytest.mark.anyio


class Counted(RoundLimit):
    """Turns that are counted as they are taken."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    async def take(self) -> None:
        self.times += 1
        await super().take()


def says_hello(_seen: Seen) -> Script:
    return say(stream(text("hello"), delta("stop"), DONE))


async def test_who_has_read_an_answer_asks_on_in_the_same_turn() -> None:
    """Three samples one after the other: the first waits for a turn to ask."""
    async with FaultServer(says_hello) as server:
        one, asked = entry(server, "v"), samples(3)
        plan = plan_of([one], asked)
        async with open_client(plan.client, plan.limits, {"openai"}) as client:
            scrubber = Scrubber()
            talk = Conversation(
                client, LocalLimiter(plan.entries, 1), plan.retry, Random(0), scrubber, KeyRing(scrubber)
            )
            talk.starts = Counted()
            for sample in asked:
                (turn,) = await talk.play(TriggerSuite().play(sample), Target(one, Plain(), OpenAIChat()))
                assert turn.attempts[-1].succeeded
    assert talk.starts.times == 1
