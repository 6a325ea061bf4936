"""How fast an answer was decoded, what a waiting user got of it, and whether the vendor held the reply back.

    tps      = (output tokens − those of the first moment, by their share of the text) ÷ (last − first token moment)
    tpot_ms  = (last token − first token) ÷ (output tokens − 1) ÷ 10⁶, as vLLM and genai-bench define it
    e2e_tps  = output tokens ÷ (last token − request sent): thinking and queueing included

A vendor's tps and e2e_tps are ratios of sums, Σ tokens ÷ Σ seconds, over the requests that measured: a mean of ratios
would let short replies decide. ``tps`` and ``tpot_ms`` refuse a number when the reply came in one chunk, was buffered,
was not streamed, or usage is missing (:func:`decoding`): a reply that was ready before it was sent has no time per
token. Nothing is guessed where usage is missing, except inside :func:`buffered`, which only ever raises a flag and then
counts four characters as a token.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vendor_verifier.metrics.base import Metric, answers
from vendor_verifier.metrics.lateness import is_spoilt, lateness_ns
from vendor_verifier.metrics.tokens import reported_usage
from vendor_verifier.values.record import Attempt, Record, Response, Timing

# Below this window the clock sees the network's packets, not a model's tokens.
MIN_WINDOW_NS = 10_000_000
# No served model is known to decode one request faster; above it the reply was ready before it was sent.
MAX_DECODE_TPS = 5_000.0
# A reply of fewer tokens may honestly come in one piece.
BUFFERED_MIN_TOKENS = 16
_CHARACTERS_PER_TOKEN = 4
_INLINE_REASONING = ("<think", "<|channel|>analysis")


@dataclass(frozen=True, slots=True)
class Decoding:
    """Tokens that came after the first moment, and the seconds they took."""

    tokens: float
    seconds: float


def decoding(attempt: Attempt) -> Decoding | None:
    """The measured decoding of one attempt, or ``None`` when there is nothing to divide.

    tokens = streamed output × (1 − share of the characters that came with the first moment); seconds = last − first
    token moment. ``None``: not streamed, usage missing, one moment only, a window under ``MIN_WINDOW_NS``, or a speed
    above ``MAX_DECODE_TPS`` (the reply was buffered).
    """
    timing, response = attempt.timing, attempt.response
    if timing is None or response is None or not response.streamed or timing.first_chunk_share is None:
        return None
    output = streamed_output_tokens(attempt)
    window_ns = _window_ns(timing)
    if output is None or window_ns is None or window_ns < MIN_WINDOW_NS:
        return None
    tokens = output * (1.0 - timing.first_chunk_share)
    seconds = window_ns / 1e9
    if tokens <= 0 or tokens / seconds > MAX_DECODE_TPS:
        return None
    return Decoding(tokens, seconds)


def streamed_output_tokens(attempt: Attempt) -> int | None:
    """Output tokens that could be seen arriving.

    Reasoning that was billed but not shown was decoded before the first visible token, so it is taken off; otherwise a
    model that thinks in secret would seem to write at the speed of its thoughts.
    """
    response, usage = attempt.response, reported_usage(attempt)
    if response is None or usage.output is None:
        return None
    shown = bool(response.reasoning) or response.text.lstrip().startswith(_INLINE_REASONING)
    if shown or not usage.reasoning:
        return usage.output
    return max(0, usage.output - usage.reasoning)


def buffered(attempt: Attempt) -> bool:
    """A streamed reply of ``BUFFERED_MIN_TOKENS`` or more that was plainly ready before it was sent.

    Either all of it came in one moment, or the rest followed faster than ``MAX_DECODE_TPS``. Nothing is concluded where
    we were late ourselves: what came in meanwhile is read in one moment, however evenly it was sent.
    """
    timing, response = attempt.timing, attempt.response
    if timing is None or response is None or not response.streamed:
        return False
    window_ns = _window_ns(timing)
    tokens = _tokens_or_estimate(attempt, response)
    if window_ns is None or tokens < BUFFERED_MIN_TOKENS or is_spoilt(lateness_ns(attempt), window_ns):
        return False
    if window_ns == 0:
        return True
    after_first = tokens * (1.0 - (timing.first_chunk_share or 0.0))
    return after_first >= BUFFERED_MIN_TOKENS and after_first / (window_ns / 1e9) > MAX_DECODE_TPS


def _window_ns(timing: Timing) -> int | None:
    """Last − first token moment."""
    if timing.first_token_ns is None or timing.last_token_ns is None:
        return None
    return timing.last_token_ns - timing.first_token_ns


def _tokens_or_estimate(attempt: Attempt, response: Response) -> float:
    reported = streamed_output_tokens(attempt)
    if reported is not None:
        return reported
    characters = len(response.text) + len(response.reasoning)
    characters += sum(len(call.name) + len(call.arguments) for call in response.tool_calls)
    return characters / _CHARACTERS_PER_TOKEN


def record_delivery(record: Record) -> Decoding | None:
    """Output tokens and the seconds from sending to the last token, summed over the turns that measured."""
    parts = [part for part in map(delivery, answers(record)) if part is not None]
    return Decoding(sum(part.tokens for part in parts), sum(part.seconds for part in parts)) if parts else None


def e2e_tps(record: Record) -> float | None:
    """Tokens per second; ``None`` without usage or a last token."""
    measured = record_delivery(record)
    return None if measured is None else measured.tokens / measured.seconds


def delivery(attempt: Attempt) -> Decoding | None:
    """Output tokens and the seconds from sending to the last token of one attempt."""
    timing, output = attempt.timing, reported_usage(attempt).output
    if timing is None or not timing.last_token_ns or not output:
        return None
    return Decoding(output, timing.last_token_ns / 1e9)


E2E_TPS = Metric("e2e_tps", "higher", "tokens/s", e2e_tps)


def tpot_ms(record: Record) -> float | None:
    """Milliseconds per token: Σ seconds ÷ Σ (tokens − 1) over the turns that measured; ``None`` when none did."""
    parts = [part for each in answers(record) if (part := steps(each, decoding(each))) is not None]
    return 1e3 * sum(part.seconds for part in parts) / sum(part.tokens for part in parts) if parts else None


def steps(attempt: Attempt, decoded: Decoding | None) -> Decoding | None:
    """Tokens after the first and the seconds they took, given what :func:`decoding` measured of the same attempt."""
    output = None if decoded is None else streamed_output_tokens(attempt)
    return None if decoded is None or output is None or output < 2 else Decoding(output - 1, decoded.seconds)


TPOT_MS = Metric("tpot_ms", "lower", "ms", tpot_ms)


def record_decoding(record: Record) -> Decoding | None:
    """Tokens and seconds summed over the turns that measured; ``None`` when none did."""
    parts = [part for part in map(decoding, answers(record)) if part is not None]
    return Decoding(sum(part.tokens for part in parts), sum(part.seconds for part in parts)) if parts else None


def tps(record: Record) -> float | None:
    """Tokens per second."""
    measured = record_decoding(record)
    return None if measured is None else measured.tokens / measured.seconds


def pooled_tps(parts: Iterable[Decoding]) -> float | None:
    """The ratio of sums over requests; ``None`` over none."""
    tokens = seconds = 0.0
    for part in parts:
        tokens += part.tokens
        seconds += part.seconds
    return tokens / seconds if seconds else None


TPS = Metric("tps", "higher", "tokens/s", tps)
