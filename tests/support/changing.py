"""One ``replace`` for all values: dataclasses, and the structs of which a request makes many."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec


def replace(value: Any, **changes: Any) -> Any:
    """A copy of ``value`` with ``changes``."""
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)
