"""The JSON Schema of scores.json, as it is shipped: a description for readers, and for programs that want to check."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

FILE_NAME = "scores.schema.json"


def text() -> str:
    """The schema (draft 2020-12) as it lies in the package."""
    return files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8")


def scores_schema() -> dict[str, Any]:
    """The schema as a dict."""
    schema: dict[str, Any] = json.loads(text())
    return schema
