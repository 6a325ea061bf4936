"""Calls judged by what they return: the ``exec_*`` rows. It runs nothing itself; functions are injected.

Python functions are the user's own (:func:`judge_execution`); of REST rows the request is built here and what was
fetched is compared with the row (:func:`judge_rest`).

Source of the rules: nvidia_bfcl 26.3. Results are compared as JSON, so a tuple is a list. ``exact_match`` asks for
equal results, ``real_time_match`` for numbers within 20 %, ``structural_match`` for the same type and keys or length.
"""

from __future__ import annotations

import ast
import hashlib
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from vendor_verifier.suites.bfcl.replies import Reply
from vendor_verifier.suites.bfcl.verdict import VALID, Mode, Verdict, invalid, uncheckable

_ALLOWED_DIFFERENCE = 0.2
_NO_MATCH = "executable_checker:cannot_find_match"
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call by name; a row's expected calls may give some arguments by position."""

    name: str
    named: Mapping[str, Any]
    positional: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Returned:
    """The value that a call returned, as JSON reads it back, or the ``error`` that kept it from returning."""

    value: Any = None
    error: str | None = None


class Functions(Protocol):
    """Runs functions by name, each within a time limit."""

    def missing(self, name: str) -> str | None:
        """The reason that this function cannot be run here, or None when it can."""

    def call(self, call: FunctionCall) -> Returned:
        """Run one call; whatever goes wrong is its error."""


def expected_calls(sources: Sequence[str]) -> list[FunctionCall]:
    """The row's right calls: ``name(1, key=2 * 3)``, literals and arithmetic only.

    Raises:
        DataError: anything else.
    """
    return [_read(source) for source in sources]


def judge_execution(expected: Mapping[str, Any], reply: Reply, functions: Functions, mode: Mode) -> Verdict:
    """The verdict on a reply, with upstream's error types.

    ``expected``: ``category``, ``answer`` (sources of calls), ``match_types`` (one a call). ``compat`` takes for each
    expected call in turn the first call that fits, ``strict`` any assignment that works.

    Raises:
        DataError: an expected call cannot be read or run.
    """
    if reply.outcome != "calls":
        return invalid("executable_decoder:decoder_failed", reply.reason or "no calls that can be read came")
    made = [FunctionCall(name, arguments) for call in reply.calls for name, arguments in call.items()]
    wanted = [functions.call(call) for call in expected_calls(expected["answer"])]
    broken = next((result.error for result in wanted if result.error), None)
    if broken is not None:
        raise uncheckable(f"an expected call fails: {broken}")
    several = "parallel" in expected["category"] or "multiple" in expected["category"]
    if len(made) != len(wanted):
        kind = "value_error:exec_result_count" if several else "simple_exec_checker:wrong_count"
        return invalid(kind, f"{len(wanted)} calls are right, got {len(made)}")
    results = [functions.call(call) for call in made]
    verdicts = [
        [_compare(result, right.value, kind) for result in results]
        for right, kind in zip(wanted, expected["match_types"], strict=True)
    ]
    return _assigned(verdicts, mode) if several else verdicts[0][0]


def _assigned(verdicts: Sequence[Sequence[Verdict]], mode: Mode) -> Verdict:
    """Every expected call (row) needs a call of its own (column)."""
    holder: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column, verdict in enumerate(verdicts[row]):
            if not verdict.valid or column in tried:
                continue
            tried.add(column)
            if column not in holder or (mode == "strict" and place(holder[column], tried)):
                holder[column] = row
                return True
        return False

    for row, found in enumerate(verdicts):
        if not place(row, set()):
            return invalid(_NO_MATCH, *(why for verdict in found for why in verdict.error))
    return VALID


def _compare(result: Returned, right: Any, kind: str) -> Verdict:
    if result.error is not None:
        return invalid("executable_checker:execution_error", result.error)
    value = result.value
    if kind == "exact_match":
        return VALID if value == right else _wrong("executable_checker:wrong_result", value, right)
    if kind == "real_time_match":
        numbers = type(value) in (int, float) and type(right) in (int, float)
        low, high = (1 - _ALLOWED_DIFFERENCE, 1 + _ALLOWED_DIFFERENCE) if numbers else (0, 0)
        near = numbers and right * low <= value <= right * high
        return VALID if near else _wrong("executable_checker:wrong_result_real_time", value, right)
    return _same_structure(value, right)


def _same_structure(value: Any, right: Any) -> Verdict:
    kind = "executable_checker:wrong_result_type"
    if type(value) is not type(right):
        return _wrong(kind, value, right)
    if isinstance(value, dict):
        missing = [key for key in right if key not in value]
        if missing:
            return _wrong(f"{kind}:dict_key_not_found", value, right)
        return VALID if len(value) == len(right) else _wrong(f"{kind}:dict_extra_key", value, right)
    if isinstance(value, list) and len(value) != len(right):
        return _wrong(f"{kind}:list_length", value, right)
    return VALID


def _wrong(kind: str, value: Any, right: Any) -> Verdict:
    return invalid(kind, f"expected {right!r:.200}, got {value!r:.200}")


def _read(source: str) -> FunctionCall:
    try:
        call = ast.parse(source.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("no call of a function by name")
        positional = tuple(_value(argument) for argument in call.args)
        named = {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, ArithmeticError, TypeError) as error:
        raise uncheckable(f"the expected call {source!r:.120} cannot be read: {error}") from None
    return FunctionCall(call.func.id, named, positional)


def _value(node: ast.expr) -> Any:
    """A literal, or arithmetic on literals (``1/6``)."""
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    return ast.literal_eval(node)


KEY_NAMES = ("RAPID_API_KEY", "EXCHANGERATE_API_KEY", "OMDB_API_KEY", "GEOCODE_API_KEY")
_PLACEHOLDER = re.compile(r"YOUR-((?:[A-Z]+-)?API-KEY)")
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "cookie"})
_KIND = "executable_checker_rest"

