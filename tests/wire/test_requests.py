"""What each wire sends for a turn, and what it notes about it.

``requests.jsonl`` has a row for each: the wire with its quirks, the turn and the endpoint, and in ``expected`` the
whole request. ``prompt`` is what the chat template of raw completions makes of the turn, ``refused`` why it cannot.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from asking import ALL
from hypothesis import given, settings
from hypothesis import strategies as st
from listening import near_json
from pydantic import TypeAdapter

from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.wire.base import Notes, gemini_url, join_url, messages_url
from vendor_verifier.wire.history import read_messages
from vendor_verifier.wire.openai_completions import CannotRender
from vendor_verifier.wire.request_support import ThinkingSwitch, sent_names

ROWS = [json.loads(line) for line in (Path(__file__).parent / "requests.jsonl").read_bytes().splitlines()]
TURN_KEYS = (
    "role content tool_calls tool_call_id function name arguments id type text image_url url parameters properties "
    "$ref anyOf strict tool_choice response_format json_schema schema stop n max_tokens temperature"
)
TURN_WORDS = "system user assistant tool function object array text image_url auto required json_schema #"
NEAR_TURN = near_json(TURN_KEYS, TURN_WORDS)
GOOGLE = "https://generativelanguage.googleapis.com/v1beta"


def request_of(row: dict[str, Any]) -> Any:
    quirks = dict(row.get("quirks", {}))
    if quirks.get("thinking"):
        quirks["thinking"] = ThinkingSwitch(**quirks["thinking"])
    if row["wire"] == "openai_completions":

        def render(_turn: Turn) -> str:
            if "refused" in row:
                raise CannotRender(row["refused"])
            return str(row["prompt"])

        quirks["render"] = render if row.keys() & {"prompt", "refused"} else None
    said = {"messages": (), **row.get("turn", {})}
    turn = Turn(**{key: tuple(value) if isinstance(value, list) else value for key, value in said.items()})
    return type(ALL[row["wire"]])(**quirks).request(turn, Endpoint(**row["endpoint"]))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['wire']}: {row['case']}" for row in ROWS])
def test_a_turn_is_asked_in_the_words_of_the_protocol(row: dict[str, Any]) -> None:
    """Address, headers, body, and the notes of what cannot be said or was said in other words."""
    made = msgspec.to_builtins(request_of(row))
    made["body"] = json.loads(request_of(row).body)
    assert {key: value for key, value in made.items() if value not in ((), {}, [], None)} == {
        key: tuple(value) if isinstance(value, list) else value for key, value in row["expected"].items()
    }


def test_requests_have_the_types_of_the_official_client() -> None:
    """What goes to Responses is what that client's own types say."""
    params = pytest.importorskip("openai.types.responses.response_create_params")
    known = TypeAdapter(params.ResponseCreateParamsStreaming)
    sent = [row["expected"] for row in ROWS if row["wire"] == "openai_responses"]
    bodies = [each["body"] for each in sent if "untranslatable" not in each and each["body"]["stream"]]
    bodies = [body for body in bodies if set(body) <= set(params.ResponseCreateParamsStreaming.__annotations__)]
    assert len(bodies) > 20
    assert [body for body in bodies if set(known.validate_python(body)) != set(body)] == []


@pytest.mark.parametrize("wire", ALL)
@settings(deadline=None)
@given(
    messages=st.lists(NEAR_TURN, max_size=5),
    tools=st.lists(NEAR_TURN, max_size=3),
    parameters=st.dictionaries(st.sampled_from(TURN_KEYS.split()), NEAR_TURN, max_size=4),
)
def test_no_turn_raises(wire: str, messages: list[Any], tools: list[Any], parameters: dict[str, Any]) -> None:
    """Any turn becomes a request, sendable or not; a malformed sample never stops a run."""
    turn = Turn(tuple(messages), tuple(tools), parameters)
    assert ALL[wire].request(turn, Endpoint("https://x.test/v1", "m")).body


@pytest.mark.parametrize(
    ("made", "url"),
    [
        (join_url("https://x.test/v1/", "/completions"), "https://x.test/v1/completions"),
        (join_url("https://x.test/v1/completions", "/completions"), "https://x.test/v1/completions"),
        (messages_url("https://api.anthropic.com"), "https://api.anthropic.com/v1/messages"),
        (messages_url("https://api.anthropic.com/v1/"), "https://api.anthropic.com/v1/messages"),
        (messages_url("https://api.minimax.io/anthropic"), "https://api.minimax.io/anthropic/v1/messages"),
        (messages_url("https://x.test/v1/messages"), "https://x.test/v1/messages"),
        (gemini_url(f"{GOOGLE}/", "gemini-x", stream=True), f"{GOOGLE}/models/gemini-x:streamGenerateContent?alt=sse"),
        (gemini_url(GOOGLE, "models/gemini-x", stream=False), f"{GOOGLE}/models/gemini-x:generateContent"),
        (gemini_url(GOOGLE, "tunedModels/a b", stream=False), f"{GOOGLE}/tunedModels/a%20b:generateContent"),
    ],
)
def test_a_base_address_may_be_the_full_one(made: str, url: str) -> None:
    """Or name the version, or neither; a model id may bring its folder."""
    assert made == url


@given(st.lists(st.sampled_from(["a", "b", "a_2", "", None]), min_size=1, max_size=8))
def test_every_call_of_a_history_finds_its_result(ids: list[Any]) -> None:
    """Whatever ids it uses from turn to turn, calls get different ids; a second result of one answers nothing."""
    notes, messages = Notes(), []
    for call_id in ids:
        calls = [{"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        messages += [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "tool_call_id": call_id}]
    history = read_messages(messages, notes)
    made = [past.id for said in history for past in said.calls]
    assert len(set(made)) == len(ids)
    assert [said.call.id for said in history if said.call] == made
    assert not notes.untranslatable
    read_messages([*messages, messages[-1]], notes)
    assert list(notes.untranslatable) == ["tool result without a call"]


@given(st.lists(st.text(max_size=12), max_size=20), st.integers(4, 9))
def test_sent_names_stay_apart(names: list[str], longest: int) -> None:
    """Narrowing never makes two names one, keeps to the length, and leaves legal names alone."""
    sent = sent_names(names, re.compile(r"[^a-z_0-9]"), longest)
    assert sent.keys() == set(names)
    assert len(set(sent.values())) == len(sent)
    for here, there in sent.items():
        assert re.fullmatch(r"[a-z_0-9]+", there)
        assert len(there) <= longest
        assert here == there or not re.fullmatch(rf"[a-z_0-9]{{1,{longest}}}", here)
