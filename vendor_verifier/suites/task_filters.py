"""Selects rows of a tool evaluation by difficulty, category, tags and id; no row, however odd, makes it raise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from vendor_verifier.errors import UsageError

Mode = Literal["strict", "compat"]
# What a level asks for in a data set that tells rows apart by the number of their calls.
CALL_TYPES = {"easy": "single", "single": "single", "hard": "multi", "multi": "multi", "medium": "multi"}


def is_compat(mode: str) -> bool:
    """Whether the original is to be reproduced.

    Raises:
        UsageError: neither mode; a misspelled one must not pass for strict.
    """
    if mode not in ("strict", "compat"):
        raise UsageError(f"mode is strict or compat, read {mode!r}")
    return mode == "compat"


def several(wanted: Sequence[str]) -> Sequence[str]:
    """The values of a filter; a bare text is one value, not its letters."""
    return (wanted,) if isinstance(wanted, str) else wanted


def lowered(task: Mapping[str, Any], key: str) -> str:
    """A field as lower-case text; "" when it is absent or no text."""
    value = task.get(key)
    return value.lower() if isinstance(value, str) else ""


def has_tags(task: Mapping[str, Any], tags: Sequence[str]) -> bool:
    """Every tag is part of some name or description among the row's tools; case does not matter."""
    words = [word.lower() for word in _described(task.get("tools"))]
    return all(any(tag.lower() in word for word in words) for tag in tags)


def has_id(task: Mapping[str, Any], keys: Sequence[str], wanted: Sequence[str]) -> bool:
    """The first of ``keys`` that the row has is one of the ids wanted, compared as text."""
    found = next((task[key] for key in keys if task.get(key) is not None), None)
    return found is not None and str(found) in {str(one) for one in wanted}


def first(tasks: list[dict[str, Any]], sample_size: int | None) -> list[dict[str, Any]]:
    """The first ``sample_size`` rows, all of them for None."""
    return tasks if sample_size is None else tasks[: max(sample_size, 0)]


def _described(tools: object) -> Iterator[str]:
    """The texts under names and descriptions, and bare texts in lists; keys and types are not descriptions."""
    pending = [tools]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
        elif isinstance(item, Mapping):
            for key, value in item.items():
                describes = str(key).lower().endswith(("name", "description"))
                if describes or not isinstance(value, (str, list, tuple)) or any(map(_is_object, value)):
                    pending.append(value)


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)
