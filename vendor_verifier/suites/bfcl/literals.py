"""Java and JavaScript values as models write them, read into Python values; nothing is evaluated.

Text that cannot be read stays text. Arrays are split at every comma and nested objects come out broken, as upstream.
"""

from __future__ import annotations

import re

from vendor_verifier.suites.bfcl.check_value import uncheckable

MAX_SOURCE = 2_000
"""Longer sources of lists and objects stay text: some patterns take quadratic time, and a vendor wrote the text."""

_WHOLE = re.compile(r"^-?\d+$")
_LONG = re.compile(r"^-?\d+[lL]$")
_FLOAT = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_DOUBLE = re.compile(r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_LIST_ADDED = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{")
_LIST_EMPTY = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADD = re.compile(r"add\((.+?)\)")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_MAP_EMPTY = re.compile(r"new\s+HashMap<[^>]*>\s*\(\)")
_MAP = re.compile(r"new\s+HashMap<[^>]*>\s*\(\)\s*\{")
_PUT = re.compile(r"put\(\"(.*?)\",\s*(.*?)\)")
_UNREADABLE = ("Set", "Hashtable", "Queue", "Stack")
_JAVASCRIPT_FLOAT = re.compile(r"^-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"^-?\d+n$")
# Type → its form, what reads it, the length of its suffix.
_JAVA_NUMBERS: dict[str, tuple[re.Pattern[str], type, int]] = {
    **dict.fromkeys(("byte", "short", "integer"), (_WHOLE, int, 0)),
    "long": (_LONG, int, 1), "float": (_FLOAT, float, 1), "double": (_DOUBLE, float, 0),
}  # fmt: skip
_JAVASCRIPT_NUMBERS: dict[str, tuple[re.Pattern[str], type, int]] = {
    "integer": (_WHOLE, int, 0), "float": (_JAVASCRIPT_FLOAT, float, 0), "Bigint": (_BIGINT, int, 1),
}  # fmt: skip


def read_java(source: str, type_name: str, element: str | None = None) -> object:
    """The value of ``source`` under this type, or ``source`` itself when it is not written that way.

    ``element`` is the type of the members of an ``Array`` or ``ArrayList``. Raises DataError for a type that the
    leaderboard cannot read (``Set``, ``Hashtable``, ``Queue``, ``Stack``).
    """
    if type_name in _UNREADABLE:
        raise uncheckable(f"no Java {type_name} can be read")
    if type_name in _JAVA_NUMBERS:
        return _number(source, *_JAVA_NUMBERS[type_name])
    if type_name == "boolean":
        return source == "true" if source in ("true", "false") else source
    if len(source) > MAX_SOURCE:
        return source
    if type_name == "ArrayList":
        return _array_list(source, element)
    if type_name == "Array":
        found = _ARRAY.search(source)
        return [_member(item, element) for item in _items(found[1]) if item] if found else source
    return _hash_map(source) if type_name == "HashMap" else source


def _number(source: str, form: re.Pattern[str], convert: type, suffix: int) -> object:
    """The number in a source of this form, else the source. A final line break is let through by the forms."""
    if not form.match(source):
        return source
    text = source.rstrip("\n")
    try:
        return convert(text[: len(text) - suffix])
    except ValueError:  # more digits than Python converts
        return source


def _untyped(source: str) -> object:
    """The number that Python reads in a literal, else its text."""
    for convert in (int, float):
        try:
            return convert(source)
        except ValueError:
            continue
    return source


def _untyped_java(source: str) -> object:
    """The value of a literal by its form, else its text."""
    if source in ("true", "false"):
        return source == "true"
    if source.startswith('"') and source.endswith('"'):
        return source[1:-1]
    for name in ("long", "float"):
        if _JAVA_NUMBERS[name][0].match(source):
            return _number(source, *_JAVA_NUMBERS[name])
    return _untyped(source)


def _items(inside: str) -> list[str]:
    return [item.strip() for item in inside.split(",")]


def _member(source: str, element: str | None) -> object:
    return read_java(source, element) if element else _untyped_java(source)


def _array_list(source: str, element: str | None) -> object:
    items: list[str] | None = None
    if listed := _LIST_OF.search(source):
        items = _items(listed[1])
    elif (head := _LIST_ADDED.search(source)) and (end := source.find("}}", head.end())) >= 0:
        items = [item.strip() for item in _ADD.findall(source[head.end() : end])]
    if items is None:
        return [] if _LIST_EMPTY.search(source) else source
    # Quoted members lose their first and last character, whatever those are.
    quoted = element in ("char", "String")
    return [item[1:-1] if quoted else _member(item, element) for item in items]


def _hash_map(source: str) -> object:
    head = _MAP.search(source)
    end = source.find("}", head.end()) if head else -1
    if head and end >= 0:
        return {key: _untyped_java(value.strip()) for key, value in _PUT.findall(source[head.end() : end])}
    return {} if _MAP_EMPTY.search(source) else source


# Upstream lets a row hold a "]"; its pattern may then try exponentially many splits. Here a row ends at its first "]".
_ROWS = r"\[[^\]\n]*\]\s*(?:,\s*\[[^\]\n]*\]\s*)*"
_GRID = re.compile(rf"\[\s*{_ROWS}\]|new\s+Array\(\s*{_ROWS}\)")
_ROW = re.compile(r"\[(.*?)\]")
_JAVASCRIPT_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")
_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


def read_javascript(source: str, type_name: str, element: str | None = None) -> object:
    """The value of ``source`` under this type (``element``: of an array's members), or its text."""
    if type_name in ("array", "dict"):
        if len(source) > MAX_SOURCE:
            return source
        return _javascript_array(source.strip(), element) if type_name == "array" else _object(source.strip())
    if type_name == "String":
        return source[1:-1] if _quoted(source) else source
    if type_name == "Boolean":
        return source == "true" if source in ("true", "false") else source
    return _number(source, *_JAVASCRIPT_NUMBERS[type_name]) if type_name in _JAVASCRIPT_NUMBERS else source


def _untyped_javascript(source: str) -> object:
    """The value of a literal by its form, else its text."""
    source = source.strip()
    if source in ("true", "false"):
        return source == "true"
    if _quoted(source):
        return source[1:-1]
    return _untyped(source)


def _quoted(source: str) -> bool:
    return any(source.startswith(quote) and source.endswith(quote) for quote in ("'", '"'))


def _javascript_array(source: str, element: str | None) -> object:
    grid = _GRID.match(source)
    if grid:
        rows = _ROW.findall(grid[0])
        rows[0] = rows[0].strip().removeprefix("[")
        return [[_untyped_javascript(item) for item in row.split(",")] for row in rows]
    found = _JAVASCRIPT_ARRAY.match(source)
    if not found:
        return source
    inside = (found[1] if found[1] is not None else found[2]).strip()
    items = _items(inside) if inside else []
    return [read_javascript(item, element) if element else _untyped_javascript(item) for item in items]


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
    return _untyped_javascript(source.strip("'\""))
