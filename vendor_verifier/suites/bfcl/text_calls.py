"""Calls that a model writes in its answer, as the leaderboard reads them; nothing of a vendor's text is evaluated.

A text stands for calls in Python, Java or JavaScript source, in JSON or in two forms of XML, maybe in a ``<TOOLCALL>``
section. Python is read as literals: arithmetic on numbers is done within bounds, names stay words, arguments without a
name are dropped. What the leaderboard cannot decode raises :class:`Undecodable`.
"""

from __future__ import annotations

import ast
import json
import operator
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from vendor_verifier.suites.bfcl.literals import Undecodable, rows_end

WrittenForm = Literal["python", "java", "javascript", "json", "verbose_xml", "concise_xml"]
MAX_TEXT = 100_000
"""Longer texts are not read: no answer to these questions is a hundredth of that."""

_MOST_BITS = 4096
_LONGEST_REPEAT = 10_000
_OPEN, _CLOSE = "<TOOLCALL>", "</TOOLCALL>"


@dataclass(frozen=True, slots=True)
class Reading:
    """The form in which calls are to be written; ``tagged``: inside a ``<TOOLCALL>`` section."""

    form: WrittenForm = "python"
    tagged: bool = False


def read_text(text: str, reading: Reading) -> Any:
    """The value that the leaderboard decodes from ``text``: ``[{name: arguments}]`` where it is well formed.

    Raises:
        Undecodable: it decodes nothing.
        DataError: Java or JavaScript, and their grammars are not installed.
    """
    if len(text) > MAX_TEXT:
        raise Undecodable(f"a text of {len(text)} characters, read are {MAX_TEXT} at the most")
    text = text.strip("`\n ")
    text = text if text.startswith("[") else f"[{text}"
    text = text if text.endswith("]") else f"{text}]"
    if reading.tagged:
        text = _between(text, _OPEN, _CLOSE)[len(_OPEN) : -len(_CLOSE)].strip()
    try:
        return _decoded(text, reading.form)
    except Undecodable:
        raise
    except (
        # A vendor's text: whatever is not as it should be ends its reading, however deep it lies.
        SyntaxError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError, MemoryError,
        ET.ParseError,
    ) as error:  # fmt: skip
        raise Undecodable(f"{type(error).__name__}: {error}"[:300]) from None


def _decoded(text: str, form: WrittenForm) -> Any:
    if form == "python":
        return _python(text)
    if form == "json":
        return _json(text)
    if form in ("java", "javascript"):
        from vendor_verifier.suites.bfcl.source_calls import java_calls, javascript_calls

        return (java_calls if form == "java" else javascript_calls)(text[1:-1])
    root = ET.fromstring(_between(text, "<functions>", "</functions>"))  # noqa: S314 - without a DTD, and bounded
    return [
        {function.attrib["name"]: dict(_xml_parameters(function, form))} for function in root.findall("function")
    ]  # fmt: skip


def _between(text: str, opening: str, closing: str) -> str:
    """The first stretch of ``text`` from ``opening`` to ``closing``, both with it."""
    start = text.find(opening)
    end = text.find(closing, start + len(opening)) if start >= 0 else -1
    if end < 0:
        raise Undecodable(f"no {opening} … {closing}")
    return text[start : end + len(closing)]


def _python(text: str) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        # Escapes that Python frowns upon are the vendor's.
        warnings.simplefilter("ignore")
        body = ast.parse(text.strip().strip("'"), mode="eval").body
    calls = [body] if isinstance(body, ast.Call) else getattr(body, "elts", None)
    if calls is None or not all(isinstance(call, ast.Call) for call in calls):
        raise Undecodable("no list of calls")
    return [_call(call) for call in calls]


def _call(call: ast.Call) -> dict[str, Any]:
    names: list[str] = []
    place = call.func
    while isinstance(place, ast.Attribute):
        names.append(place.attr)
        place = place.value
    if isinstance(place, ast.Name):
        names.append(place.id)
    arguments: dict[Any, Any] = {keyword.arg: _value(keyword.value) for keyword in call.keywords}
    return {".".join(reversed(names)): arguments}


def _value(node: ast.expr | None) -> Any:
    for kind, read in _READERS.items():
        if isinstance(node, kind):
            return read(node)
    raise Undecodable(f"a {type(node).__name__} where a value is meant")


def _constant(node: Any) -> Any:
    return "..." if node.value is Ellipsis else node.value


