"""capacity.json: a search for capacity as data, and the way back to values; what was not measured is null.

``schema`` counts up when a key changes its meaning or goes; new keys may appear under the same number.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from vendor_verifier.values.capacity import CapacityReport

CAPACITY_SCHEMA = 1


class _Document(msgspec.Struct):
    schema: int
    capacity: CapacityReport


_decode = msgspec.json.Decoder(_Document).decode


def render(report: CapacityReport) -> str:
    """ASCII JSON with two-space indentation and a final newline."""
    document: dict[str, Any] = {"schema": CAPACITY_SCHEMA, "capacity": msgspec.to_builtins(report)}
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def read(text: bytes) -> CapacityReport:
    """What :func:`render` wrote.

    Raises:
        msgspec.MsgspecError: not such a document, or one of a later version.
    """
    try:
        document = _decode(text)
    except (RecursionError, UnicodeDecodeError) as error:
        raise msgspec.DecodeError(str(error)) from None
    if document.schema != CAPACITY_SCHEMA:
        raise msgspec.ValidationError(f"schema {document.schema} is not known to this version")
    return document.capacity
