"""JavaScript values as models write them, read into Python values; nothing is evaluated, the unreadable stays text.

As the leaderboard reads them: arrays are split at every comma, objects at keys that look like keys, and text after a
complete array is ignored. Nested objects come out broken, which is its rule too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_SOURCE = 20_000
_WHOLE = re.compile(r"^-?\d+$")
_FLOAT = re.compile(r"^-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"^-?\d+n$")
_GRID_HEAD = re.compile(r"\[\s*\[")
_NEW_GRID_HEAD = re.compile(r"new\s+Array\(\s*\[")
_NEXT_ROW = re.compile(r",\s*\[")
_SPACE = re.compile(r"\s*")
_ROW = re.compile(r"\[(.*?)\]")
_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


def read_javascript(source: str, type_name: str, element: str | None = None) -> object:
    """The value ``source`` stands for under this type, or its text when it is not written that way.

    ``element`` is the type of an ``array``'s members. Sources beyond ``MAX_SOURCE`` characters stay text.
    """
    if type_name in ("array", "dict"):
        if len(source) > MAX_SOURCE:
            return source
        return _array(source.strip(), element) if type_name == "array" else _object(source.strip())
    if type_name == "String":
        return source[1:-1] if _quoted(source) else source
    if type_name == "Boolean":
        return source == "true" if source in ("true", "false") else source
    try:
        return _number(source, type_name)
    except ValueError:
        # More digits than Python will convert: no number anybody meant.
        return source


def read_untyped(source: str) -> object:
    """A literal of which nothing is known: what it looks like, else its text."""
    source = source.strip()
    if source in ("true", "false"):
        return source == "true"
    if _quoted(source):
        return source[1:-1]
    for convert in (int, float):
        try:
            return convert(source)
        except ValueError:
            continue
    return source


def _number(source: str, type_name: str) -> object:
    if type_name == "integer" and _WHOLE.match(source):
        return int(source)
    if type_name == "float" and _FLOAT.match(source):
        return float(source)
    if type_name == "Bigint" and _BIGINT.match(source):
        return int(source[:-1])
    return source


def _quoted(source: str) -> bool:
    return any(source.startswith(quote) and source.endswith(quote) for quote in ("'", '"'))


def _array(source: str, element: str | None) -> object:
    end = _grid_end(source)
    if end is not None:
        return list(_grid_rows(source[:end]))
    found = _ARRAY.match(source)
    if not found:
        return source
    inside = (found[1] if found[1] is not None else found[2]).strip()
    items = [item.strip() for item in inside.split(",")] if inside else []
    if not element:
        return [read_untyped(item) for item in items]
    return [read_javascript(item, element) for item in items]


def _grid_rows(source: str) -> Iterator[list[object]]:
    for index, row in enumerate(_ROW.findall(source)):
        inside = row.strip()
        if index == 0:
            inside = inside.removeprefix("[")
        yield [read_untyped(item.strip()) for item in inside.split(",")]


def _grid_end(source: str) -> int | None:
    """Where an array of arrays at the start of ``source`` ends, or None.

    The leaderboard's own pattern may split the rows in exponentially many ways before it gives up; walking the same
    choices in the same order but never twice from one place finds the same end.
    """
    for head, closing in ((_GRID_HEAD, "]"), (_NEW_GRID_HEAD, ")")):
        start = head.match(source)
        if start:
            end = _rows_end(source, start.end(), closing)
            if end is not None:
                return end
    return None


def _rows_end(source: str, inside: int, closing: str) -> int | None:
    """``inside`` is a place within a row, which ends at some ``]`` of its line, the nearest that leads to an end.

    After a row, a further row is preferred to closing.
    """
    # Each row that is open: where it began, where to look on for its end, where its line ends.
    rows = [(inside, inside, _line_end(source, inside))]
    # End of line → from where on every ``]`` before it has been tried in vain.
    exhausted: dict[int, int] = {}
    while rows:
        began, look, stop = rows.pop()
        found = source.find("]", look, exhausted.get(stop, stop))
        if found < 0:
            exhausted[stop] = min(began, exhausted.get(stop, stop))
            continue
        rows.append((began, found + 1, stop))
        place = _skip_space(source, found + 1)
        following = _NEXT_ROW.match(source, place)
        if following:
            inside = following.end()
            rows.append((inside, inside, _line_end(source, inside)))
        elif source[place : place + 1] == closing:
            return place + 1
    return None


def _line_end(source: str, place: int) -> int:
    end = source.find("\n", place)
    return len(source) if end < 0 else end


def _skip_space(source: str, place: int) -> int:
    found = _SPACE.match(source, place)
    return found.end() if found else place


def _object(source: str) -> object:
    found = None if source == "{}" else _OBJECT.match(source)
    if found is None:
        return {} if source == "{}" else source
    return {key.strip().strip("'\""): _object_value(value.strip()) for key, value in _PAIR.findall(found[1])}


def _object_value(source: str) -> object:
    if source.startswith("[") and source.endswith("]"):
        return _array(source, None)
    if source.startswith("{") and source.endswith("}"):
        return _object(source)
    return read_untyped(source.strip("'\""))
