"""scores.json: the report as it is; ``python -m vendor_verifier.reports.scores_json`` prints its JSON Schema.

``schema`` is raised when a key changes its meaning or is removed; new keys may appear under the same number.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from vendor_verifier.records.results import Report
from vendor_verifier.reports.escape import json_text


def render(report: Report) -> str:
    """ASCII JSON with two-space indentation and a final newline."""
    return json_text(report) + "\n"


def scores_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of scores.json."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Report)}


if __name__ == "__main__":
    print(json.dumps(scores_schema(), indent=2))  # noqa: T201  # the purpose of this command
