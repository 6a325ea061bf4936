"""Recorded and made-up streams, by the wire that reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

CALL = '<tool_call>\n{"name": "get-weather.v2", "arguments": {"city": "Paris"}}\n</tool_call>'


def captured(name: str) -> bytes:
    """The body of a recorded answer."""
    captures = Path(__file__).parents[1] / "wire" / "captures"
    return (captures / name).read_bytes().partition(b"\r\n\r\n")[2]


def sse(*payloads: Any) -> bytes:
    """The events as bytes."""
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in payloads]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def pieces(text: str, size: int = 7) -> list[dict[str, Any]]:
    """A raw completion's text in chunks of that wire."""
    return [completion(text[at : at + size]) for at in range(0, len(text), size)]


def completion(text: Any = "", finish: Any = None, **more: Any) -> dict[str, Any]:
    """A chunk of a raw completion, or a whole one."""
    return {"id": "c", "model": "m", "choices": [{"index": 0, "text": text, "finish_reason": finish}], **more}


COMPLETIONS_STREAM = sse(
    *pieces("<think>hm</think>Sure — 😀. " + CALL),
    completion("", "stop"),
    {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 8}},
    "[DONE]",
)
GEMINI_STREAM = sse(
    {"candidates": [{"content": {"parts": [{"text": "Hm … ", "thought": True}]}, "index": 0}]},
    {"candidates": [{"content": {"parts": [{"text": "Grüße 天气 \u2028"}]}}], "usageMetadata": {"promptTokenCount": 5}},
    {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": "é"}}}]}}]},
    {"candidates": [{"finishReason": "STOP"}], "modelVersion": "x", "usageMetadata": {"candidatesTokenCount": 9}},
)
# Streams by the wire that reads them.
STREAMS: Mapping[str, Mapping[str, bytes]] = {
    "openai": {
        name: captured(name) for name in ("aimock.chat.stream.txt", "aimock.drop.chat.txt", "llamacpp.chat.stream.txt")
    },
    "openai_completions": {"made up": COMPLETIONS_STREAM},
    "openai_responses": {
        name: captured(name) for name in ("aimock.responses.stream.txt", "llamacpp.responses.stream.txt")
    },
    "anthropic": {name: captured(name) for name in ("aimock.anthropic.stream.txt", "llamacpp.anthropic.stream.txt")},
    "gemini": {"aimock.gemini.stream.txt": captured("aimock.gemini.stream.txt"), "made up": GEMINI_STREAM},
}


def near_json(keys: str, words: str) -> st.SearchStrategy[Any]:
    """Any JSON, above all such as is made of these keys and words, half characters included."""
    scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    texts = st.text(max_size=6) | st.sampled_from([*words.split(), "\ud800"])
    return st.recursive(
        scalars | texts,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(keys.split()), inner | texts, max_size=6)
            | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        ),
        max_leaves=16,
    )
