"""The JSON Schema of a line of records.jsonl, made from the definitions in ``values``. It is strict.

``python -m vendor_verifier.record_schema`` prints it. Its version is ``RECORD_SCHEMA``, which every record has as
``schema``. The version counts up when a key changes its meaning or goes. New keys may come under the same number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from typing import Any

import msgspec

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.record import RECORD_SCHEMA, Record

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NS = "ns after the request was handed to a connected socket"
_ANOMALIES = "departures from the protocol, by name"
# What the name and the type of a key leave open.
_MEANINGS: Mapping[str, Mapping[str, str]] = {
    "Record": {
        "run": "id of the run, as in manifest.json",
        "model": "unified model name",
        "label": "the vendor's entry, unique within its model",
        "vendor": "the vendor that was asked",
        "suite": "the evaluation",
        "sample": "id of the sample in the evaluation's file: a digest of its content, and which occurrence",
        "sample_name": "id of the sample in its own row",
        "repetition": "from 0 on",
        "turns": "the turns of the conversation, in order",
        "schema": "version of this schema",
        "score": "kept in redacted runs alone, where the texts that it was made of are gone",
        "worker": "the worker that asked, in a run on several machines",
        "block": "number of the group of 25 samples in the order common to all vendors",
        "region": "region of the worker",
        "offered_s": "when it was due, s after the vendor's schedule began; null in a closed loop",
    },
    "TurnRecord": {
        "attempts": "all tries of the turn; the last one is its outcome",
        "rewritten": "what the protocol had to send in other words than the sample has",
        "tool_results": "what real tools returned to the calls of the answer",
    },
    "Attempt": {
        "number": "from 1 on",
        "timing": "null where nothing was sent",
        "response": "the answer, or what had come of it before it broke off",
        "failure": "why it did not succeed; null for a success",
        "resent": "sent twice, because a kept connection ended before any byte came back",
    },
    "Timing": {
        "sent_at": "UTC by the wall clock, ISO 8601; a label only",
        "end_ns": f"end of the answer, {_NS}",
        "scheduled_ns": "when it could have been sent, or in an open loop was due: 0 or negative ns",
        "connect_ns": "ns that opening the connection took, before the request; null on a used one",
        "headers_ns": f"the answer's headers, {_NS}",
        "first_token_ns": f"first non-empty text, reasoning or tool-call delta, {_NS}",
        "first_answer_ns": f"first of these that is not reasoning, {_NS}",
        "last_token_ns": f"last of these, {_NS}",
        "gaps_ns": "ns from each of these to the next",
        "first_chunk_share": "share (0 to 1) of all characters that came at the first of these moments",
        "dns_ns": "ns of connect_ns for the look-up of the name",
        "tcp_ns": "ns of connect_ns for the TCP handshake",
        "tls_ns": "ns of connect_ns for the TLS handshake",
        "connection_reused": "the connection had served before; null: not known",
        "our_lateness_ns": "ns by which we may have stamped late, at most; null: nobody watched",
        "begun_late_ns": "ns of the time from due to sent that are our own lateness, at most; null: no schedule",
    },
    "Response": {
        "text": "the answer's text",
        "reasoning": "the reasoning shown",
        "tool_calls": "the tool calls",
        "finish_reason": "how it ended, in the field's common words",
        "finish_raw": "the same in the vendor's own word",
        "usage": "tokens as the vendor reports them; null: it reported none",
        "served_model": "model named in the answer",
        "served_provider": "provider named in the answer",
        "native_finish_reason": "a router's word of its upstream",
        "fingerprint": "system fingerprint named in the answer",
        "request_id": "the vendor's id of it",
        "streamed": "it came as a stream",
        "anomalies": _ANOMALIES,
        "calls_whole": "nothing but calls, over a protocol that gives each in one piece",
    },
    "ToolCall": {
        "name": "the tool called",
        "arguments": "its arguments as received, JSON or not; empty where none came",
        "id": "the vendor's id of the call",
        "anomalies": _ANOMALIES,
    },
    "Usage": {
        "input": "prompt tokens, cached ones included",
        "output": "generated tokens, reasoning included",
        "cached": "of the input, those from a cache",
        "reasoning": "of the output, those of reasoning",
        "cost_usd": "the vendor's own statement of its charge, US dollars",
    },
    "Failure": {
        "kind": "kind of failure; docs/reliability.md explains each",
        "phase": "how far the request had come",
        "message": "what was said of it, at most 2,000 characters",
        "status": "its HTTP status",
        "code": "the vendor's own code",
        "retry_after_s": "s that the vendor asked to wait",
        "request_id": "the vendor's id of it",
    },
    "ToolResult": {
        "name": "the tool that was run",
        "outcome": "ok, error of the tool itself, or a tool that may not be called",
        "text": "what the model was shown",
        "took_ns": "ns in the tool, which no figure of a vendor contains",
        "left_out": "characters of its text that were cut",
    },
    "Score": {
        "suite": "the evaluation that judged",
        "decision": "whether it called a tool",
        "calls": "the verdict on each tool call",
        "values": "what the evaluation measured, by name; null: not measurable",
        "details": "what else the evaluation says, by name; texts as digests",
        "anomalies": _ANOMALIES,
    },
    "CallVerdict": {
        "tool": "the tool called",
        "verdict": "class of the arguments; docs/metrics.md explains each",
        "message": "what is wrong with them",
        "pointer": "where: a JSON pointer into the arguments",
    },
}


def record_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of one line.

    Raises:
        KeyError: a key of a record has no meaning here, or a meaning is of no key.
    """
    made = json.loads(msgspec.json.encode(msgspec.json.schema(Record)))
    parts: dict[str, dict[str, Any]] = made["$defs"]
    if unknown := parts.keys() ^ _MEANINGS.keys():
        raise KeyError(f"parts of a record and their meanings differ: {sorted(unknown)}")
    for name, part in parts.items():
        if unknown := part["properties"].keys() ^ _MEANINGS[name].keys():
            raise KeyError(f"keys of {name} and their meanings differ: {sorted(unknown)}")
        part["description"] = cleandoc(part["description"]).replace("``", "`")
        part["properties"] = {
            key: {"description": _MEANINGS[name][key], **kind} for key, kind in part["properties"].items()
        }
        part["additionalProperties"] = False
    parts["Record"]["properties"]["schema"] |= {"const": RECORD_SCHEMA}
    parts["Record"]["required"].append("schema")
    parts["Failure"]["properties"]["kind"] = {"description": _MEANINGS["Failure"]["kind"], "enum": sorted(KINDS)}
    return {
        "$schema": _DIALECT,
        "$id": f"urn:agent-vendor-verifier:record:{RECORD_SCHEMA}",
        "title": f"A line of records.jsonl, version {RECORD_SCHEMA}",
        "$ref": made["$ref"],
        "$defs": parts,
    }


