"""One answer: a reader fills it event by event, and it becomes a response and the moments of its tokens.

An answer is over when the model gave a finish reason or the protocol its end marker. Neither means the stream was cut,
whatever the HTTP layer thought of it.

Every text that leaves here can be written as UTF-8: lone surrogates become U+FFFD with the anomaly ``lone_surrogate``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import sub

import msgspec
from msgspec import structs

from vendor_verifier.records.record import FinishReason, Response, ToolCall, Usage
from vendor_verifier.wire.errors import Fault
from vendor_verifier.wire.payload import well_formed
from vendor_verifier.wire.tool_calls import Arguments, CallPiece, ToolCalls

# The longest model name, id or finish word that is kept.
MAX_WORD = 500
# Markup of tool calls and of thinking, by model family; none of it belongs into an answer's text.
_MARKUP = re.compile(
    r"<\|tool_calls?_(?:section_)?(?:begin|end)\|>|<\|tool_call_argument_begin\|>"  # Kimi
    r"|</?tool_call>"  # Hermes
    r"|<[|｜]tool[▁_]calls?[▁_](?:begin|end)[|｜]>|<[|｜]DSML[|｜]"  # DeepSeek
    r"|</?arg_(?:key|value)>"  # GLM
    r"|</?minimax:tool_call>|<invoke name="  # MiniMax
    r"|<\|python_tag\|>|<function=[\w.-]+>"  # Llama
    r"|\[TOOL_CALLS\]"  # Mistral
    r"|<\|(?:channel|message|call|constrain)\|>"  # Harmony
    r"|</?seed:tool_call>"  # Seed
    r"|</?think>"
)


class Parsed(msgspec.Struct, frozen=True):
    """The meaning of raw text, where the markup is the protocol: what is left of it, and what was said in marks."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


Interpret = Callable[[str, bool], Parsed]
"""Parses the raw text of an answer that is over; the second argument: the output budget ran out."""


