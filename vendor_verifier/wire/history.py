"""Reads a chat-completions history for wires that speak another protocol.

Calls and results are paired here, once: histories repeat ids from turn to turn, leave them out, or use the older
``function`` role, while other protocols insist on unique ids and complete pairs. What cannot be said is noted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from vendor_verifier.wire.base import Notes
from vendor_verifier.wire.payload import PayloadError, as_dict, as_list, as_text, parse_json

_PART_NAMES: Mapping[str, str] = {"input_audio": "audio part", "video_url": "video part", "input_file": "file part"}


@dataclass(frozen=True, slots=True)
class TextPart:
    """A non-empty piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image: base64 ``data`` with its ``media_type``, or the ``url`` it is to be fetched from."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    detail: str | None = None


Part = TextPart | ImagePart


def read_parts(content: object, notes: Notes) -> Iterator[Part]:
    """The texts and images of a ``content`` field; what is neither is noted."""
    if content is None:
        return
    items = [content] if isinstance(content, str) else content
    if not isinstance(items, (list, tuple)):
        notes.cannot("content that is not text")
        return
    for item in items:
        yield from _read_part({"text": item} if isinstance(item, str) else as_dict(item), notes)


def _read_part(part: Mapping[str, Any], notes: Notes) -> Iterator[Part]:
    kind = as_text(part.get("type")) or ("text" if "text" in part else "nameless")
    if kind in ("text", "input_text", "output_text", "refusal"):
        text = as_text(part.get("text")) or as_text(part.get("refusal"))
        if text:
            yield TextPart(text)
    elif kind in ("image_url", "input_image"):
        yield from _read_image(part.get("image_url"), as_text(part.get("detail")), notes)
    elif kind in ("thinking", "reasoning"):
        notes.rewrote("dropped:reasoning")
    else:
        notes.cannot(_PART_NAMES.get(kind, f"{kind} part"))


def _read_image(value: object, detail: str | None, notes: Notes) -> Iterator[ImagePart]:
    url = as_text(value) or as_text(as_dict(value).get("url")) or ""
    detail = as_text(as_dict(value).get("detail")) or detail
    if url.startswith(("http://", "https://")):
        yield ImagePart(url=url, detail=detail)
        return
    header, comma, data = url.removeprefix("data:").partition(",")
    media_type, *options = header.split(";")
    if url.startswith("data:") and comma and data and media_type and "base64" in options:
        yield ImagePart(media_type=media_type, data=data, detail=detail)
    else:
        notes.cannot("image that is neither an http address nor base64 data")


