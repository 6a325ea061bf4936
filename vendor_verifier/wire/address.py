"""Where each protocol's requests go under a base url, which may be the whole address already; it resolves nothing."""

from __future__ import annotations

import re
from urllib.parse import quote

_METHOD = ":streamGenerateContent"
_WHOLE_METHOD = ":generateContent"


def join_url(base_url: str, path: str) -> str:
    """``base_url`` plus ``path``, unless the base already is the full address; a query stays at the end."""
    base, question, query = base_url.partition("?")
    base = base.rstrip("/")
    return (base if base.endswith(path) else base + path) + question + query


def messages_url(base_url: str) -> str:
    """The address of Messages under a base that may or may not name the version or the whole path already."""
    base = base_url.rstrip("/")
    if base.endswith("/messages"):
        return base
    return f"{base}/messages" if re.search(r"/v\d+$", base) else f"{base}/v1/messages"


def stream_url(base_url: str, model_id: str) -> str:
    """The streaming address of a model; ``alt=sse`` because without it the stream is one JSON array."""
    base = base_url.rstrip("/")
    if _METHOD in base:
        return base
    prefixed = model_id.startswith(("models/", "tunedModels/", "publishers/", "projects/"))
    model = model_id if prefixed else f"models/{model_id}"
    return f"{base}/{quote(model, safe='/:@')}{_METHOD}?alt=sse"


def whole_url(base_url: str, model_id: str) -> str:
    """The address of a model for an answer in one piece."""
    head, _, query = stream_url(base_url, model_id).partition(_METHOD)
    kept = [word for word in query.removeprefix("?").split("&") if word not in ("", "alt=sse")]
    return head + _WHOLE_METHOD + ("?" + "&".join(kept) if kept else "")
