"""Java and JavaScript values as models write them, read into Python values; nothing is evaluated.

Text that cannot be read stays text. Arrays are split at every comma and nested objects come out broken, as upstream.
"""

from __future__ import annotations

import re

from vendor_verifier.suites.bfcl.check_value import uncheckable

MAX_SOURCE = 2_000
"""Longer sources of lists and objects stay text: some patterns take quadratic time, and a vendor wrote the text."""

_LIST, _MAP = r"new\s+ArrayList<\w*>\(\)", r"new\s+HashMap<[^>]*>\s*\(\)"
# Type → its form, what reads it, the length of its suffix.
_JAVA_NUMBERS: dict[str, tuple[str, type, int]] = {
    **dict.fromkeys(("byte", "short", "integer"), (r"^-?\d+$", int, 0)),
    "long": (r"^-?\d+[lL]$", int, 1),
    "float": (r"^-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$", float, 1),
    "double": (r"^-?\d+(\.\d+)?([eE][+-]?\d+)?$", float, 0),
}
_JAVASCRIPT_NUMBERS: dict[str, tuple[str, type, int]] = {
    "integer": (r"^-?\d+$", int, 0),
    "float": (r"^-?\d+(\.\d+)?$", float, 0),
    "Bigint": (r"^-?\d+n$", int, 1),
}


def read_java(source: str, type_name: str, element: str | None = None) -> object:
    """The value of ``source`` under this type, or ``source`` itself when it is not written that way.

    ``element`` is the type of the members of an ``Array`` or ``ArrayList``. Raises DataError for a type that the
    leaderboard cannot read (``Set``, ``Hashtable``, ``Queue``, ``Stack``).
    """
    if type_name in ("Set", "Hashtable", "Queue", "Stack"):
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
        found = re.search(r"new\s+\w+\[\]\s*\{(.*?)\}", source)
        return [_member(item, element) for item in _items(found[1]) if item] if found else source
    return _hash_map(source) if type_name == "HashMap" else source


def _number(source: str, form: str, convert: type, suffix: int) -> object:
    """The number in a source of this form, else the source. A final line break is let through by the forms."""
    if not re.match(form, source):
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
        if re.match(_JAVA_NUMBERS[name][0], source):
            return _number(source, *_JAVA_NUMBERS[name])
    return _untyped(source)


def _items(inside: str) -> list[str]:
    return [item.strip() for item in inside.split(",")]


def _member(source: str, element: str | None) -> object:
    return read_java(source, element) if element else _untyped_java(source)


def _array_list(source: str, element: str | None) -> object:
    items: list[str] | None = None
    if listed := re.search(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)", source):
        items = _items(listed[1])
    elif (head := re.search(rf"{_LIST}\s*\{{\{{", source)) and (end := source.find("}}", head.end())) >= 0:
        items = [item.strip() for item in re.findall(r"add\((.+?)\)", source[head.end() : end])]
    if items is None:
        return [] if re.search(_LIST, source) else source
    # Quoted members lose their first and last character, whatever those are.
    quoted = element in ("char", "String")
    return [item[1:-1] if quoted else _member(item, element) for item in items]


def _hash_map(source: str) -> object:
    head = re.search(rf"{_MAP}\s*\{{", source)
    end = source.find("}", head.end()) if head else -1
    if head and end >= 0:
        return {
            key: _untyped_java(value.strip())
            for key, value in re.findall(r"put\(\"(.*?)\",\s*(.*?)\)", source[head.end() : end])
        }
    return {} if re.search(_MAP, source) else source


# Upstream lets a row hold a "]"; its pattern may then try exponentially many splits. Here a row ends at its first "]".
_ROWS = r"\[[^\]\n]*\]\s*(?:,\s*\[[^\]\n]*\]\s*)*"


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
    grid = re.match(rf"\[\s*{_ROWS}\]|new\s+Array\(\s*{_ROWS}\)", source)
    if grid:
        rows = re.findall(r"\[(.*?)\]", grid[0])
        rows[0] = rows[0].strip().removeprefix("[")
        return [[_untyped_javascript(item) for item in row.split(",")] for row in rows]
    found = re.match(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)", source)
    if not found:
        return source
    inside = (found[1] if found[1] is not None else found[2]).strip()
    items = _items(inside) if inside else []
    return [read_javascript(item, element) if element else _untyped_javascript(item) for item in items]


def _object(source: str) -> object:
    found = None if source == "{}" else re.match(r"\{(.*?)\}", source)
    if found is None:
        return {} if source == "{}" else source
    pairs = re.findall(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)", found[1])
    return {key.strip().strip("'\""): _object_value(value.strip()) for key, value in pairs}


def _object_value(source: str) -> object:
    if source.startswith("[") and source.endswith("]"):
        return _javascript_array(source, None)
    if source.startswith("{") and source.endswith("}"):
        return _object(source)
    return _untyped_javascript(source.strip("'\""))