def schema_tables(schema: Mapping[str, Any]) -> Iterator[str]:
    """The parts of a schema in Markdown: a section each, a line a key."""
    for name, part in schema["$defs"].items():
        first = part["description"].partition("\n\n")[0].replace("\n", " ")
        yield f"## {name}\n\n{first}\n\n| key | type | required | meaning |\n|---|---|---|---|\n"
        for key, kind in part["properties"].items():
            required = "yes" if key in part["required"] else ""
            yield f"| `{key}` | {_type_of(kind)} | {required} | {kind['description']} |\n"
        yield "\n"


def _type_of(kind: Mapping[str, Any]) -> str:
    """The type of a key in words, with a link where it is another part."""
    if "anyOf" in kind:
        return " or ".join(map(_type_of, kind["anyOf"]))
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in kind:
        return f"`{kind['const']}`"
    if "enum" in kind:
        return ", ".join(f"`{each}`" for each in kind["enum"])
    if kind["type"] == "array":
        return f"list of {_type_of(kind['items'])}"
    if kind["type"] == "object" and isinstance(kind.get("additionalProperties"), Mapping):
        return f"object of {_type_of(kind['additionalProperties'])}"
    return str(kind["type"])


if __name__ == "__main__":
    print(json.dumps(record_schema(), indent=2, ensure_ascii=False))  # noqa: T201  # the purpose of this command
