"""A value as dictionaries within each other, as ``dataclasses.asdict`` gives it of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def nested_dict(value: msgspec.Struct) -> dict[str, Any]:
    """The fields of ``value`` by name, with those of the values in it; anything else stays as it is."""
    return {name: _nested(getattr(value, name)) for name in value.__struct_fields__}


def _nested(value: object) -> Any:
    if isinstance(value, msgspec.Struct):
        return nested_dict(value)
    if isinstance(value, Mapping):
        return {key: _nested(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_nested, value))
    return value