Shape = Mapping[str, Any]
"""``{"dict": keys}``, ``{"list": keys of each member}`` (null for one that is no object), or ``{"other": type}``."""


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A GET, with placeholders where keys go."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A service's answer reduced to its shape, or the ``error`` that kept it from answering."""

    status: int | None = None
    shape: Shape | None = None
    error: str | None = None


class RefusedCall(ValueError):
    """A call that is not sent; the message says why."""


def needed_keys(expected: Mapping[str, Any], question: object) -> frozenset[str]:
    """Names of the variables whose keys a row's placeholders stand for."""
    found = _PLACEHOLDER.findall(json.dumps([expected["functions"], question]))
    names = {word.replace("-", "_") for word in found}
    # One document says YOUR-API-KEY where its question names the service.
    return frozenset(names - {"API_KEY"} if len(names) > 1 else names)


def shape_of(value: object) -> dict[str, Any]:
    """The shape of an answer: its keys, without its values."""
    if isinstance(value, dict):
        return {"dict": sorted(value)}
    if isinstance(value, list):
        return {"list": [sorted(item) if isinstance(item, dict) else None for item in value]}
    return {"other": type(value).__name__}


def call_digest(sample_id: str, arguments: Mapping[str, Any]) -> str:
    """The key of a stored answer: the digest of its row and of the call as the vendor made it."""
    content = json.dumps([sample_id, arguments], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


def request_of(expected: Mapping[str, Any], arguments: Mapping[str, Any]) -> RestRequest:
    """The request a call stands for.

    Raises:
        RefusedCall: it goes to another host than the document's, or cannot be read as a GET.
    """
    url, default = arguments.get("url"), expected["functions"][0]["parameters"]["properties"]["url"].get("default")
    if not isinstance(url, str) or not isinstance(default, str):
        raise RefusedCall("no url")
    if _origin(url) != _origin(default):
        raise RefusedCall(f"it goes to another host than the document's {urlsplit(default).hostname}")
    params, headers = arguments.get("params") or {}, arguments.get("headers") or {}
    if not isinstance(params, dict) or not isinstance(headers, dict):
        raise RefusedCall("params and headers are objects")
    query = urlencode({key: value for key, value in params.items() if value is not None}, doseq=True)
    sent = {
        name: value
        for name, value in headers.items()
        if isinstance(value, str) and value.isprintable() and _HEADER_NAME.fullmatch(name)
    }
    bare = url.partition("#")[0]
    return RestRequest(
        bare + (("&" if "?" in bare else "?") + query if query else ""),
        {name: value for name, value in sent.items() if name.lower() not in _OWN_HEADERS},
    )


def with_keys(
    request: RestRequest, expected: Mapping[str, Any], question: object, keys: Mapping[str, str]
) -> RestRequest:
    """The request with real keys in place of the row's placeholders."""
    names = needed_keys(expected, question)
    only = next(iter(names)) if len(names) == 1 else None

    def filled(text: str) -> str:
        def key(found: re.Match[str]) -> str:
            name = found[1].replace("-", "_")
            name = only if name == "API_KEY" and only else name
            return keys.get(name, found[0]) if name in names else found[0]

        return _PLACEHOLDER.sub(key, text)

    return RestRequest(filled(request.url), {name: filled(value) for name, value in request.headers.items()})


def judge_rest(
    sample_id: str, expected: Mapping[str, Any], reply: Reply, fetched: Mapping[str, Fetched]
) -> Verdict | None:
    """The verdict, or None where the service's answer to this call is not stored."""
    if reply.outcome != "calls":
        return invalid("executable_decoder:decoder_failed", reply.reason or "no calls that can be read came")
    if len(reply.calls) != 1:
        return invalid("simple_exec_checker:wrong_count", f"1 call is right, got {len(reply.calls)}")
    name, arguments = next(iter(reply.calls[0].items()))
    if name not in ("requests.get", "requests_get"):
        return invalid(f"{_KIND}:execution_error", f"no function {name!r:.80}")
    try:
        request_of(expected, arguments)
    except RefusedCall as reason:
        return invalid(f"{_KIND}:execution_error", f"not sent: {reason}")
    answer = fetched.get(call_digest(sample_id, arguments))
    return None if answer is None else _compare_fetched(answer, expected["answer"][0])


def _compare_fetched(answer: Fetched, right: Shape) -> Verdict:
    if answer.error is not None:
        return invalid(f"{_KIND}:execution_error", answer.error)
    if answer.status != 200:
        return invalid(f"{_KIND}:wrong_status_code", f"the service answered {answer.status}")
    shape = answer.shape or {}
    if shape.keys() != right.keys():
        return invalid(f"{_KIND}:wrong_type", f"expected {next(iter(right))}, got {next(iter(shape), 'no JSON')}")
    if "list" in right and len(shape["list"]) != len(right["list"]):
        return invalid("value_error:exec_result_rest_count", f"expected {len(right['list'])} members")
    return VALID if dict(shape) == dict(right) else invalid(f"{_KIND}:wrong_key", "the answer has other keys")


def _origin(url: str) -> tuple[str, str, int | None] | None:
    try:
        parts = urlsplit(url)
        return (parts.scheme, parts.hostname or "", parts.port) if "@" not in parts.netloc else None
    except ValueError:
        return None
