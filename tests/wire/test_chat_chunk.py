"""The quick reader of ordinary chunks hears what the lenient reader hears, of every chunk there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.event import SseEvent, StreamEvent
from vendor_verifier.wire.openai_chat import reader
from vendor_verifier.wire.openai_chat.chat_chunk import ordinary_chunk
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader
from vendor_verifier.wire.sse import SseDecoder

CAPTURES = sorted((Path(__file__).parent / "captures").rglob("*"))


def heard(events: list[SseEvent]) -> tuple[list[StreamEvent], list[StreamEvent]]:
    """What the reader hears, and what it hears without the quick path."""
    quick, lenient = OpenAIChatReader(), OpenAIChatReader()
    return (
        [told for event in events for told in quick.read(event)],
        [told for event in events for told in lenient._any_event(event)],
    )


@pytest.mark.parametrize("capture", [path for path in CAPTURES if path.is_file()], ids=lambda path: path.name)
def test_captures_are_heard_alike(capture: Path) -> None:
    """Everything real vendors were seen to send is heard alike by both."""
    decoder = SseDecoder()
    events = [*decoder.feed(capture.read_bytes()), *decoder.close()]
    quick, lenient = heard(events)
    assert quick == lenient


_WORD = st.sampled_from([None, "", "a", "stop", "tool_calls", "Ünï\u2028", "\ud800", 0, True, {}, []])
_FUNCTION = st.fixed_dictionaries({}, optional={"name": _WORD, "arguments": _WORD})
_CALL = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 1, -1, None, "0", 2**70, 1.0, True]),
        "id": _WORD,
        "type": _WORD,
        "function": _FUNCTION | st.none(),
        "name": _WORD,
    },
)
_DELTA = st.fixed_dictionaries(
    {},
    optional={
        "role": _WORD,
        "content": _WORD,
        "reasoning": _WORD,
        "reasoning_content": _WORD,
        "refusal": _WORD,
        "tool_calls": st.none() | st.lists(_CALL, max_size=3),
    },
)
_CHOICE = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 1, None, "0", 0.0]),
        "delta": _DELTA,
        "message": _DELTA,
        "finish_reason": _WORD,
        "native_finish_reason": _WORD,
        "logprobs": st.none() | st.just({}),
    },
)
_CHUNK = st.fixed_dictionaries(
    {"object": st.sampled_from(["chat.completion.chunk"] * 4 + ["error", None])},
    optional={
        "choices": st.lists(_CHOICE, max_size=2) | st.none(),
        "id": _WORD,
        "model": _WORD,
        "system_fingerprint": _WORD,
        "provider": _WORD,
        "usage": st.none() | st.just({"prompt_tokens": 1}),
        "error": st.none() | st.just({"message": "x"}),
    },
)


@given(st.lists(_CHUNK, max_size=4))
def test_made_up_chunks_are_heard_alike(chunks: list[dict[str, Any]]) -> None:
    """Whatever mixture of fields and types a host sends, the quick path changes nothing."""
    quick, lenient = heard([SseEvent(json.dumps(chunk)) for chunk in chunks])
    assert quick == lenient


@given(st.text(max_size=3), st.sampled_from(["", "error", "x"]))
def test_broken_chunks_are_heard_alike(noise: str, name: str) -> None:
    """A chunk with anything put in front, behind or inside is refused or read alike."""
    text = '{"object":"chat.completion.chunk","choices":[{"delta":{"content":"a"}}]}'
    for broken in (noise + text, text + noise, text.replace("a", noise)):
        quick, lenient = heard([SseEvent(broken, name)])
        assert quick == lenient


def test_the_ordinary_chunk_takes_the_quick_path() -> None:
    """The chunk that nearly every host sends is not left to the lenient reader."""
    assert ordinary_chunk(
        '{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":'
        '[{"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":null}],"usage":null}'
    )
    assert reader.ordinary_chunk is ordinary_chunk
