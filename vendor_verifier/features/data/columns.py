"""The tables of a run by name, with their columns: those of the scoring frames, and those that are made here."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vendor_verifier.scoring.table import ATTEMPT_COLUMNS, EVALUATION_COLUMNS, RECORD_COLUMNS, Column


class TableKind(msgspec.Struct, frozen=True):
    """A table: what a row is, and its columns."""

    row: str
    columns: tuple[Column, ...]


_RECORD = (EVALUATION_COLUMNS[0], *RECORD_COLUMNS[:5])
_ENTRY = RECORD_COLUMNS[:2]
_EVIDENCE = (
    Column("p_value", "float64", "", "corrected for all tests of the facet; missing of a fact"),
    Column("value", "float64", "", "the difference; of a match the smallest one that would have been found"),
    Column("low", "float64", "", "its interval of 95 %: from"),
    Column("high", "float64", "", "to"),
    Column("n", "int64", "", "what it was counted over"),
    Column("samples", "string", "", "ids of samples that show it, with commas"),
    Column("command", "string", "", "the command that shows it"),
)
RANKING = (
    _ENTRY[0],
    Column("place", "float64", "", "by `irf`, or by the mean score of the evaluations; ties share it"),
    _ENTRY[1],
    Column("vendor", "string", "", "the vendor"),
    Column("model_id", "string", "", "what the vendor calls the model"),
    Column("is_baseline", "bool", "", "the others are compared with it"),
    Column("verdict", "string", "", "matches, check, differs, down, not_tested or reference"),
    Column("reason", "string", "", "why"),
    Column("irf", "float64", "", "fusion score within the model"),
    Column("f1", "float64", "share", "of its decisions to call, against the baseline's"),
    Column("success_rate", "float64", "share", "succeeded ÷ planned"),
    Column("schema_accuracy", "float64", "share", "valid calls ÷ calls"),
    Column("avg_tokens", "float64", "tokens", "mean of input and output tokens together"),
    Column("avg_ttft_ms", "float64", "ms", "mean TTFT"),
    Column("tps", "float64", "tokens/s", "decoding speed"),
    Column("scores", "string", "", "main score of each evaluation, in JSON"),
    Column("planned", "int64", "", "samples × repetitions"),
    Column("recorded", "int64", "", "of them with a record"),
    Column("succeeded", "int64", "", "of them answered, after retries"),
)
VERDICTS = (
    *_ENTRY,
    Column("facet", "string", "", "model, tool_calls, bill, reliability or speed"),
    Column("status", "string", "", "its verdict"),
    Column("reason", "string", "", "why"),
    *_EVIDENCE,
)
FINDINGS = (
    *_ENTRY,
    VERDICTS[2],
    Column("name", "string", "", "what kind of thing it is"),
    Column("status", "string", "", "what it means for the facet"),
    Column("text", "string", "", "one sentence with its numbers"),
    *_EVIDENCE,
)
TEXTS = (
    *_RECORD,
    Column("text", "string", "", "text of the last answer"),
    Column("reasoning", "string", "", "reasoning that it shows"),
    Column("tool_calls", "string", "", "its calls, `name(arguments)`, a line each"),
    Column("message", "string", "", "what was said of the failure"),
    Column("http_status", "float64", "", "HTTP status of the failure"),
    Column("request_id", "string", "", "the vendor's id of the last request"),
)
CALLS = (
    *_RECORD,
    Column("turn", "int64", "", "turn of the conversation, from 0 on"),
    Column("position", "int64", "", "place among the calls of the record, from 0 on"),
    Column("tool", "string", "", "the tool called"),
    Column("arguments", "string", "", "its arguments, as received"),
    Column("verdict", "string", "", "class of its arguments ([metrics](metrics.md#schema-accuracy))"),
    Column("reason", "string", "", "what is wrong with it"),
    Column("pointer", "string", "", "where: a JSON pointer into the arguments"),
    Column("call_id", "string", "", "the vendor's id of it"),
)
SAMPLES = (
    *RECORD_COLUMNS[2:4],
    Column("row_id", "string", "", "the id that its row has in the file"),
    Column("question", "string", "", "last text of a user in it"),
    Column("messages", "int64", "", "messages in it"),
    Column("tools", "int64", "", "tools it declares"),
    Column("expected", "string", "", "what a right answer is, in JSON"),
    Column("dataset", "string", "", "file it comes from"),
    Column("line", "float64", "", "its line there"),
)
RECORDS = (*RECORD_COLUMNS, Column("misrouted", "bool", "", "answered by another provider than the pinned one"))
TABLES: Mapping[str, TableKind] = {
    "ranking": TableKind("a vendor of a model, best place first", RANKING),
    "verdicts": TableKind("a facet of a vendor ([verdict](verdict.md))", VERDICTS),
    "findings": TableKind("something that was seen at a vendor, worst first", FINDINGS),
    "records": TableKind("a record of the plan; of several under one key a success, else the first", RECORDS),
    "texts": TableKind("a record, with what the vendor wrote", TEXTS),
    "calls": TableKind("a tool call of a successful answer, checked against the schema of its turn", CALLS),
    "attempts": TableKind("a request that did not end a turn of a success", ATTEMPT_COLUMNS),
    "evaluations": TableKind("a value that an evaluation gives a record", EVALUATION_COLUMNS),
    "samples": TableKind("a sample of an evaluation, as it was sent", SAMPLES),
}
