"""Raw completions: the prompt is rendered and the calls are parsed here, without the host's template and parser.

This wire measures the model as served. The chat template is applied by ``render``, a function the shell supplies, since
it needs files. Whatever would have a host do more than generate text (forced tool choice, structured output) has no
counterpart and makes a turn untranslatable.

Text is taken as it streams, for timing; its meaning is read once, when the answer is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.answer import Parsed
from vendor_verifier.wire.base import Notes, join_url
from vendor_verifier.wire.openai_chat import OpenAIChatReader
from vendor_verifier.wire.openai_completions.text_tool_calls import parse_text
from vendor_verifier.wire.payload import as_dict, as_text
from vendor_verifier.wire.request_support import budget_or, headers_of, lay_over, post, switched

DEFAULT_MAX_TOKENS = 4096
# Read by the chat template, not by the host.
_TEMPLATE = frozenset({"chat_template_kwargs", "reasoning_effort"})
_NEUTRAL: Mapping[str, tuple[object, ...]] = {
    "tool_choice": ("auto", None),
    "parallel_tool_calls": (True, None),
    "response_format": ({"type": "text"}, None),
    "modalities": (["text"], None),
    "n": (1, None),
    "functions": (None,),
    "function_call": (None,),
    "audio": (None,),
}
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})

Render = Callable[[Turn], str]


class CannotRender(ValueError):
    """Raised when the chat template has no words for this turn; the message has the reason."""


@dataclass(frozen=True, slots=True)
class OpenAICompletions:
    """The wire.

    ``render`` turns messages and tools into the prompt and raises :class:`CannotRender` where it cannot; without it
    nothing can be asked. ``keep_special_tokens`` asks the host to leave the markers in the text and to add none to the
    prompt, which has its own; off for hosts that refuse these two fields. ``default_max_tokens`` is sent where the turn
    sets no budget, because hosts otherwise stop after 16 tokens.
    """

    render: Render | None = None
    name: str = "openai_completions"
    path: str = "/completions"
    stream_usage: bool = True
    keep_special_tokens: bool = True
    default_max_tokens: int = DEFAULT_MAX_TOKENS

    def request(self, turn: Turn, endpoint: Endpoint) -> HttpRequest:
        notes = Notes()
        switched(None, turn, notes)
        body: dict[str, Any] = {"model": endpoint.model_id, "prompt": self._prompt(turn, notes)}
        body.update(self._settings(turn.parameters, notes))
        if self.keep_special_tokens:
            body.update(skip_special_tokens=False, add_special_tokens=False)
        body["stream"] = turn.stream
        if turn.stream and self.stream_usage:
            body["stream_options"] = {"include_usage": True}
        lay_over(body, endpoint.body)
        return post(join_url(endpoint.base_url, self.path), headers_of(turn, endpoint), body, notes)

    def reader(self, tools: Sequence[Mapping[str, Any]] = (), /) -> CompletionsReader:
        """A fresh reader; ``tools`` tell declared strings from other values in families that write no quotes."""
        return CompletionsReader(tools)

    def _prompt(self, turn: Turn, notes: Notes) -> str:
        for message in turn.messages:
            if not isinstance(message, Mapping):
                notes.cannot("message that is not an object")
                continue
            for kind in _foreign_parts(message):
                notes.cannot(f"{kind} part")
        if self.render is None:
            notes.cannot("prompt: no chat template was loaded")
        if self.render is None or notes.untranslatable:
            return ""
        try:
            return self.render(turn)
        except CannotRender as error:
            notes.cannot(f"prompt: {error}")
            return ""

    def _settings(self, parameters: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
        settings: dict[str, Any] = {"max_tokens": budget_or(self.default_max_tokens, parameters, notes)}
        for name, value in parameters.items():
            if name in _NEUTRAL:
                if value not in _NEUTRAL[name]:
                    notes.cannot("n>1" if name == "n" and value != 0 else name)
            elif name in ("logprobs", "top_logprobs"):
                if value:
                    notes.rewrote(f"dropped:{name}")
            elif name not in _TEMPLATE and name not in ("max_tokens", "max_completion_tokens"):
                settings[name] = value
        return settings


def _foreign_parts(message: Mapping[str, Any]) -> Iterator[str]:
    """Kinds of content parts that are not text."""
    content = message.get("content")
    for part in content if isinstance(content, (list, tuple)) else ():
        kind = "text" if isinstance(part, str) else as_text(as_dict(part).get("type")) or "text"
        if kind not in _TEXT_PARTS:
            yield {"image_url": "image", "input_audio": "audio"}.get(kind, kind)


class CompletionsReader(OpenAIChatReader):
    """Reads one answer: chat completions with ``text`` where a delta or message would be."""

    def __init__(self, tools: Iterable[Mapping[str, Any]] = ()) -> None:
        super().__init__(reads_text=True)
        self._tools = tuple(tools)

    def interpret(self, text: str, is_cut: bool) -> Parsed:
        """The calls and the reasoning in the text of an answer that is over; ``is_cut``: the budget ran out."""
        return parse_text(text, self._tools, is_cut=is_cut)
