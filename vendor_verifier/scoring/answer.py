"""One successful attempt as formulas read it: plausible usage, moments of tokens, the part that can be timed.

A zero where something was certainly sent or received reads as "not reported": hosts without token counting send zeros,
and taken at their word they would win every comparison of cost.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Mapping
from hashlib import blake2b

import msgspec

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.record import Attempt, Record, Response, ToolCall, Usage
from vendor_verifier.records.sample import Samples
from vendor_verifier.redaction import is_digest

# A stall of the event loop that spoils the times of every request under way, and the anomaly of their answers.
STALL_NS, LOOP_LAG = 50_000_000, "loop_lag"
# A time is discarded where more than this share of it may be our own lateness in reading it.
MOST_LATE = 0.5
# Long answers meet our stalls most, so with more than this share discarded the rest look too fast.
MOST_DISCARDED = 0.2


def lateness_ns(attempt: Attempt) -> int:
    """Our lateness in ns; 0 where it was not measured."""
    return 0 if attempt.timing is None else attempt.timing.our_lateness_ns or 0


def is_late(late_ns: float, time_ns: float) -> bool:
    """Whether a time is discarded, because more than ``MOST_LATE`` of it may be our own lateness."""
    return late_ns > MOST_LATE * time_ns


# A shorter window times the network's packets, not the model's tokens.
MIN_WINDOW_NS = 10_000_000
# No served model is known to decode one request faster; above it the reply was ready before it was sent.
MAX_DECODE_TPS = 5_000.0
# A shorter reply may come in one piece without having been buffered.
BUFFERED_MIN_TOKENS = 16
_CHARACTERS_PER_TOKEN = 4
# A token is one byte of text at least, but for the markup around an answer and around each of its calls.
_MARKUP_TOKENS, _MARKUP_TOKENS_OF_CALL = 16, 64
_INLINE_REASONING = ("<think", "<|channel|>analysis")


class Answer:
    """One successful attempt; what was not measured is None.

    Times are in ms from when the request was sent: to the first token, to the first that is not reasoning, and to the
    end. Only a streamed answer has a first token, and a window from the first to the last one. ``hides_tokens``: it
    bills more output tokens than it can hold.
    """

    first_ms: float | None = None
    answer_ms: float | None = None
    end_ms: float | None = None
    connect_ms: float | None = None
    window_ns: int | None = None

    def __init__(self, attempt: Attempt) -> None:
        timing, response = attempt.timing, attempt.response
        self.attempt, self.usage = attempt, reported_usage(attempt)
        self.hides_tokens = response is not None and hides_tokens(response, self.usage)
        if timing is None:
            return
        self.end_ms, self.connect_ms = timing.end_ns / 1e6, _ms(timing.connect_ns)
        if response is not None and response.streamed:
            self.first_ms, self.answer_ms = _ms(timing.first_token_ns), _ms(timing.first_answer_ns)
            if timing.first_token_ns is not None and timing.last_token_ns is not None:
                self.window_ns = timing.last_token_ns - timing.first_token_ns

    @property
    def decoded(self) -> tuple[float, float] | None:
        """Tokens that came after the first moment and the seconds they took; None where they cannot be measured.

        tokens = output × (1 − share of the characters that came with the first moment); seconds = last − first token
        moment. None: usage missing or hidden, one moment only, too short a window, or a buffered reply.
        """
        timing, output, window_ns = self.attempt.timing, self.usage.output, self.window_ns
        if timing is None or output is None or self.hides_tokens or window_ns is None or window_ns < MIN_WINDOW_NS:
            return None
        tokens, seconds = output * (1.0 - (timing.first_chunk_share or 0.0)), window_ns / 1e9
        is_plausible = timing.first_chunk_share is not None and 0 < tokens / seconds <= MAX_DECODE_TPS
        return (tokens, seconds) if is_plausible else None


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6


def reported_usage(attempt: Attempt) -> Usage:
    """The attempt's usage with impossible zeros taken as absent; all ``None`` when there was none."""
    response = attempt.response
    if response is None or response.usage is None:
        return Usage()
    usage = response.usage
    has_content = bool(response.text or response.reasoning or response.tool_calls)
    output = None if usage.output == 0 and has_content else usage.output
    return Usage(usage.input or None, output, usage.cached, usage.reasoning, usage.cost_usd)


def hides_tokens(response: Response, usage: Usage) -> bool:
    """Whether more output tokens are billed than what is shown can hold, so that their decoding time is unknown.

    Either no reasoning or a summary of it is shown, with more reasoning tokens billed than it has bytes, or there are
    more tokens than bytes in all, markup granted.
    """
    if not usage.output:
        return False
    # A redacted text may have been of any characters.
    sizes = [
        4 * len(each) if is_digest(each) else len(each.encode("utf-8", "surrogatepass")) for each in _texts(response)
    ]
    shown = _MARKUP_TOKENS + sizes[1] if response.reasoning else 0
    if (usage.reasoning or 0) > shown and not response.text.lstrip().startswith(_INLINE_REASONING):
        return True
    granted = _MARKUP_TOKENS + _MARKUP_TOKENS_OF_CALL * len(response.tool_calls)
    return usage.output > granted + sum(sizes)


