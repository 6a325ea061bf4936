"""The columns of a run's frames."""

from __future__ import annotations

import msgspec


class Column(msgspec.Struct, frozen=True):
    """A column of a frame: its name, its dtype in pandas, its unit, and what it holds."""

    name: str
    dtype: str
    unit: str
    meaning: str


_KEY = (
    Column("model", "category", "", "unified model name"),
    Column("label", "category", "", "the vendor's entry"),
    Column("suite", "category", "", "the evaluation"),
    Column("sample", "category", "", "id of the sample"),
    Column("repetition", "int32", "", "from 0 on"),
)
_TOKENS = (
    Column("input_tokens", "float64", "tokens", "prompt tokens, cached ones included"),
    Column("output_tokens", "float64", "tokens", "generated tokens, reasoning included"),
    Column("cached_tokens", "float64", "tokens", "prompt tokens that the vendor says it had cached"),
    Column("reasoning_tokens", "float64", "tokens", "output tokens that the vendor says were reasoning"),
    Column("reported_usd", "float64", "USD", "what the vendor says it charged"),
)
RECORD_COLUMNS: tuple[Column, ...] = (
    *_KEY,
    Column("block", "float32", "", "number of 25 samples that every vendor was asked at about one time"),
    Column("region", "category", "", "region it was asked from"),
    Column("sent_s", "float64", "s", "first attempt sent, seconds since 1970, UTC"),
    Column("ended_s", "float64", "s", "last attempt ended, seconds since 1970, UTC"),
    Column("due_s", "float64", "s", "when it was due after its schedule began; missing in a closed loop"),
    Column("waited_ms", "float64", "ms", "from due to sent, of the successful attempt; missing in a closed loop"),
    Column("ok", "bool", "", "every turn ended in a whole answer, after retries"),
    Column("failure", "category", "", "kind of failure; missing of a success"),
    Column("charge", "category", "", "who answers for it: vendor, data, network, rate_limit, account, us, unasked"),
    Column("turns", "int32", "requests", "questions that it asked in a row"),
    Column("attempts", "int32", "requests", "HTTP requests it took"),
    Column("resent", "int32", "requests", "of them sent twice, because a kept connection ended"),
    Column("retried", "bool", "", "answered, but on a later try only"),
    Column("decision", "category", "", "called, not_called or undecided"),
    Column("calls", "int32", "calls", "tool calls that were judged"),
    Column("classes", "category", "", "verdicts on their arguments, with commas"),
    Column("offered", "bool", "", "the request declared tools and its answer was judged by them"),
    Column("score", "float64", "share", "main score of the evaluation, 0 to 1"),
    Column("problem", "category", "", "why it scored badly, or what a feature check saw"),
    Column("status", "category", "", "outcome of a feature check: kept, broken, not_offered, not_measurable"),
    Column("category", "category", "", "category of the sample"),
    Column("difficulty", "category", "", "difficulty of the sample"),
    Column("call_type", "category", "", "call type of the sample"),
    Column("sample_name", "category", "", "id of the sample in its own row"),
    Column("finish", "category", "", "finish reason of the last answer"),
    Column("served_model", "category", "", "model that the answer names"),
    Column("provider", "category", "", "provider that a router names"),
    Column("fingerprint", "category", "", "system fingerprint"),
    Column("anomalies", "category", "", "departures from the standard, with commas"),
    Column("reworded", "category", "", "what the wire asked in other words than the sample, with commas"),
    Column("ttft_ms", "float64", "ms", "TTFT: first token − sent"),
    Column("ttft_due_ms", "float64", "ms", "first token of the first turn − due; missing in a closed loop"),
    Column("ttfat_ms", "float64", "ms", "first token that is not reasoning − sent"),
    Column("e2e_ms", "float64", "ms", "end − sent, all turns"),
    Column("connect_ms", "float32", "ms", "opening the connection; missing where it was open"),
    *_TOKENS,
    Column("tokens_after", "float64", "tokens", "output tokens after the first chunk"),
    Column("decode_s", "float64", "s", "from the first to the last token"),
    Column("late_ms", "float32", "ms", "how late this program may have read it, at most"),
    Column("discarded", "category", "", "times left out because this program was late for more than half of them"),
    Column("max_tokens", "float32", "tokens", "limit that the sample asks for"),
    Column("characters", "float32", "", "characters of the answer, calls included"),
    Column("call_digest", "float64", "", "hash of its calls with canonical arguments; missing without calls"),
)

ATTEMPT_COLUMNS: tuple[Column, ...] = (
    *_KEY,
    Column("sent_s", "float64", "s", "when it was sent, seconds since 1970, UTC"),
    Column("seconds", "float64", "s", "how long it took"),
    Column("failure", "category", "", "kind of failure; missing of an answer"),
    Column("succeeded", "bool", "", "a later attempt of the record succeeded"),
    Column("billed", "bool", "", "it reached the model, or may have"),
    *_TOKENS,
)
EVALUATION_COLUMNS: tuple[Column, ...] = (
    Column("record", "int64", "", "index of the record's row"),
    Column("name", "category", "", "what the evaluation measures"),
    Column("value", "float64", "share", "0 to 1; 0 of a failure; missing where it cannot be measured"),
)
