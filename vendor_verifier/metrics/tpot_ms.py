"""tpot_ms = (last token − first token) ÷ (output tokens − 1) ÷ 10⁶: time per output token, the first one left out.

vLLM's and genai-bench's definition, over the moments at which tokens could be seen. It refuses a number where ``tps``
does (see :mod:`vendor_verifier.metrics.decoding`): a reply that was ready before it was sent has no time per token.
"""

from __future__ import annotations

from vendor_verifier.metrics.base import Metric, answers
from vendor_verifier.metrics.decoding import Decoding, decoding, streamed_output_tokens
from vendor_verifier.values.record import Attempt, Record


def tpot_ms(record: Record) -> float | None:
    """Milliseconds per token: Σ seconds ÷ Σ (tokens − 1) over the turns that measured; ``None`` when none did."""
    parts = [part for each in answers(record) if (part := steps(each, decoding(each))) is not None]
    return 1e3 * sum(part.seconds for part in parts) / sum(part.tokens for part in parts) if parts else None


def steps(attempt: Attempt, decoded: Decoding | None) -> Decoding | None:
    """Tokens after the first and the seconds they took, given what :func:`decoding` measured of the same attempt."""
    output = None if decoded is None else streamed_output_tokens(attempt)
    return None if decoded is None or output is None or output < 2 else Decoding(output - 1, decoded.seconds)


METRIC = Metric("tpot_ms", "lower", "ms", tpot_ms)
