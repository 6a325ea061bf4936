"""tps = (output tokens − those of the first moment, by their share of the text) ÷ (last − first token moment).

Output tokens per second of decoding, per request. It refuses a number when the reply came in one chunk, was buffered,
was not streamed, or usage is missing (see :mod:`vendor_verifier.metrics.decoding`). A vendor's figure is the ratio of
sums, Σ tokens ÷ Σ seconds, over the requests that measured: a mean of ratios would let short replies decide.
"""

from __future__ import annotations

from collections.abc import Iterable

from vendor_verifier.metrics.base import Metric, answers
from vendor_verifier.metrics.decoding import Decoding, decoding
from vendor_verifier.values.record import Record


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


METRIC = Metric("tps", "higher", "tokens/s", tps)
