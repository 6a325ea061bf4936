"""Java and JavaScript values as models write them, read into Python values; nothing is evaluated.

Text that cannot be read stays text.

As the leaderboard reads them: arrays are split at every comma, objects at keys that look like keys, and text after a
complete array is ignored. Nested objects come out broken, which is its rule too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from vendor_verifier.suites.bfcl.verdict import uncheckable

MAX_SOURCE = 20_000
_WHOLE = re.compile(r"^-?\d+$")
_LONG = re.compile(r"^-?\d+[lL]$")
_FLOAT = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_DOUBLE = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_LIST_ADDED_HEAD = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{")
_LIST_ADDED = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_LIST_EMPTY = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADD = re.compile(r"add\((.+?)\)")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_MAP_HEAD = re.compile(r"new\s+HashMap<.*?>\s*\(\)", re.DOTALL)
_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}", re.DOTALL)
_MAP_EMPTY = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_PUT = re.compile(r"put\(\"(.*?)\",\s*(.*?)\)")


class Undecodable(ValueError):
    """A text is no list of calls in the form asked for; the message says why."""


def read_java(source: str, type_name: str, element: str | None = None) -> object:
    """The value ``source`` stands for under this type, or ``source`` itself when it is not written that way.

    ``element`` is the type of the members of an ``Array`` or ``ArrayList``. Sources beyond ``MAX_SOURCE`` characters
    stay text.

    Raises:
        DataError: a type the leaderboard cannot read (``Set``, ``Hashtable``, ``Queue``, ``Stack``).
    """
    reader = _READERS.get(type_name)
    if reader is not None:
        return reader(source)
    if type_name in ("Set", "Hashtable", "Queue", "Stack"):
        raise uncheckable(f"no Java {type_name} can be read")
    if len(source) > MAX_SOURCE:
        return source
    if type_name == "ArrayList":
        return _array_list(source, element)
    if type_name == "Array":
        return _array(source, element)
    return _hash_map(source) if type_name == "HashMap" else source


def read_untyped_java(source: str) -> object:
    """The value of a literal of unknown type by its form, else its text."""
    if source in ("true", "false"):
        return source == "true"
    if source.startswith('"') and source.endswith('"'):
        return source[1:-1]
    if _LONG.match(source):
        return _number(int, source[:-1], source)
    if _FLOAT.match(source):
        return float(_without_suffix(source))
    whole = _number(int, source, None)
    return whole if whole is not None else _number(float, source, source)


def _number(convert: Callable[[str], object], text: str, otherwise: object) -> object:
    try:
        return convert(text)
    except ValueError:
        return otherwise


def _without_suffix(source: str) -> str:
    """A final line break after the suffix is let through by the patterns; only then the suffix is not the last."""
    return source.rstrip("\n")[:-1]


def _whole(source: str) -> object:
    return _number(int, source, source) if _WHOLE.match(source) else source


def _long(source: str) -> object:
    return _number(int, _without_suffix(source), source) if _LONG.match(source) else source


def _float(source: str) -> object:
    return float(_without_suffix(source)) if _FLOAT.match(source) else source


def _double(source: str) -> object:
    return float(source) if _DOUBLE.match(source) else source


def _boolean(source: str) -> object:
    return source == "true" if source in ("true", "false") else source


def _member(source: str, element: str | None) -> object:
    return read_untyped_java(source) if not element else read_java(source, element)


def _list_member(source: str, element: str | None) -> object:
    """Quoted members lose their first and last character, whatever those are."""
    return source[1:-1] if element in ("char", "String") else _member(source, element)


def _array_list(source: str, element: str | None) -> object:
    listed = _LIST_OF.search(source)
    if listed:
        return [_list_member(item.strip(), element) for item in listed[1].split(",")]
    head = _LIST_ADDED_HEAD.search(source)
    # Without the closing braces the whole pattern would try every split of the white space before giving up.
    added = _LIST_ADDED.search(source) if head and "}}" in source[head.end() :] else None
    if added:
        return [_list_member(item.strip(), element) for item in _ADD.findall(added[1])]
    return [] if _LIST_EMPTY.search(source) else source


def _array(source: str, element: str | None) -> object:
    found = _ARRAY.search(source)
    if not found:
        return source
    return [_member(item.strip(), element) for item in found[1].split(",") if item.strip()]


def _hash_map(source: str) -> object:
    head = _MAP_HEAD.search(source)
    found = _MAP.search(source) if head and "}" in source[head.end() :] else None
    if found:
        return {key: read_untyped_java(value.strip()) for key, value in _PUT.findall(found[1])}
    return {} if _MAP_EMPTY.search(source) else source


_READERS: dict[str, Callable[[str], object]] = {
    "byte": _whole,
    "short": _whole,
    "integer": _whole,
    "long": _long,
    "float": _float,
    "double": _double,
    "boolean": _boolean,
    "char": str,
    "String": str,
    "any": str,
}


_JAVASCRIPT_FLOAT = re.compile(r"^-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"^-?\d+n$")
_GRID_HEAD = re.compile(r"\[\s*\[")
_NEW_GRID_HEAD = re.compile(r"new\s+Array\(\s*\[")
_NEXT_ROW = re.compile(r",\s*\[")
_SPACE = re.compile(r"\s*")
_ROW = re.compile(r"\[(.*?)\]")
_JAVASCRIPT_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


def read_javascript(source: str, type_name: str, element: str | None = None) -> object:
    """The value ``source`` stands for under this type, or its text when it is not written that way.

    ``element`` is the type of an ``array``'s members. Sources beyond ``MAX_SOURCE`` characters stay text.
    """
    if type_name in ("array", "dict"):
        if len(source) > MAX_SOURCE:
            return source
        return _javascript_array(source.strip(), element) if type_name == "array" else _object(source.strip())
    if type_name == "String":
        return source[1:-1] if _quoted(source) else source
    if type_name == "Boolean":
        return source == "true" if source in ("true", "false") else source
    try:
        return _javascript_number(source, type_name)
    except ValueError:
        # More digits than Python converts; the text stays as it is.
        return source


def read_untyped_javascript(source: str) -> object:
    """The value of a literal of unknown type by its form, else its text."""
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


def _javascript_number(source: str, type_name: str) -> object:
    if type_name == "integer" and _WHOLE.match(source):
        return int(source)
    if type_name == "float" and _JAVASCRIPT_FLOAT.match(source):
        return float(source)
    if type_name == "Bigint" and _BIGINT.match(source):
        return int(source[:-1])
    return source


def _quoted(source: str) -> bool:
    return any(source.startswith(quote) and source.endswith(quote) for quote in ("'", '"'))


def _javascript_array(source: str, element: str | None) -> object:
    end = _grid_end(source)
    if end is not None:
        return list(_grid_rows(source[:end]))
    found = _JAVASCRIPT_ARRAY.match(source)
    if not found:
        return source
    inside = (found[1] if found[1] is not None else found[2]).strip()
    items = [item.strip() for item in inside.split(",")] if inside else []
    if not element:
        return [read_untyped_javascript(item) for item in items]
    return [read_javascript(item, element) for item in items]


def _grid_rows(source: str) -> Iterator[list[object]]:
    for index, row in enumerate(_ROW.findall(source)):
        inside = row.strip()
        if index == 0:
            inside = inside.removeprefix("[")
        yield [read_untyped_javascript(item.strip()) for item in inside.split(",")]


def _grid_end(source: str) -> int | None:
    """The end of an array of arrays at the start of ``source``, or None where there is none.

    The leaderboard's own pattern may split the rows in exponentially many ways before it gives up; walking the same
    choices in the same order but never twice from one place finds the same end.
    """
    for head, closing in ((_GRID_HEAD, "]"), (_NEW_GRID_HEAD, ")")):
        start = head.match(source)
        if start:
            end = rows_end(source, start.end(), closing)
            if end is not None:
                return end
    return None


def rows_end(
    source: str,
    inside: int,
    closing: str,
    *,
    row_end: str = "]",
    following: re.Pattern[str] = _NEXT_ROW,
    by_line: bool = True,
) -> int | None:
    """The end of a list of rows, after its ``closing``, or None where it has none.

    ``inside`` is a place within a row, which ends at some ``row_end``, the nearest that leads to an end; ``by_line``:
    of its line. After a row, one of the ``following`` form is preferred to closing.
    """
    limit = _line_end if by_line else _text_end
    # Each row that is open: where it began, where to look on for its end, where its line ends.
    rows = [(inside, inside, limit(source, inside))]
    # End of line → the position from which every row's end before it has failed already.
    exhausted: dict[int, int] = {}
    while rows:
        began, look, stop = rows.pop()
        found = source.find(row_end, look, exhausted.get(stop, stop))
        if found < 0:
            exhausted[stop] = min(began, exhausted.get(stop, stop))
            continue
        rows.append((began, found + 1, stop))
        place = _skip_space(source, found + 1)
        further = following.match(source, place)
        if further:
            inside = further.end()
            rows.append((inside, inside, limit(source, inside)))
        elif source[place : place + 1] == closing:
            return place + 1
    return None


def _line_end(source: str, place: int) -> int:
    end = source.find("\n", place)
    return len(source) if end < 0 else end


def _text_end(source: str, _place: int) -> int:
    return len(source)


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
        return _javascript_array(source, None)
    if source.startswith("{") and source.endswith("}"):
        return _object(source)
    return read_untyped_javascript(source.strip("'\""))
