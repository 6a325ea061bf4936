"""Calls written in prose as ``get_stock_price(symbol="AAPL")``, of tools whose names are known; nothing is evaluated.

Values are literals as Python or JSON writes them. A call that stands there twice alike was said twice and counts once.
An argument without a name, or one that is no literal, makes the call malformed: it was made, and cannot be read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from vendor_verifier.suites.tool_calls.calls import Call

# Bounds on what a hostile text can cost: calls looked at, characters of one, brackets inside each other.
MAX_CALLS = 64
_MAX_LENGTH = 20_000
_MAX_DEPTH = 40
_OPEN, _CLOSE = "([{", ")]}"
_JSON_WORDS = {"true": True, "false": False, "null": None}


def written_calls(text: str, tools: Collection[str]) -> tuple[Call, ...]:
    """The different calls of ``tools`` in a text, in the order in which each is first said."""
    if not tools:
        return ()
    names = "|".join(re.escape(name) for name in sorted(tools, key=len, reverse=True))
    found: list[Call] = []
    for number, match in enumerate(re.finditer(rf"(?<![\w.-])({names})\(", text)):
        if number >= MAX_CALLS:
            break
        arguments = _arguments(text, match.end())
        call = None if arguments is None else _call(match.group(1), arguments)
        if call is not None and call not in found:
            found.append(call)
    return tuple(found)


def _arguments(text: str, begin: int) -> str | None:
    """The text between the bracket opened before ``begin`` and the one that closes it; None if none does."""
    depth, quote, at = 1, "", begin
    end = min(len(text), begin + _MAX_LENGTH)
    while at < end:
        character = text[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPEN:
            depth += 1
            if depth > _MAX_DEPTH:
                return None
        elif character in _CLOSE:
            depth -= 1
            if depth == 0:
                return text[begin:at]
        at += 1
    return None


def _call(name: str, arguments: str) -> Call | None:
    """The call, or None where what stands in the brackets is no list of arguments."""
    try:
        parsed = ast.parse(f"f({arguments})", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    if not isinstance(parsed, ast.Call):
        return None
    if parsed.args or any(keyword.arg is None for keyword in parsed.keywords):
        return Call(name, problem=f"{name}: an argument has no name")
    parameters = {}
    for keyword in parsed.keywords:
        value = next(_literal(keyword.value), _NONE)
        if value is _NONE:
            return Call(name, problem=f"{name}: {keyword.arg} is no literal")
        parameters[str(keyword.arg)] = value
    return Call(name, parameters)


_NONE = object()


def _literal(node: ast.expr) -> Iterator[object]:
    """The value of a literal, JSON's words included; nothing where it is something else."""
    try:
        yield _value(node)
    except ValueError:
        return


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Name) and node.id in _JSON_WORDS:
        return _JSON_WORDS[node.id]
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {_text(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return -number
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    raise ValueError("no literal of JSON")


def _text(key: ast.expr | None) -> str:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    raise ValueError("a key is a text")
