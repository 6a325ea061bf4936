"""What the requests of all protocols have in common: headers, the key's place, the finished POST. It sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.values.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.base import json_bytes
from vendor_verifier.wire.declared import names_back
from vendor_verifier.wire.notes import Notes

BEARER = "bearer"
BOTH = "both"


def headers_of(
    turn: Turn, endpoint: Endpoint, *, auth: str = BEARER, own: str = "", more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The request's headers, the endpoint's last.

    ``auth`` says what carries the key: ``bearer``, ``both``, or else only the protocol's ``own`` header.
    """
    accepted = "text/event-stream" if turn.stream else "application/json"
    headers = {"content-type": "application/json", "accept": accepted, **(more or {})}
    if endpoint.key and auth != BEARER:
        headers[own] = endpoint.key
    if endpoint.key and auth in (BEARER, BOTH):
        headers["authorization"] = f"Bearer {endpoint.key}"
    headers.update(endpoint.headers)
    return headers


def post(
    url: str, headers: Mapping[str, str], body: Mapping[str, Any], notes: Notes, names: Mapping[str, str] | None = None
) -> HttpRequest:
    """The POST, with what its translation noted and the way back from the ``names`` sent."""
    return HttpRequest(
        url=url,
        headers=headers,
        body=json_bytes(body),
        untranslatable=notes.untranslatable,
        tool_names=names_back(names or {}),
        rewritten=notes.rewritten,
    )
