"""Puts one answer together from a reader's events, and says whether it is whole.

An answer is whole when the model gave a finish reason or the protocol its end marker. Neither means the stream was cut,
whatever the HTTP layer thought of it: such an answer is ``truncated``, never a success.

Every text that leaves here can be written as UTF-8: lone surrogates become U+FFFD with the anomaly ``lone_surrogate``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import sub
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.records.event import (
    Anomaly,
    Fault,
    Finish,
    Identity,
    Lost,
    Parsed,
    ReasoningDelta,
    StreamEnd,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from vendor_verifier.records.record import Response
from vendor_verifier.records.steps import Steps, at_once
from vendor_verifier.wire.payload import replacements, writable_in_steps
from vendor_verifier.wire.reader_support import ToolCallAccumulator

_LEAKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("kimi", re.compile(r"<\|tool_calls?_(?:section_)?(?:begin|end)\|>|<\|tool_call_argument_begin\|>")),
    ("hermes", re.compile(r"</?tool_call>")),
    ("deepseek", re.compile(r"<[|｜]tool[▁_]calls?[▁_](?:begin|end)[|｜]>|<[|｜]DSML[|｜]")),
    ("glm", re.compile(r"</?arg_(?:key|value)>")),
    ("minimax", re.compile(r"</?minimax:tool_call>|<invoke name=")),
    ("llama", re.compile(r"<\|python_tag\|>|<function=[\w.-]+>")),
    ("mistral", re.compile(r"\[TOOL_CALLS\]")),
    ("harmony", re.compile(r"<\|(?:channel|message|call|constrain)\|>")),
    ("seed", re.compile(r"</?seed:tool_call>")),
    ("thinking", re.compile(r"</?think>")),
)


def markup_sought(text: str) -> Iterator[str | None]:
    """Search ``text`` for one family of markup after the other: its name where it is found, else None."""
    if "<" in text or "[" in text:
        for family, pattern in _LEAKS:
            yield family if pattern.search(text) else None


# More characters than one decoding step yields: arriving all at one moment, they were held back.
BUFFERED_CHARACTERS = 40
# Far more than the longest answer of any model; who reads stops there.
MAX_CHARACTERS = 1024 * 1024
_GAPS_A_STEP = 10_000
# An answer of so many characters is put together in one step.
_CHARACTERS_A_STEP = 32 * 1024
_CALLS_A_STEP = 100


# Before any host has said who it is.
_NOBODY = Identity()


class TokenMoments(msgspec.Struct, frozen=True):
    """When tokens arrived (ns on the exchange's clock); all None and empty for an answer without tokens."""

    first_event_ns: int | None = None
    first_token_ns: int | None = None
    first_answer_ns: int | None = None
    last_token_ns: int | None = None
    gaps_ns: tuple[int, ...] = ()
    first_chunk_share: float | None = None


class Collected(msgspec.Struct, frozen=True):
    """An answer put together. ``fault`` is an error reported inside it; ``ended``: the end marker came; ``lost`` is why
    a piece before the end could not be read."""

    response: Response
    fault: Fault | None = None
    ended: bool = False
    moments: TokenMoments = TokenMoments()
    lost: str | None = None

    @property
    def empty(self) -> bool:
        """Whether it has no token of text, reasoning or tool call."""
        response = self.response
        return not (response.text or response.reasoning or response.tool_calls)

    @property
    def complete(self) -> bool:
        """Whether the model finished or the protocol ended; anything else was cut."""
        return self.ended or self.response.finish_reason is not None


class Assembler:
    """Takes events with the moment each arrived; :meth:`collected` returns the answer so far."""

    def __init__(self) -> None:
        self.characters = 0
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls = ToolCallAccumulator()
        self._legacy_calls = ToolCallAccumulator()
        self._usage: Usage | None = None
        self._finish: Finish | None = None
        self._identity = _NOBODY
        self._fault: Fault | None = None
        self._ended = False
        self._lost: str | None = None
        self._anomalies: dict[str, None] = {}
        self._first_event_ns: int | None = None
        self._first_answer_ns: int | None = None
        self._token_moments: list[int] = []
        self._token_sizes: list[int] = []
        self._whole_calls = 0

    @property
    def has_token(self) -> bool:
        """Whether a first non-empty delta has come."""
        return bool(self._token_moments)

    def add(self, event: StreamEvent, at_ns: int = 0) -> None:
        """Take one event that arrived at ``at_ns``."""
        if self._first_event_ns is None:
            self._first_event_ns = at_ns
        size = _TAKERS[event.__class__](self, event)
        if size:
            self.characters += size
            self._token_moments.append(at_ns)
            self._token_sizes.append(size)
            if self._first_answer_ns is None and event.__class__ is not ReasoningDelta:
                self._first_answer_ns = at_ns

    def add_row(self, joined: StreamEvent, moments: Sequence[int], sizes: Sequence[int]) -> None:
        """Take deltas of one kind in a row, joined to one, with the moment and the number of characters of each."""
        if 0 in sizes:
            kept = [(at_ns, size) for at_ns, size in zip(moments, sizes, strict=True) if size]
            moments, sizes = [at_ns for at_ns, _ in kept], [size for _, size in kept]
        if not sizes:
            return
        self.add(joined, moments[0])
        self.characters += sum(sizes) - self._token_sizes[-1]
        self._token_sizes[-1:] = sizes
        self._token_moments += moments[1:]

    # Each takes events of one kind; the number of characters that the event adds, and if there are any it is a token.

    def _take_text(self, delta: TextDelta) -> int:
        self._text.append(delta.text)
        return len(delta.text)

    def _take_reasoning(self, delta: ReasoningDelta) -> int:
        self._reasoning.append(delta.text)
        return len(delta.text)

    def _take_call(self, delta: ToolCallDelta) -> int:
        size = characters_of(delta)
        if delta.is_legacy:
            self._legacy_calls.add(delta)
            # Beside calls it is a copy, and a copy is no token.
            return 0 if self._calls else size
        self._calls.add(delta)
        self._whole_calls += delta.is_whole and size > 0
        return size

    def _take_identity(self, identity: Identity) -> int:
        known = self._identity
        if identity.model and known.model and identity.model != known.model:
            self._anomalies["model_changed"] = None
        self._identity = identity if known is _NOBODY else _merge_identity(known, identity)
        return 0

    def _take_finish(self, finish: Finish) -> int:
        if self._finish is not None and self._finish != finish:
            self._anomalies["finish_changed"] = None
        self._finish = finish
        return 0

    def _take_usage(self, usage: Usage) -> int:
        self._usage = _merge_usage(self._usage, usage)
        return 0

    def _take_end(self, _end: StreamEnd) -> int:
        self._ended = True
        return 0

    def _take_parsed(self, parsed: Parsed) -> int:
        self._text = [parsed.text]
        self._reasoning = [parsed.reasoning]
        self._calls, self._legacy_calls = ToolCallAccumulator(), ToolCallAccumulator()
        for delta in parsed.tool_calls:
            self._calls.add(delta)
        return 0

    def _take_fault(self, fault: Fault) -> int:
        self._fault = self._fault or fault
        return 0

    def _take_lost(self, lost: Lost) -> int:
        self._anomalies["bad_event"] = None
        if not self._is_over:
            self._lost = self._lost or lost.why
        return 0

    def _take_anomaly(self, anomaly: Anomaly) -> int:
        self._anomalies[anomaly.name] = None
        return 0

    def collected(self, *, streamed: bool = True) -> Collected:
        """The answer so far. ``streamed`` False: no token moments, as they would be the body's."""
        return at_once(self.collecting(streamed=streamed))

    def collecting(self, *, streamed: bool = True) -> Steps[Collected]:
        """As :meth:`collected`, in steps."""
        text, calls = "".join(self._text), self._calls.calls() or self._legacy_calls.calls()
        is_long = max(self.characters, len(text)) > _CHARACTERS_A_STEP or len(calls) > _CALLS_A_STEP
        if is_long:
            yield
        leaks = yield from self._leaks(text)
        noticed = tuple(self._noticed(calls, leaks=leaks, streamed=streamed))
        if is_long:
            yield
        assembled = Response(
            text=text,
            reasoning="".join(self._reasoning),
            tool_calls=calls,
            finish_reason=self._finish.reason if self._finish else None,
            finish_raw=self._finish.raw if self._finish else None,
            usage=self._usage,
            served_model=self._identity.model,
            served_provider=self._identity.provider,
            native_finish_reason=self._identity.native_finish_reason,
            fingerprint=self._identity.fingerprint,
            request_id=self._identity.response_id,
            streamed=streamed,
            anomalies=tuple(dict.fromkeys([*self._anomalies, *noticed])),
            calls_whole=self._is_calls_whole,
        )
        if is_long:
            yield
        response = yield from writable_in_steps(assembled)
        if response is not assembled and replacements(response) > replacements(assembled):
            response = structs.replace(response, anomalies=(*assembled.anomalies, "lone_surrogate"))
        if is_long:
            yield
        moments = (yield from self._moments()) if streamed else TokenMoments()
        return Collected(response, self._fault, self._ended, moments, self._lost)

    @property
    def _is_over(self) -> bool:
        return self._ended or self._finish is not None

    @property
    def _is_calls_whole(self) -> bool:
        """Whether every token is a call that the protocol gives in one piece."""
        return 0 < self._whole_calls == len(self._token_moments)

    def _leaks(self, text: str) -> Steps[bool]:
        """Whether markup stands in the text of an answer that is whole."""
        if self._is_over:
            for is_found in markup_sought(text):
                if is_found:
                    return True
                yield
        return False

    def _noticed(self, calls: Sequence[ToolCall], *, leaks: bool, streamed: bool) -> Iterator[str]:
        """The anomalies that only the whole answer shows."""
        for call in calls:
            yield from call.anomalies
        if self._legacy_calls:
            yield from _of_the_old_field(self._calls.calls(), self._legacy_calls.calls())
        if len(calls) > 1:
            yield from _of_ids(calls)
        if leaks:
            yield "markup_in_text"
        if self._ended and self._finish is None and self._fault is None:
            yield "no_finish_reason"
        if self._usage is not None and self._usage.output == 0 and self._token_moments:
            yield "usage_zero"
        moments = self._token_moments
        if (
            streamed
            and not self._is_calls_whole
            and moments[-1:] == moments[:1]
            and self.characters >= BUFFERED_CHARACTERS
        ):
            yield "buffered"

    def _moments(self) -> Steps[TokenMoments]:
        moments = self._token_moments
        if not moments:
            return TokenMoments(first_event_ns=self._first_event_ns)
        gaps = list(map(sub, moments[1 : _GAPS_A_STEP + 1], moments))
        for start in range(_GAPS_A_STEP, len(moments) - 1, _GAPS_A_STEP):
            yield
            some = moments[start : start + _GAPS_A_STEP + 1]
            gaps += map(sub, some[1:], some)
        return TokenMoments(
            first_event_ns=self._first_event_ns,
            first_token_ns=moments[0],
            first_answer_ns=self._first_answer_ns,
            last_token_ns=moments[-1],
            gaps_ns=tuple(gaps),
            first_chunk_share=sum(self._token_sizes[: bisect_right(moments, moments[0])]) / self.characters,
        )


_TAKERS: Mapping[type[StreamEvent], Callable[[Assembler, Any], int]] = {
    TextDelta: Assembler._take_text,
    ReasoningDelta: Assembler._take_reasoning,
    ToolCallDelta: Assembler._take_call,
    Identity: Assembler._take_identity,
    Finish: Assembler._take_finish,
    Usage: Assembler._take_usage,
    StreamEnd: Assembler._take_end,
    Parsed: Assembler._take_parsed,
    Fault: Assembler._take_fault,
    Lost: Assembler._take_lost,
    Anomaly: Assembler._take_anomaly,
}


def collect(events: Iterable[StreamEvent], *, streamed: bool = False) -> Collected:
    """Put together an answer whose timing does not matter (a whole body, a recording without stamps)."""
    assembler = Assembler()
    for event in events:
        assembler.add(event)
    return assembler.collected(streamed=streamed)


def characters_of(event: StreamEvent) -> int:
    """The number of characters an event adds to the answer; if there are any it is a token."""
    if isinstance(event, ToolCallDelta):
        # Arguments as an object are as long as their text.
        return len(f"{event.name or ''}{'' if event.arguments is None else event.arguments}")
    return len(event.text) if isinstance(event, (TextDelta, ReasoningDelta)) else 0


def _of_the_old_field(calls: Sequence[ToolCall], legacy: Sequence[ToolCall]) -> Iterator[str]:
    """Anomalies of a call in ``function_call``: an SDK hands it to its users beside ``calls``, and they read those."""
    if not calls:
        yield "legacy_function_call"
        return
    yield "call_in_both_fields"
    known = {(call.name, call.arguments) for call in calls}
    if any((copy.name, copy.arguments) not in known for copy in legacy):
        yield "retold_differently"


def _of_ids(calls: Sequence[ToolCall]) -> Iterator[str]:
    """Anomalies of ids under which a tool's answer could belong to several calls."""
    ids = [call.id for call in calls if call.id]
    if len(set(ids)) < len(ids):
        yield "id_reused"


def _merge_usage(known: Usage | None, news: Usage) -> Usage:
    """Cumulative usage: the last number wins, but a later zero never erases an earlier positive one."""
    if known is None:
        return news
    pairs = zip(structs.astuple(news), structs.astuple(known), strict=True)
    return Usage(*(new or (new if old is None else old) for new, old in pairs))


def _merge_identity(known: Identity, news: Identity) -> Identity:
    return Identity(
        model=news.model or known.model,
        provider=news.provider or known.provider,
        fingerprint=news.fingerprint or known.fingerprint,
        response_id=known.response_id or news.response_id,
        native_finish_reason=news.native_finish_reason or known.native_finish_reason,
    )