def _signed(node: Any) -> Any:
    """The leaderboard takes every sign for a minus, and its operand for a number."""
    operand = node.operand
    if not isinstance(operand, ast.Constant) or not isinstance(operand.value, (int, float, complex)):
        raise Undecodable("a sign before something that is no number")
    return -operand.value


def _subscript(node: Any) -> str:
    return f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]"


def _called_value(node: Any) -> Any:
    """A call as an argument: the source text of one without named arguments, else a call like any other."""
    return _call(node) if node.keywords else ast.unparse(node)


_READERS: Mapping[type[ast.expr], Callable[[Any], Any]] = MappingProxyType(
    {
        ast.Constant: _constant,
        ast.UnaryOp: _signed,
        ast.List: lambda node: [_value(item) for item in node.elts],
        ast.Tuple: lambda node: tuple(_value(item) for item in node.elts),
        ast.Dict: lambda node: {
            _value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)
        },
        ast.BinOp: lambda node: _calculated(node),
        ast.Name: lambda node: node.id,
        ast.Call: _called_value,
        ast.Subscript: _subscript,
    }
)  # fmt: skip
_SIGNS: Mapping[type[ast.unaryop], Callable[[Any], Any]] = MappingProxyType(
    {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_}
)
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitOr: operator.or_,
        ast.BitAnd: operator.and_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    }
)  # fmt: skip


def _calculated(node: ast.expr) -> Any:
    """The value of arithmetic on literals, which is bounded in size.

    Raises:
        Undecodable: it uses names or calls, or would be too large.
    """
    if isinstance(node, ast.UnaryOp):
        return _SIGNS[type(node.op)](_calculated(node.operand))
    if not isinstance(node, ast.BinOp):
        return ast.literal_eval(node)
    one, other, kind = _calculated(node.left), _calculated(node.right), type(node.op)
    if kind not in _OPERATORS or not _is_bounded(one, other, kind):
        raise Undecodable("arithmetic that is not done here")
    return _OPERATORS[kind](one, other)


def _is_bounded(one: Any, other: Any, kind: type[ast.operator]) -> bool:
    if not all(isinstance(value, (int, float, complex)) for value in (one, other)):
        texts = [value for value in (one, other) if isinstance(value, (str, list, tuple))]
        counts = [value for value in (one, other) if isinstance(value, int)]
        if kind is ast.Mult and len(texts) == len(counts) == 1:
            return len(texts[0]) * counts[0] <= _LONGEST_REPEAT
        return kind is ast.Add and len(texts) == 2 and len(one) + len(other) <= _LONGEST_REPEAT
    if not isinstance(one, int) or not isinstance(other, int):
        return True
    bits = {ast.Pow: one.bit_length() * other, ast.LShift: one.bit_length() + other}
    return bits.get(kind, one.bit_length() + other.bit_length()) <= _MOST_BITS


_ARRAY_HEAD = re.compile(r"\[\s*\{")
_NEXT_OBJECT = re.compile(r",\s*\{")


def _json(text: str) -> list[dict[Any, Any]]:
    """Calls of ``{"function", "parameters"}``; what is no JSON is no call and no failure, as the leaderboard has it."""
    start, end = text.find("["), text.rfind("]")
    text = text[start : end + 1] if 0 <= start < end else text
    head = _ARRAY_HEAD.search(text)
    closed = rows_end(text, head.end(), "]", row_end="}", following=_NEXT_OBJECT, by_line=False) if head else None
    if head and closed is not None:
        text = text[head.start() : closed]
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return []
    return [{item["function"]: item["parameters"]} for item in found if isinstance(item, dict)]


def _xml_parameters(function: ET.Element, form: WrittenForm) -> Iterator[tuple[str | None, Any]]:
    if form == "concise_xml":
        for item in function.findall("param"):
            yield item.attrib["name"], _xml_value((item.text or "").strip(), item.attrib.get("type", "string"))
        return
    held = function.find("params")
    for item in (function if held is None else held).findall("param"):
        yield item.attrib.get("name"), _xml_value(item.attrib.get("value", ""), item.attrib.get("type", "string"))


def _xml_value(text: str, kind: str) -> Any:
    if kind in ("array", "tuple", "object", "dict"):
        return ast.literal_eval(text)
    return _XML_VALUES.get(kind, str)(text)


_XML_VALUES: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {"integer": int, "float": float, "boolean": lambda text: text.lower() == "true", "null": lambda _text: None}
)
