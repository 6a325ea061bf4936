"""OpenAI Chat Completions: sends a turn as it is, but for a vendor's declared quirks.

Answers are read in :mod:`vendor_verifier.wire.openai_chat.reader`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.base import Notes, join_url
from vendor_verifier.wire.openai_chat.reader import OpenAIChatReader
from vendor_verifier.wire.request_support import ThinkingSwitch, headers_of, lay_over, post, switched


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """The wire; its fields are the quirks a vendor may declare.

    ``max_tokens_field``: what the vendor calls the output budget. ``stream_usage``: off for hosts that refuse
    ``stream_options``. ``tool_choices``: the only words the vendor takes (``function`` stands for a named tool), where
    that is not all of them; other turns are untranslatable. ``extra``: body fields every request to it carries.
    ``thinking``: what switches reasoning on and off, where the vendor has such a switch.
    """

    name: str = "openai"
    path: str = "/chat/completions"
    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    tool_choices: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    thinking: ThinkingSwitch | None = None

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        body: dict[str, Any] = {"model": endpoint.model_id, "messages": list(turn.messages)}
        if turn.tools:
            body["tools"] = list(turn.tools)
        body.update(turn.parameters)
        if "max_tokens" in body and self.max_tokens_field != "max_tokens":
            body[self.max_tokens_field] = body.pop("max_tokens")
        body["stream"] = turn.stream
        if turn.stream and self.stream_usage:
            body["stream_options"] = {"include_usage": True}
        body.update(self.extra)
        notes = Notes()
        body.update(switched(self.thinking, turn, notes))
        lay_over(body, endpoint.body)
        self._note_unspeakable(turn, notes)
        return post(join_url(endpoint.base_url, self.path), headers_of(turn, endpoint), body, notes)

    def _note_unspeakable(self, turn: Turn, notes: Notes) -> None:
        """Note what this vendor has no word for: sent all the same, it would be refused or silently ignored."""
        choice = turn.parameters.get("tool_choice")
        if self.tool_choices is not None and choice is not None:
            word = choice if isinstance(choice, str) else "function"
            if word not in self.tool_choices:
                notes.cannot(f"tool_choice {word}")

    def reader(self, _tools: Sequence[Mapping[str, Any]] = (), /) -> OpenAIChatReader:
        return OpenAIChatReader()
