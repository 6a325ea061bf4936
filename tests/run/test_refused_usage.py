"""A vendor that takes no ``stream_options``, which we add, is asked without it and charged with nothing."""

from __future__ import annotations

from typing import Any

import pytest
from asking import entry, run
from fault_server import DONE, FaultServer, Script, Seen, say, stream, text, whole

pytestmark = pytest.mark.anyio

GOOD = say(stream(text("hello"), DONE))
# As OpenAI, FastAPI and Mistral word it.
REFUSALS: list[dict[str, Any]] = [
    {"error": {"message": "Unrecognized request argument supplied: stream_options", "code": "unknown_parameter"}},
    {
        "detail": [
            {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}
        ]
    },
    {"message": "include_usage is not supported", "type": "invalid_request_error"},
]


def takes_none(refusal: dict[str, Any], status: int) -> Any:
    def answer(seen: Seen) -> Script:
        return say(whole(refusal, status)) if "stream_options" in seen.body else GOOD

    return answer


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("status", [400, 422])
async def test_it_is_asked_without_from_then_on(server: FaultServer, refusal: dict[str, Any], status: int) -> None:
    """One request at a time: one refusal, and every answer is a success at the first attempt, with a note."""
    server.answer = takes_none(refusal, status)
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    assert len(server.seen) == 6
    assert [len(turn.attempts) for record in ran.records for turn in record.turns] == [1] * 5
    assert all(record.succeeded for record in ran.records)
    assert {turn.rewritten for record in ran.records for turn in record.turns} == {("dropped:stream_options",)}


async def test_refusing_it_wins_one_other_try_and_no_more(server: FaultServer) -> None:
    """A vendor that blames it for every refusal is asked without once, and failed from then on."""
    server.answer = lambda _: say(whole(REFUSALS[0], 400))
    ran = await run([entry(server, "a")], 5, request_concurrency=1)
    assert len(server.seen) == 6
    assert not any(record.succeeded for record in ran.records)
