"""A request row of any verifier's data set → the question in it; it knows one row, never its neighbours.

Three spellings are read: a chat-completions body with control keys beside it (K2-Vendor-Verifier, MiniMax-Provider-
Verifier, this project); the same with ``messages`` and ``tools`` as JSON text (EvalScope); and a body under ``request``
with the control keys outside it (Kimi-Vendor-Verifier).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.loaders.base import kind_of, shortened
from vendor_verifier.loaders.json_lines import half_character
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import PayloadError, as_dict, parse_json

# Chosen by the run, whatever the row says.
REPLACED_KEYS = frozenset({"model", "stream", "stream_options"})
# What a good model should do, in the words of the data set.
EXPECTED_KEYS = frozenset({"should_call_tool", "official_finish_reason", "scenario_check"})
# About the row; never part of a chat-completions body. Every key that begins with "expected" joins them.
CONTROL_KEYS = EXPECTED_KEYS | {
    "check_type", "tags", "category", "difficulty", "language", "domain", "id", "name", "description", "case_id",
    "comment", "data_index", "hash", "notes", "reference", "source",
}  # fmt: skip


class UnusableRequest(ValueError):
    """The row is not a question; the message says what was read, what was expected and how to mend it."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class Question:
    """What a row asks. ``tags`` hold all control keys, ``expected`` those of them that state the right answer."""

    turn: Turn
    tags: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, Any] = field(default_factory=dict)
    defects: tuple[str, ...] = ()


def read_question(row: Mapping[str, Any]) -> Question:
    """The question a row asks.

    Role ``_input`` becomes ``system``. Parameters that are null are dropped, which is what null means in this
    vocabulary. Tools that are not objects are left out and reported; everything else passes untouched.

    Raises:
        UnusableRequest: no usable ``messages``, or ``tools`` that is no list.
    """
    body = _body(row)
    messages = tuple(_message(position, item) for position, item in enumerate(_messages(body), 1))
    tools, defects = _tools(body)
    parameters = {
        key: value
        for key, value in body.items()
        if value is not None and key not in ("messages", "tools") and key not in REPLACED_KEYS and not is_control(key)
    }
    tags = control_tags(row if body is row else {**body, **row})
    expected = {key: value for key, value in tags.items() if key in EXPECTED_KEYS or key.startswith("expected")}
    return Question(Turn(messages, tools, parameters), tags, expected, defects)


def is_control(key: str) -> bool:
    """The key describes the row and is never sent."""
    return key in CONTROL_KEYS or key.startswith("expected")


def control_tags(row: Mapping[str, Any]) -> dict[str, Any]:
    """The control keys of a row that say something; a ``tags`` object is spread, the row's own keys win over it."""
    tags = dict(as_dict(row.get("tags")))
    for key, value in row.items():
        if is_control(key) and value is not None and not (key == "tags" and isinstance(value, dict)):
            tags[key] = value
    return tags


def _body(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if "messages" in row:
        return row
    if "request" in row and ("response" in row or "status" in row):
        raise UnusableRequest("this is a row of results, not a request; read result files with `import`", "request")
    request = row.get("request")
    if isinstance(request, dict) and "messages" in request:
        return request
    found = ", ".join(shortened(key, 30) for key in list(row)[:8]) or "an empty object"
    hint = "; a raw `prompt` has to be rewritten as messages" if "prompt" in row else ""
    raise UnusableRequest(f"no `messages`: expected a chat-completions body, read {found}{hint}")


def _messages(body: Mapping[str, Any]) -> list[Any]:
    messages = _unpacked(body, "messages")
    if not isinstance(messages, list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(messages)}", "messages")
    if not messages:
        raise UnusableRequest("an empty array; expected at least one message", "messages")
    return messages


def _message(position: int, item: object) -> Mapping[str, Any]:
    key = f"messages[{position}]"
    if not isinstance(item, dict):
        raise UnusableRequest(f'expected an object such as {{"role": "user", …}}, read {kind_of(item)}', key)
    role = item.get("role")
    if not isinstance(role, str) or not role:
        read = f"{kind_of(role)} as role" if "role" in item else "none"
        raise UnusableRequest(f"expected a `role` (system, user, assistant, tool), read {read}", key)
    return {**item, "role": "system"} if role == "_input" else item


def _tools(body: Mapping[str, Any]) -> tuple[tuple[Mapping[str, Any], ...], tuple[str, ...]]:
    tools = _unpacked(body, "tools")
    if tools is None or tools == "":
        return (), ()
    if not isinstance(tools, list):
        raise UnusableRequest(f"expected an array of tools, read {kind_of(tools)}; put it in brackets", "tools")
    defects: list[str] = []
    usable: list[Mapping[str, Any]] = []
    names: set[str] = set()
    for position, tool in enumerate(tools, 1):
        if not isinstance(tool, dict):
            defects.append(f"tool {position} is not an object but {kind_of(tool)}; it is left out")
            continue
        usable.append(tool)
        name = as_dict(tool.get("function")).get("name") or tool.get("name")
        if not isinstance(name, str) or not name:
            defects.append(f"tool {position} has no name")
        elif name in names:
            defects.append(f"tool {shortened(name)} is declared twice; the first definition counts")
        else:
            names.add(name)
    return tuple(usable), tuple(dict.fromkeys(defects))


def _unpacked(body: Mapping[str, Any], key: str) -> object:
    """The value, read once more if it is JSON text."""
    value = body.get(key)
    if not isinstance(value, str) or not value.strip():
        return value
    try:
        unpacked = parse_json(value)
    except PayloadError as error:
        raise UnusableRequest(f"expected an array, read text that is not JSON: {error}", key) from None
    if half := half_character(unpacked):
        raise UnusableRequest(f"half a character, {half}, which cannot be sent; complete the pair or remove it", key)
    return unpacked