class Answer:
    """What one answer has said so far; ``at_ns`` is the moment of the event that is being read. Pieces of text,
    reasoning or a call with a character in them are its tokens; ``characters`` counts them all. ``tool_names`` maps
    names as sent to names as declared."""

    def __init__(self, interpret: Interpret | None = None, tool_names: Mapping[str, str] | None = None) -> None:
        self.at_ns = 0
        self.characters = 0
        self.ended = False
        self.fault: Fault | None = None
        self.loss: str | None = None
        self.finish_reason: FinishReason | None = None
        self.first_answer_ns: int | None = None
        self.token_moments: list[int] = []
        self._interpret = interpret
        self._tool_names = tool_names or {}
        self._sizes: list[int] = []
        self._texts: list[str] = []
        self._reasonings: list[str] = []
        self._calls, self._legacy_calls = ToolCalls(), ToolCalls()
        self._whole_calls = 0
        self._usage: Usage | None = None
        # By the response's fields.
        self._names: dict[str, str] = {}
        self._anomalies: dict[str, None] = {}
        # Departures of the bytes, not of what they say.
        self.flags: list[str] = []

    # --- what a reader says

    def text(self, piece: str) -> None:
        """Add a piece of text; an empty one says nothing."""
        if piece:
            self._texts.append(piece)
            self._token(len(piece), is_answer=True)

    def reasoning(self, piece: str) -> None:
        """Add a piece of visible reasoning; an empty one says nothing."""
        if piece:
            self._reasonings.append(piece)
            self._token(len(piece), is_answer=False)

    def call(
        self,
        index: int | None = None,
        id: str | None = None,
        name: str | None = None,
        arguments: Arguments = None,
        *,
        is_legacy: bool = False,
        is_whole: bool = False,
    ) -> None:
        """Add a piece of a tool call; see :class:`~vendor_verifier.wire.tool_calls.CallPiece`.

        ``is_legacy``: it came in the old ``function_call`` field. ``is_whole``: the protocol gives calls in one piece.
        """
        # Arguments as an object are as long as their text.
        size = len(name or "") + (0 if arguments is None else len(str(arguments)))
        piece = CallPiece(index, id, name, arguments)
        if is_legacy:
            self._legacy_calls.add(piece)
            # Next to calls it is a copy, and a copy is no token.
            size = 0 if self._calls else size
        else:
            self._calls.add(piece)
            self._whole_calls += is_whole and size > 0
        if size:
            self._token(size, is_answer=True)

    def usage(self, news: Usage) -> None:
        """Take a report of tokens. Reports are cumulative: the last number wins, but a later zero never erases an
        earlier positive one."""
        if self._usage is not None:
            pairs = zip(structs.astuple(news), structs.astuple(self._usage), strict=True)
            news = Usage(*(new or (new if old is None else old) for new, old in pairs))
        self._usage = news

    def finish(self, reason: FinishReason, raw: str, native: str | None = None) -> None:
        """The model finished; ``raw`` is the vendor's own word, ``native`` that of a router's upstream."""
        if self._names.get("finish_raw", raw) != raw:
            self._anomalies["finish_changed"] = None
        self.finish_reason, self._names["finish_raw"] = reason, raw
        if native:
            self._names["native_finish_reason"] = native

    def identity(
        self,
        model: str | None = None,
        provider: str | None = None,
        fingerprint: str | None = None,
        response_id: str | None = None,
    ) -> None:
        """Who answers. Later non-empty names win, but the first id stays."""
        if model and self._names.get("served_model", model) != model:
            self._anomalies["model_changed"] = None
        news = {"served_model": model, "served_provider": provider, "fingerprint": fingerprint}
        self._names.update({field: name for field, name in news.items() if name})
        if response_id:
            self._names.setdefault("request_id", response_id)

    def anomaly(self, name: str) -> None:
        """Note a departure from the standard that did not stop the reading (see docs/metrics.md)."""
        self._anomalies[name] = None

    def failed(self, fault: Fault) -> None:
        """Take an error inside a 200 answer; the first one counts."""
        self.fault = self.fault or fault

    def lost(self, why: str) -> None:
        """An event that started as JSON cannot be read; before the end a piece of the answer is missing."""
        self.anomaly("bad_event")
        if not self.is_over:
            self.loss = self.loss or why

    def end(self) -> None:
        """The protocol's end marker came."""
        self.ended = True

    def _token(self, size: int, *, is_answer: bool) -> None:
        self.characters += size
        self.token_moments.append(self.at_ns)
        self._sizes.append(size)
        if is_answer and self.first_answer_ns is None:
            self.first_answer_ns = self.at_ns

    # --- what it is

    @property
    def is_over(self) -> bool:
        """Whether the model finished or the protocol ended; anything else was cut."""
        return self.ended or self.finish_reason is not None

    @property
    def gaps_ns(self) -> tuple[int, ...]:
        """The time from each token to the next."""
        return tuple(map(sub, self.token_moments[1:], self.token_moments))

    @property
    def first_chunk_share(self) -> float | None:
        """The share of all characters that came at the moment of the first token."""
        if not self.token_moments:
            return None
        return sum(self._sizes[: bisect_right(self.token_moments, self.token_moments[0])]) / self.characters

    def response(self, *, streamed: bool) -> Response:
        """The answer so far, as it is recorded."""
        text, reasoning = self._fit("".join(self._texts)), self._fit("".join(self._reasonings))
        reason = self.finish_reason
        calls = self._calls.joined() or self._legacy_calls.joined()
        if self._interpret is not None and text and self.is_over:
            parsed = self._interpret(text, reason == "length")
            text, reasoning, calls = parsed.text, parsed.reasoning, parsed.tool_calls
            # Raw completions call every end ``stop``.
            reason = "tool_calls" if reason == "stop" and calls else reason
        declared = tuple(map(self._declared, calls))
        names = {field: self._fit(name[:MAX_WORD]) for field, name in self._names.items()}
        noticed = [*self._anomalies, *self._noticed(text, calls), *self.flags]
        return Response(
            text=text,
            reasoning=reasoning,
            tool_calls=declared,
            finish_reason=reason,
            usage=self._usage,
            streamed=streamed,
            anomalies=tuple(dict.fromkeys(noticed)),
            calls_whole=0 < self._whole_calls == len(self.token_moments),
            **names,
        )

    def _fit(self, text: str) -> str:
        """The text fit for UTF-8; damage is noted."""
        fitting = well_formed(text)
        if fitting.count("\ufffd") > text.count("\ufffd"):
            self.anomaly("lone_surrogate")
        return fitting

    def _declared(self, call: ToolCall) -> ToolCall:
        """The call under the name that was declared, with every text fit for UTF-8."""
        name, id = self._fit(call.name), call.id and self._fit(call.id[:MAX_WORD])
        return structs.replace(call, name=self._tool_names.get(name, name), arguments=self._fit(call.arguments), id=id)

    def _noticed(self, text: str, calls: Sequence[ToolCall]) -> Iterator[str]:
        """The anomalies that only the whole answer shows."""
        for call in calls:
            yield from call.anomalies
        if self._legacy_calls:
            # SDKs hand the old field on next to the other calls, and their users read those.
            known = {(call.name, call.arguments) for call in self._calls.joined()}
            yield "call_in_both_fields" if known else "legacy_function_call"
            if known and any((copy.name, copy.arguments) not in known for copy in self._legacy_calls.joined()):
                yield "retold_differently"
        ids = [call.id for call in calls if call.id]
        if len(set(ids)) < len(ids):
            # A tool's answer could belong to several calls.
            yield "id_reused"
        if self.is_over and ("<" in text or "[" in text) and _MARKUP.search(text):
            yield "markup_in_text"
        if self.ended and self.finish_reason is None and self.fault is None:
            yield "no_finish_reason"
        if self._usage is not None and self._usage.output == 0 and self.token_moments:
            yield "usage_zero"
