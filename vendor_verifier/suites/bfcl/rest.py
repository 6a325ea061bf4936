"""Calls of ``requests.get`` judged by the shape of what the service answers: the ``rest`` rows. It sends nothing.

What was answered is fetched after the run, stored beside the records and given to the suite. A call may go to the host
its row's document names and to no other; keys stand in rows as placeholders, and only the request that goes to that
host gets the real ones. Source of the rules: nvidia_bfcl 26.3.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from vendor_verifier.suites.bfcl.decode import Reply
from vendor_verifier.suites.bfcl.verdict import VALID, Verdict, invalid

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
    """What the service answered, reduced to its shape; ``error``: why there is no answer."""

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
    """What is compared of an answer: its keys, never its values."""
    if isinstance(value, dict):
        return {"dict": sorted(value)}
    if isinstance(value, list):
        return {"list": [sorted(item) if isinstance(item, dict) else None for item in value]}
    return {"other": type(value).__name__}


def call_digest(sample_id: str, arguments: Mapping[str, Any]) -> str:
    """What a stored answer is found by: the row and the call, as the vendor made it."""
    said = json.dumps([sample_id, arguments], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:24]


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
    """The verdict, or None when nobody has asked the service what it says to this call."""
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
    return None if answer is None else _compare(answer, expected["answer"][0])


def _compare(answer: Fetched, right: Shape) -> Verdict:
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
