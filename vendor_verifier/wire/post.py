"""Common to the requests of all protocols: headers, the key's place, the switch for thinking, the finished POST."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from vendor_verifier.values.request import Endpoint, HttpRequest, Turn
from vendor_verifier.wire.base import Notes, json_bytes
from vendor_verifier.wire.tools import names_back

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


NO_SWITCH = "thinking switch"


@dataclass(frozen=True, slots=True)
class ThinkingSwitch:
    """Body fields that switch reasoning ``on`` and ``off``."""

    on: Mapping[str, Any]
    off: Mapping[str, Any]


# BigModel and Z.ai, whose models think unless told otherwise.
THINKING_TYPE = ThinkingSwitch({"thinking": {"type": "enabled"}}, {"thinking": {"type": "disabled"}})
# SiliconFlow.
ENABLE_THINKING = ThinkingSwitch({"enable_thinking": True}, {"enable_thinking": False})
# Anthropic Messages; 1024 is the least budget it takes, and it must be below max_tokens.
THINKING_BUDGET = ThinkingSwitch(
    {"thinking": {"type": "enabled", "budget_tokens": 1024}}, {"thinking": {"type": "disabled"}}
)


def switched(switch: ThinkingSwitch | None, thinking: Literal["on", "off"] | None) -> Mapping[str, Any]:
    """The body fields for what a turn asks; none where it asks nothing or there is no switch."""
    if switch is None or thinking is None:
        return {}
    return switch.on if thinking == "on" else switch.off
