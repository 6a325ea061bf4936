"""Tokens of a request, and the speed at which they came.

Counts are by usage that can be believed, of records whose every turn reported.

    tps      = (output tokens − those of the first moment, by their share of the text) ÷ (last − first token moment)
    tpot_ms  = (last token − first token) ÷ (output tokens − 1) ÷ 10⁶, as vLLM and genai-bench define it
    e2e_tps  = output tokens ÷ (last token − request sent): thinking and queueing included

A vendor's tps and e2e_tps are ratios of sums, Σ tokens ÷ Σ seconds, over the requests that measured: a mean of ratios
would let short replies decide. ``tps`` and ``tpot_ms`` refuse a number when the reply came in one chunk, was buffered,
was not streamed, or usage is missing or counts more than is shown (:func:`vendor_verifier.metrics.answer.decoding`): a
reply that was ready before it was sent has no time per token. Of a vendor whose streams are faked or that hides tokens
in many answers there is none at all (:mod:`vendor_verifier.scoring.withheld_speeds`).
"""

from __future__ import annotations

from operator import attrgetter

from vendor_verifier.metrics.answer import Answer, Ratio
from vendor_verifier.metrics.base import Figure, Metric


def _steps(answer: Answer) -> Ratio | None:
    """(seconds of decoding, tokens after the first)."""
    output = answer.usage.output
    return None if answer.decoded is None or output is None or output < 2 else (answer.decoded[1], output - 1)


def _delivery(answer: Answer) -> Ratio | None:
    """(output tokens, seconds from sending to the last token)."""
    timing, output = answer.timing, answer.usage.output
    return (output, timing.last_token_ns / 1e9) if output and timing is not None and timing.last_token_ns else None


TPOT_MS = Metric(
    name="tpot_ms",
    title="TPOT (ms)",
    words="TPOT: (last token − first token) ÷ (output tokens − 1); not measured where TPS is not",
    ratio=_steps,
    scale=1e3,
    time_part=0,
)
TPS = Metric(
    name="tps",
    unit="tokens/s",
    direction="higher",
    title="Decode TPS",
    words="decoding speed, as above",
    ratio=attrgetter("decoded"),
    pooled=True,
    figure=Figure(
        name="tps",
        title="TPS",
        page_title="TPS",
        words="Σ tokens after the first moment ÷ Σ (last − first token), per second",
        over="streamed successes",
        family="decoding_tokens_per_second",
        help="Tokens after the first by the time they took.",
        column=2,
    ),
)
E2E_TPS = Metric(
    name="e2e_tps",
    unit="tokens/s",
    direction="higher",
    title="End-to-end TPS",
    words="output tokens ÷ (last token − sent)",
    ratio=_delivery,
    pooled=True,
)


TOTAL_TOKENS = Metric(
    name="total_tokens",
    unit="tokens",
    title="Tokens",
    words="input + output",
    formula=attrgetter("usage.total"),
    turns="total",
    has_spread=False,
    figure=Figure(
        name="avg_tokens",
        title="Avg token",
        page_title="Avg Token",
        words="Σ (input + output tokens) ÷ answers that reported both",
        over="successes with usage",
        family="request_tokens",
        help="Mean of input and output tokens of a request.",
        column=5,
    ),
)
INPUT_TOKENS = Metric(
    name="input_tokens",
    unit="tokens",
    title="Input tokens",
    words="prompt tokens, cached ones included",
    formula=attrgetter("usage.input"),
    turns="total",
    has_spread=False,
)
OUTPUT_TOKENS = Metric(
    name="output_tokens",
    unit="tokens",
    title="Output tokens",
    words="generated tokens, reasoning included",
    formula=attrgetter("usage.output"),
    turns="total",
    has_spread=False,
)
