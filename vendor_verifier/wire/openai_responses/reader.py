"""Reads OpenAI Responses answers, streamed or whole.

Theory of operation: the same text and the same arguments come up to four times (deltas, ``.done``, ``item.done`` and
the final response), and hosts leave out any of them (llama.cpp has no ``.done`` for arguments, some gateways send
nothing but the final response). So the reader remembers every piece of output, and each repetition only adds what is
missing. A repetition that contradicts an earlier piece is an anomaly.

A text is found by item and part; a host may omit or change either, so a whole text at an unknown place that has just
come is not taken twice. There is no ``[DONE]``: a completed or incomplete response is the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.records.record import FinishReason
from vendor_verifier.wire.answer import Answer
from vendor_verifier.wire.base import END_MARKER, body_object, event_object, read_identity, responses_usage
from vendor_verifier.wire.errors import Fault, read_fault
from vendor_verifier.wire.payload import as_dict, as_list, as_text, as_whole, as_word
from vendor_verifier.wire.sse import SseEvent
from vendor_verifier.wire.tool_calls import Arguments


class RepeatedText:
    """One text that came in pieces and may come again whole."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0

    def __bool__(self) -> bool:
        return self._size > 0

    def add(self, piece: str) -> None:
        self._pieces.append(piece)
        self._size += len(piece)

    def missing(self, whole: str) -> str | None:
        """The rest of ``whole`` behind the pieces so far; ``None`` if it contradicts them. "" adds nothing."""
        if not whole:
            return ""
        if len(whole) < self._size:
            return None
        known = "".join(self._pieces)
        self._pieces = [known]
        return whole[len(known) :] if whole.startswith(known) else None


def ends_with(pieces: list[str], words: str) -> bool:
    """Whether ``pieces`` run together end with ``words``."""
    begin, size = len(pieces), 0
    while begin and size < len(words):
        begin -= 1
        size += len(pieces[begin])
    return "".join(pieces[begin:]).endswith(words)


@dataclass(slots=True)
class CallState:
    """A call in progress: its number among the calls, and the arguments so far."""

    index: int
    arrived: RepeatedText = field(default_factory=RepeatedText)
    has_name: bool = False


class CallStates:
    """The calls of one answer, in order; :meth:`item` and :meth:`arguments` pass on only what is new."""

    def __init__(self) -> None:
        self.calls: list[CallState] = []
        self._by_key: dict[tuple[str, object], CallState] = {}

    def item(
        self,
        item: dict[str, Any],
        output_index: object,
        answer: Answer,
        *,
        is_new: bool,
        fallback: CallState | None = None,
    ) -> None:
        """Read a whole ``function_call`` item; ``fallback`` is the call it is if nothing in it says which."""
        call_id, item_id = as_word(item.get("call_id")), as_word(item.get("id"))
        known = self._by_key.get(("call", call_id)) if call_id else None
        if known is None and not (is_new and call_id):
            known = self._by_key.get(("item", item_id)) or (None if is_new else self._at(output_index))
        known = known or fallback
        call = known or self._begin()
        for key in (("call", call_id), ("item", item_id), ("output", as_whole(output_index))):
            if key[1] is not None:
                self._by_key[key] = call
        name = None if call.has_name else as_word(item.get("name"))
        given = item.get("arguments")
        missing: Arguments = given if isinstance(given, dict) else call.arrived.missing(as_text(given) or "")
        if missing is None:
            answer.anomaly("retold_differently")
        elif missing or known is None or name or isinstance(missing, dict):
            if isinstance(missing, dict) and call.arrived:
                missing = None
            sent_id = call_id or item_id or as_text(item.get("call_id"))
            answer.call(call.index, sent_id, name, missing)
            call.arrived.add(missing if isinstance(missing, str) else "{}")
        call.has_name = call.has_name or name is not None

    def arguments(self, name: str, payload: dict[str, Any], answer: Answer) -> None:
        """Read a ``function_call_arguments`` event, a piece or the whole."""
        item_id = as_word(payload.get("item_id"))
        call = self._by_key.get(("item", item_id)) or self._at(payload.get("output_index"))
        if call is None:
            call = self.calls[-1] if self.calls else self._begin()
            if item_id:
                self._by_key["item", item_id] = call
                answer.anomaly("arguments_without_item")
        if name.endswith(".delta"):
            words = as_text(payload.get("delta"))
        else:
            words = call.arrived.missing(as_text(payload.get("arguments")) or "")
            if words is None:
                answer.anomaly("retold_differently")
        if words:
            call.arrived.add(words)
            answer.call(call.index, arguments=words)

    def _begin(self) -> CallState:
        call = CallState(len(self.calls))
        self.calls.append(call)
        return call

    def _at(self, output_index: object) -> CallState | None:
        number = as_whole(output_index)
        return None if number is None else self._by_key.get(("output", number))