T = TypeVar("T")
Role = Literal["system", "user", "assistant", "tool"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "_input": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(frozen=True, slots=True)
class PastCall:
    """A tool call of the history. ``id`` is unique in it; ``arguments`` is the JSON text as the history has it.

    ``signature`` is Gemini's thought signature, where the history kept it.
    """

    id: str
    name: str
    arguments: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class PastMessage:
    """One message of the history. ``call`` is the call that a ``tool`` message answers, ``None`` if nothing asked for
    it."""

    role: Role
    parts: tuple[Part, ...] = ()
    calls: tuple[PastCall, ...] = ()
    call: PastCall | None = None

    @property
    def text(self) -> str:
        """The text parts run together."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def has_image(self) -> bool:
        return any(isinstance(part, ImagePart) for part in self.parts)


def read_messages(messages: Iterable[object], notes: Notes) -> list[PastMessage]:
    """The history in plain terms, in order; every message that can be read is there, also next to a note."""
    pairing = _Pairing()
    history = [past for message in messages if (past := _read_message(message, pairing, notes)) is not None]
    if pairing.waiting:
        notes.cannot("tool call without a result")
    return history


def system_text(history: Iterable[PastMessage], notes: Notes) -> str:
    """All system messages in one text, for protocols that keep it outside of the talk."""
    texts: list[str] = []
    talking = False
    for past in history:
        if past.role != "system":
            talking = True
            continue
        if talking:
            notes.rewrote("system_moved")
        if past.has_image:
            notes.cannot("image in a system message")
        if past.text.strip():
            texts.append(past.text)
    return "\n\n".join(texts)


def in_turns(spoken: Iterable[tuple[str, list[T]]], notes: Notes) -> list[tuple[str, list[T]]]:
    """(role, parts) with neighbours of one role joined and empty messages left out, for protocols that want turns to
    alternate and the last one not to be the assistant's."""
    turns: list[tuple[str, list[T]]] = []
    for role, parts in spoken:
        if not parts:
            notes.rewrote("dropped:empty_message")
        elif turns and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        else:
            turns.append((role, parts))
    if not turns:
        notes.cannot("no message")
    elif turns[-1][0] == "assistant":
        notes.cannot("history that ends with the assistant")
    return turns


def argument_object(call: PastCall, notes: Notes) -> dict[str, Any]:
    """The arguments of a past call for a protocol that carries them as an object."""
    try:
        value = parse_json(call.arguments) if call.arguments.strip() else {}
    except PayloadError:
        value = None
    if isinstance(value, dict):
        return value
    notes.cannot("tool-call arguments that are not a JSON object")
    return {}


def argument_text(value: Mapping[str, Any]) -> str:
    """An argument object of an answer as the JSON text every other wire would have sent."""
    return json.dumps(value, ensure_ascii=False)


class _Pairing:
    """The calls the history has made so far; those without a result wait under the id that the history gives them."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str | None, PastCall]] = []
        self._used_ids: set[str] = set()
        self._made = 0

    def begin(self, function: object, raw_id: str | None, signature: str | None = None) -> PastCall:
        fields = as_dict(function)
        arguments = fields.get("arguments")
        text = argument_text(arguments) if isinstance(arguments, dict) else as_text(arguments) or ""
        self._made += 1
        stem = unique = raw_id or f"call_{self._made}"
        count = 1
        while unique in self._used_ids:
            count += 1
            unique = f"{stem}_{count}"
        self._used_ids.add(unique)
        call = PastCall(unique, as_text(fields.get("name")) or "", text, signature)
        self.waiting.append((raw_id, call))
        return call

    def answer(self, raw_id: str | None, name: str | None) -> PastCall | None:
        if raw_id:
            # The latest, because an id that comes again belongs to the turn at hand.
            found = next((entry for entry in reversed(self.waiting) if entry[0] == raw_id), None)
        else:
            found = next((entry for entry in self.waiting if name in (None, entry[1].name)), None)
        if found is None:
            return None
        self.waiting.remove(found)
        return found[1]


def _read_message(message: object, pairing: _Pairing, notes: Notes) -> PastMessage | None:
    fields = message if isinstance(message, Mapping) else {}
    role = _ROLES.get(as_text(fields.get("role")) or "")
    if role is None:
        notes.cannot(f"role {fields.get('role')!r}")
        return None
    parts = tuple(read_parts(fields.get("content"), notes))
    name = as_text(fields.get("name"))
    if role == "tool":
        call = pairing.answer(as_text(fields.get("tool_call_id")), name)
        if call is None:
            notes.cannot("tool result without a call")
        return PastMessage(role, parts, call=call)
    if name:
        notes.rewrote("dropped:name")
    if role != "assistant":
        return PastMessage(role, parts)
    if fields.get("reasoning_content") or fields.get("reasoning") or fields.get("reasoning_details"):
        notes.rewrote("dropped:reasoning")
    if fields.get("audio"):
        notes.cannot("audio part")
    return PastMessage(role, parts, tuple(_read_calls(fields, pairing, notes)))


def _read_calls(message: Mapping[str, Any], pairing: _Pairing, notes: Notes) -> Iterator[PastCall]:
    for item in as_list(message.get("tool_calls")):
        call = as_dict(item)
        if call.get("type") not in (None, "function"):
            notes.cannot(f"tool call of type {call.get('type')}")
            continue
        google = as_dict(as_dict(call.get("extra_content")).get("google"))
        signature = as_text(google.get("thought_signature"))
        yield pairing.begin(call.get("function"), as_text(call.get("id")) or None, signature)
    if message.get("function_call"):
        yield pairing.begin(message["function_call"], None)
