"""Messages of a chat-completions history, for tests of the wires that say it in other words."""

from __future__ import annotations

from typing import Any

USER = {"role": "user", "content": "Hi"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def past(*items: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    """An assistant message that makes calls of (id, name, arguments)."""
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}, **more} for i, n, a in items]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(call_id: str, content: Any) -> dict[str, Any]:
    """What a tool answered to a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}