_KINDS = {
    **dict.fromkeys(("output_text", "refusal", "text"), "text"),
    **dict.fromkeys(("reasoning_text", "reasoning"), "reasoning"),
    **dict.fromkeys(("reasoning_summary_text", "reasoning_summary", "summary_text"), "summary"),
}
_INCOMPLETE: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesReader:
    """Reads one answer."""

    def __init__(self) -> None:
        self._calls = CallStates()
        self._places: dict[tuple[str, object], int] = {}
        self._texts: dict[tuple[str, int, int], RepeatedText] = {}
        self._arrived: dict[str, list[str]] = {}

    def read(self, event: SseEvent, answer: Answer) -> None:
        data = event.data.strip()
        if data == END_MARKER:
            answer.end()
        elif data:
            payload = event_object(event, answer)
            if payload is not None:
                self._event(as_text(payload.get("type")) or event.name, payload, answer)

    def read_body(self, body: object, answer: Answer) -> None:
        response = body_object(body, answer, holding="output")
        if response is not None:
            self._final(response, as_text(response.get("status")) or "completed", answer)

    def _event(self, kind: str, payload: dict[str, Any], answer: Answer) -> None:
        name = kind.removeprefix("response.")
        if name in ("completed", "incomplete", "failed", "cancelled"):
            response = as_dict(payload.get("response"))
            self._final(response, as_text(response.get("status")) or name, answer)
        elif name in ("created", "in_progress", "queued"):
            read_identity(as_dict(payload.get("response")), answer)
        elif name in ("output_item.added", "output_item.done"):
            is_new = name == "output_item.added"
            self._item(as_dict(payload.get("item")), payload.get("output_index"), answer, is_new=is_new)
        elif name.startswith("function_call_arguments."):
            self._calls.arguments(name, payload, answer)
        elif name == "error":
            answer.failed(Fault.of(as_text(payload.get("message")) or "error", code=as_text(payload.get("code"))))
        else:
            self._text_event(name, payload, answer)

    def _text_event(self, name: str, payload: dict[str, Any], answer: Answer) -> None:
        stem, _, telling = name.rpartition(".")
        position = as_whole(payload.get("content_index")) or as_whole(payload.get("summary_index")) or 0
        place = self._place(payload.get("item_id"), payload.get("output_index")), position
        if stem in ("content_part", "reasoning_summary_part") and telling == "done":
            part = as_dict(payload.get("part"))
            self._whole_text(part.get("type"), place, part, answer)
        elif telling == "done":
            self._whole_text(stem, place, payload, answer)
        elif telling == "delta":
            kind, words = _KINDS.get(stem), as_text(payload.get("delta"))
            if kind and words:
                self._say(kind, place, words, answer)

    def _whole_text(self, name: object, place: tuple[int, int], fields: dict[str, Any], answer: Answer) -> None:
        kind = _KINDS.get(name) if isinstance(name, str) else None
        words = as_text(fields.get("text")) or as_text(fields.get("refusal"))
        if kind is None or not words:
            return
        arrived = self._texts.get((kind, *place))
        if arrived is None and ends_with(self._arrived.get(kind, []), words):
            return
        missing = words if arrived is None else arrived.missing(words)
        if missing is None:
            answer.anomaly("retold_differently")
        elif missing:
            self._say(kind, place, missing, answer)

    def _say(self, kind: str, place: tuple[int, int], words: str, answer: Answer) -> None:
        self._texts.setdefault((kind, *place), RepeatedText()).add(words)
        self._arrived.setdefault(kind, []).append(words)
        if kind == "text":
            answer.text(words)
        else:
            answer.reasoning(words)

    def _place(self, item_id: object, output_index: object) -> int:
        """One number for an item however it is addressed; 0 when it is not."""
        keys = [("item", as_word(item_id)), ("output", as_whole(output_index))]
        keys = [key for key in keys if key[1] is not None]
        if not keys:
            return 0
        place = next((self._places[key] for key in keys if key in self._places), len(self._places) + 1)
        for key in keys:
            self._places.setdefault(key, place)
        return place

    def _item(self, item: dict[str, Any], output_index: object, answer: Answer, *, is_new: bool) -> None:
        kind = item.get("type")
        if kind == "function_call":
            self._calls.item(item, output_index, answer, is_new=is_new)
        elif kind in ("message", "reasoning"):
            for field_name in ("summary", "content"):
                for position, part in enumerate(map(as_dict, as_list(item.get(field_name)))):
                    place = self._place(item.get("id"), output_index), position
                    self._whole_text(part.get("type"), place, part, answer)
        elif is_new:
            answer.anomaly("unknown_output_item")

    def _final(self, response: dict[str, Any], status: str, answer: Answer) -> None:
        read_identity(response, answer)
        self._not_streamed(map(as_dict, as_list(response.get("output"))), answer)
        usage = as_dict(response.get("usage"))
        if usage:
            answer.usage(responses_usage(usage))
        if status in ("failed", "cancelled"):
            fault = read_fault({"error": response.get("error")})
            answer.failed(fault or Fault.of(f"the response ended as {status}", code=status))
            return
        if status == "incomplete":
            raw = as_text(as_dict(response.get("incomplete_details")).get("reason")) or status
            answer.finish(_INCOMPLETE.get(raw, "unknown"), raw)
        elif status == "completed":
            answer.finish("tool_calls" if self._calls.calls else "stop", status)
        else:
            answer.finish("unknown", status)
        answer.end()

    def _not_streamed(self, output: Iterable[dict[str, Any]], answer: Answer) -> None:
        """Read the parts of the final response that the stream lacked. Where ids changed on the way, order decides."""
        arrived = frozenset(self._arrived)
        earlier = iter(tuple(self._calls.calls))
        for position, item in enumerate(output):
            kind = item.get("type")
            if kind == "function_call":
                self._calls.item(item, position, answer, is_new=False, fallback=next(earlier, None))
            elif not (arrived & ({"text"} if kind == "message" else {"reasoning", "summary"})):
                self._item(item, position, answer, is_new=False)
