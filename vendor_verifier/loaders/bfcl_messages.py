"""The messages of a custom row without their answer: what a vendor may see, and the calls it should make. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.loaders.base import kind_of
from vendor_verifier.suites.bfcl.json_equal import json_equal
from vendor_verifier.wire.payload import PayloadError, parse_json

Call = tuple[str, dict[str, Any]]
_ROLES = ("system", "developer", "user", "assistant", "tool")


class BadField(ValueError):
    """Why a row is no sample; ``key`` is the field."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


def read_calls(value: object, key: str) -> list[Call]:
    """Calls in any usual form: ``args`` or ``arguments``, an object or its JSON text, bare or under ``function``.

    Raises:
        BadField: something else.
    """
    if not isinstance(value, list):
        raise BadField(f"expected a list of calls, read {kind_of(value)}", key)
    return [_read_call(item, f"{key}[{place}]") for place, item in enumerate(value)]


def _read_call(item: object, key: str) -> Call:
    call = item if isinstance(item, dict) else {}
    call = call["function"] if isinstance(call.get("function"), dict) else call
    arguments = call.get("args", call.get("arguments", {}))
    if isinstance(arguments, str):
        try:
            arguments = parse_json(arguments) if arguments.strip() else {}
        except PayloadError as error:
            raise BadField(f"the arguments are not JSON: {error}", key) from None
    if not isinstance(call.get("name"), str) or not isinstance(arguments, dict):
        raise BadField("expected a name and an object of arguments", key)
    return call["name"], arguments


def without_answer(
    messages: Sequence[Mapping[str, Any]], stated: Sequence[Call] | None
) -> tuple[list[dict[str, Any]], list[Call]]:
    """(what is sent, the calls expected). ``stated``: the row's own calls; None if it has none beside its messages.

    The answer is the last assistant turn with calls, unless it has its results and the row states others: then it is
    history. Nothing from the answer on is sent, nor is a closing assistant turn.

    Raises:
        BadField: the answer in the messages and the stated calls disagree; or nothing is left to ask.
    """
    called = [place for place, message in enumerate(messages) if message.get("tool_calls")]
    end = len(messages)
    if called:
        last = called[-1]
        said = read_calls(messages[last]["tool_calls"], f"messages[{last}].tool_calls")
        followed = last + 1 < len(messages) and messages[last + 1].get("role") in ("tool", "user")
        if stated is None or (_same_calls(said, stated) and not _asked_again(messages, last)):
            end, stated = last, said
        elif not followed:
            raise BadField("the calls in the messages are not the row's tool_calls", f"messages[{last}].tool_calls")
    if stated is None:
        raise BadField("neither the row nor its messages say which calls are expected; [] means none", "tool_calls")
    return without_closing(messages[:end]), list(stated)


def without_closing(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is sent: chat-completions messages without the assistant turns that close them.

    Raises:
        BadField: an unknown role; or nothing is left to ask.
    """
    for place, message in enumerate(messages):
        if message.get("role") not in _ROLES:
            raise BadField(f"read role {message.get('role')!r}", f"messages[{place}]")
    end = len(messages)
    while end and messages[end - 1].get("role") == "assistant":
        end -= 1
    if not any(message.get("role") == "user" for message in messages[:end]):
        raise BadField("no user message is left once the answer is taken out", "messages")
    return _as_sent(messages[:end])


def _asked_again(messages: Sequence[Mapping[str, Any]], place: int) -> bool:
    return any(message.get("role") == "user" for message in messages[place + 1 :])


def _same_calls(one: Sequence[Call], other: Sequence[Call]) -> bool:
    return len(one) == len(other) and all(
        mine[0] == theirs[0] and json_equal(mine[1], theirs[1]) for mine, theirs in zip(one, other, strict=True)
    )


def _as_sent(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """History in chat-completions form: past calls with ids, results with the id of the call they answer."""
    sent: list[dict[str, Any]] = []
    waiting: list[str] = []
    for place, message in enumerate(messages):
        fields = dict(message)
        if message.get("tool_calls"):
            given = [call.get("id") if isinstance(call, dict) else None for call in message["tool_calls"]]
            calls = read_calls(message["tool_calls"], f"messages[{place}].tool_calls")
            ids = [name if isinstance(name, str) else f"call_{place}_{index}" for index, name in enumerate(given)]
            waiting = list(ids)
            fields["tool_calls"] = [_past_call(name, call) for name, call in zip(ids, calls, strict=True)]
        elif "tool_calls" in fields:
            del fields["tool_calls"]
        if message.get("role") == "tool" and "tool_call_id" not in fields and waiting:
            fields["tool_call_id"] = waiting.pop(0)
        sent.append(fields)
    return sent


def _past_call(identity: str, call: Call) -> dict[str, Any]:
    function = {"name": call[0], "arguments": json.dumps(call[1], ensure_ascii=False)}
    return {"id": identity, "type": "function", "function": function}
