"""input_tokens, output_tokens and total_tokens, by usage that can be believed, of records whose every turn reported."""

from __future__ import annotations

from vendor_verifier.metrics.base import Figure, Metric

TOTAL_TOKENS = Metric(
    name="total_tokens",
    unit="tokens",
    titles=("Tokens", "词元数"),
    words="input + output",
    formula=lambda answer: answer.usage.total,
    turns="total",
    has_spread=False,
    figure=Figure(
        name="avg_tokens",
        titles=("Avg token", "词元数"),
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
    titles=("Input tokens", "输入词元数"),
    words="prompt tokens, cached ones included",
    formula=lambda answer: answer.usage.input,
    turns="total",
    has_spread=False,
)
OUTPUT_TOKENS = Metric(
    name="output_tokens",
    unit="tokens",
    titles=("Output tokens", "输出词元数"),
    words="generated tokens, reasoning included",
    formula=lambda answer: answer.usage.output,
    turns="total",
    has_spread=False,
)
