"""Sends one question over any wire through any transport, and reads the answer as a run would."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from asking import KEY, TURN, Asked
from matrix import Row

from vendor_verifier.records.plan import Limits
from vendor_verifier.records.record import Attempt
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import Client, ProgressMeter, Sending
from vendor_verifier.transport.sdk import SdkTransport
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.gemini import Gemini
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.openai_responses import OpenAIResponses
from vendor_verifier.wire.parse_answer import read_answer

OpenTransport = Callable[[Limits], AbstractAsyncContextManager[Client]]


def _sdk(limits: Limits) -> SdkTransport:
    return SdkTransport(FastTransport(limits), ("openai",))


# The official SDKs carry a run with fewer promises: they give up where we can still read.
CLIENTS: Mapping[str, OpenTransport] = {"fast": FastTransport, "sdk": _sdk}


def _plain_prompt(turn: Turn) -> str:
    return "\n".join(str(message.get("content")) for message in turn.messages)


WIRES: Mapping[str, Wire] = {
    "chat": OpenAIChat(),
    "responses": OpenAIResponses(),
    "completions": OpenAICompletions(render=_plain_prompt),
    "anthropic": AnthropicMessages(),
    "gemini": Gemini(),
}
# For what is meant to meet the one limit or the other, and for everything else.
SOON_A_TOKEN = Limits(total_s=120, connect_s=60, first_token_s=0.3, idle_s=60)
SOON_THE_NEXT = Limits(total_s=120, connect_s=60, first_token_s=60, idle_s=0.15)
PATIENT = Limits(total_s=120, connect_s=60, first_token_s=60, idle_s=60)


def limits_for(row: Row) -> Limits:
    """Tight where the row is meant to meet a limit, patient everywhere else."""
    if row.kind == "timeout_first_token":
        return SOON_A_TOKEN
    return SOON_THE_NEXT if row.kind == "timeout_idle" or "stall" in row.name else PATIENT


class Sent(Asked):
    """The same, with what the matrix of failures looks at."""

    @property
    def message(self) -> str:
        return self.attempt.failure.message if self.attempt.failure else ""

    @property
    def text(self) -> str:
        return self.attempt.response.text if self.attempt.response else ""

    @property
    def anomalies(self) -> tuple[str, ...]:
        response = self.attempt.response
        if response is None:
            return ()
        return (*response.anomalies, *(word for call in response.tool_calls for word in call.anomalies))


async def send(client: Client, url: str, wire: str = "chat", turn: Turn = TURN) -> Sent:
    """Ask ``url`` and read what comes."""
    speaks = WIRES[wire]
    request = speaks.request(turn, Endpoint(url, "m", KEY))
    meter = ProgressMeter(speaks.reader(turn.tools))
    exchange = await client.exchange(Sending(request, meter, time.perf_counter_ns(), speaks.name))
    return Sent(exchange, Attempt(1, *read_answer(exchange, speaks.reader(turn.tools))))
