"""Java values as models write them, read into Python values; it compiles nothing and leaves alone what it cannot read.

The leaderboard sends every Java parameter as a string that holds source text. Suffixes are demanded where it demands
them (``5L``, ``2.5f``), text around a collection is ignored, and string members of an array keep their quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

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


def read_untyped(source: str) -> object:
    """A literal of which nothing is known: what it looks like, else its text."""
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
    return read_untyped(source) if not element else read_java(source, element)


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
        return {key: read_untyped(value.strip()) for key, value in _PUT.findall(found[1])}
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