def buffered(answer: Answer) -> bool:
    """Whether a streamed reply of ``BUFFERED_MIN_TOKENS`` or more was plainly ready before it was sent.

    Either all of it came in one moment, or the rest followed faster than ``MAX_DECODE_TPS``. Nothing is concluded where
    we were late ourselves, nor of calls that the protocol gives in one piece. Four characters count as a token where
    usage is missing or counts what is not shown.
    """
    timing, response, window_ns = answer.attempt.timing, answer.attempt.response, answer.window_ns
    if timing is None or response is None or window_ns is None or response.calls_whole:
        return False
    output = None if answer.hides_tokens else answer.usage.output
    tokens = characters(response) / _CHARACTERS_PER_TOKEN if output is None else output
    if tokens < BUFFERED_MIN_TOKENS or is_late(lateness_ns(answer.attempt), window_ns):
        return False
    if window_ns == 0:
        return True
    after_first = tokens * (1.0 - (timing.first_chunk_share or 0.0))
    return after_first >= BUFFERED_MIN_TOKENS and after_first / (window_ns / 1e9) > MAX_DECODE_TPS


def is_billed(attempt: Attempt) -> bool:
    """Whether it reached the model or may have; refusals (4xx, 5xx, no connection) cost nothing."""
    return attempt.response is not None or (attempt.failure is not None and KINDS[attempt.failure.kind].maybe_billed)


def _texts(response: Response) -> list[str]:
    called = [text for call in response.tool_calls for text in (call.name, call.arguments)]
    return [response.text, response.reasoning, *called]


def characters(response: Response) -> int:
    """The number of characters of an answer: its text, its thinking, and the names and arguments of its calls."""
    return sum(map(len, _texts(response)))


MOST_SAMPLES = 2_000
# As many as are compared; each part is cut by itself, since they are joined only when they are.
_MOST_CHARACTERS = 1_000
_decode, _encode = msgspec.json.Decoder().decode, msgspec.json.Encoder(order="sorted").encode
EntryKey = tuple[str, str]
Question = tuple[str, str]


class AnswerText(msgspec.Struct, frozen=True):
    """The beginning of one answer: its text, its reasoning and its calls without ids, arguments in canonical form."""

    text: str
    reasoning: str
    calls: str

    @property
    def shown(self) -> str:
        """Text and calls, which every vendor shows."""
        return f"{self.text}\0{self.calls}"


class AnswerTexts(msgspec.Struct):
    """Answers to a bounded choice of samples, for comparing them as texts: by (model, label), then question (suite,
    sample), then repetition.

    Of all samples those with the smallest digests are kept, so the same run gives the same choice.
    """

    chosen: frozenset[Question] = frozenset()
    kept: dict[EntryKey, dict[Question, dict[int, AnswerText]]] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, samples: Mapping[str, Samples]) -> AnswerTexts:
        """An empty store for at most ``MOST_SAMPLES`` samples of these evaluations, the same in every scoring."""
        every = [(suite, name) for suite, found in samples.items() for name in found.ids]
        if len(every) > MOST_SAMPLES:
            every = heapq.nsmallest(MOST_SAMPLES, every, key=lambda one: blake2b("/".join(one).encode()).digest())
        return cls(frozenset(every))

    def take(self, record: Record) -> None:
        """Keep the answer of a successful record, if its sample is chosen and it is one of the first two."""
        question, final = (record.suite, record.sample), record.final
        if record.repetition > 1 or question not in self.chosen or not record.succeeded:
            return
        if final is not None and (answer := final.response) is not None:
            calls = "\x00".join([_plain(canonical_call(call)) for call in answer.tool_calls])[:_MOST_CHARACTERS]
            found = AnswerText(_plain(answer.text), _plain(answer.reasoning), calls)
            self.kept.setdefault((record.model, record.label), {}).setdefault(question, {})[record.repetition] = found


def _plain(text: str) -> str:
    """The beginning of a text in NFC, without blanks around it."""
    return text and unicodedata.normalize("NFC", text[: 2 * _MOST_CHARACTERS]).strip()[:_MOST_CHARACTERS]


def canonical_call(call: ToolCall) -> str:
    """A call with its arguments in canonical JSON; arguments that are no JSON stay as they are."""
    try:
        return f"{call.name}({_encode(_decode(call.arguments)).decode()})"
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return f"{call.name}({call.arguments})"
