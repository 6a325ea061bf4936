"""Where requests go, whatever of the address the base url names already."""

from __future__ import annotations

import pytest

from vendor_verifier.wire.base import join_url, messages_url, stream_url

BASE = "https://generativelanguage.googleapis.com/v1beta"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://x.test/v1", "https://x.test/v1/chat/completions"),
        ("https://x.test/v1/", "https://x.test/v1/chat/completions"),
        ("https://x.test/v1/chat/completions", "https://x.test/v1/chat/completions"),
        ("https://x.test/d?api-version=1", "https://x.test/d/chat/completions?api-version=1"),
    ],
)
def test_join_url(base: str, url: str) -> None:
    """A base address, a full address and one with a query all lead to the same path."""
    assert join_url(base, "/chat/completions") == url


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("https://api.minimax.io/anthropic", "https://api.minimax.io/anthropic/v1/messages"),
        ("https://x.test/v1/messages", "https://x.test/v1/messages"),
    ],
)
def test_messages_url(base: str, url: str) -> None:
    """A base url may name the version or the whole path, or neither."""
    assert messages_url(base) == url


@pytest.mark.parametrize(
    ("base", "model", "url"),
    [
        (f"{BASE}/", "gemini-x", f"{BASE}/models/gemini-x:streamGenerateContent?alt=sse"),
        (BASE, "models/gemini-x", f"{BASE}/models/gemini-x:streamGenerateContent?alt=sse"),
        ("https://x.test/v1", "tunedModels/a b", "https://x.test/v1/tunedModels/a%20b:streamGenerateContent?alt=sse"),
        ("https://x.test/m:streamGenerateContent?alt=sse", "m", "https://x.test/m:streamGenerateContent?alt=sse"),
    ],
)
def test_stream_url(base: str, model: str, url: str) -> None:
    """The version stays in the base url, the model id may bring its folder, and a full address is left alone."""
    assert stream_url(base, model) == url
