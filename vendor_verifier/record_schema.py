"""The strict JSON Schema of a line of records.jsonl, made from the definitions in ``records``.

``python -m vendor_verifier.record_schema`` prints it. Its version is ``RECORD_SCHEMA``, which every record has as
``schema``. The version counts up when a key changes its meaning or goes. New keys may come under the same number.
"""

from __future__ import annotations

import json
from inspect import cleandoc
from typing import Any

import msgspec

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.record import RECORD_SCHEMA, Record


def record_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of one line."""
    made: dict[str, Any] = json.loads(msgspec.json.encode(msgspec.json.schema(Record)))
    parts = made["$defs"]
    for part in parts.values():
        part["description"] = cleandoc(part["description"]).replace("``", "`")
        part["additionalProperties"] = False
    parts["Record"]["properties"]["schema"]["const"] = RECORD_SCHEMA
    parts["Record"]["required"].append("schema")
    parts["Failure"]["properties"]["kind"]["enum"] = sorted(KINDS)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:agent-vendor-verifier:record:{RECORD_SCHEMA}",
        "title": f"A line of records.jsonl, version {RECORD_SCHEMA}",
    }
    return {**head, **made}


if __name__ == "__main__":
    print(json.dumps(record_schema(), indent=2, ensure_ascii=False))  # noqa: T201  # the purpose of this command
