"""Puts together tool calls that a Responses stream tells several times; text it leaves to the reader.

A call is found by its ``call_id``, its item's id or its ``output_index``; a host may omit or change any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.values.event import Anomaly, StreamEvent, ToolCallDelta
from vendor_verifier.wire.payload import as_text, as_whole, as_word
from vendor_verifier.wire.retold import Retold


@dataclass(slots=True)
class ToldCall:
    """A call under way, its number among the calls and what of it has been heard."""

    index: int
    heard: Retold = field(default_factory=Retold)
    has_name: bool = False


class ToldCalls:
    """The calls of one answer, in order; :meth:`item` and :meth:`arguments` say only what is new."""

    def __init__(self) -> None:
        self.calls: list[ToldCall] = []
        self._by_key: dict[tuple[str, object], ToldCall] = {}

    def item(
        self, item: dict[str, Any], output_index: object, *, is_new: bool, fallback: ToldCall | None = None
    ) -> Iterator[StreamEvent]:
        """A whole ``function_call`` item; ``fallback`` is the call it is if nothing in it says which."""
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
        told_id = call_id or item_id or as_text(item.get("call_id"))
        arguments = item.get("arguments")
        if isinstance(arguments, dict):
            yield ToolCallDelta(call.index, told_id, name, None if call.heard else arguments)
            call.heard.add("{}")
        else:
            missing = call.heard.missing(as_text(arguments) or "")
            if missing is None:
                yield Anomaly("retold_differently")
            elif missing or known is None or name:
                yield ToolCallDelta(call.index, told_id, name, missing)
                call.heard.add(missing)
        call.has_name = call.has_name or name is not None

    def arguments(self, name: str, payload: dict[str, Any]) -> Iterator[StreamEvent]:
        """A ``function_call_arguments`` event, a piece or the whole."""
        item_id = as_text(payload.get("item_id"))
        call = self._by_key.get(("item", item_id)) if item_id else None
        call = call or self._at(payload.get("output_index"))
        if call is None:
            call = self.calls[-1] if self.calls else self._begin()
            if item_id:
                self._by_key["item", item_id] = call
                yield Anomaly("arguments_without_item")
        if name.endswith(".delta"):
            words = as_text(payload.get("delta"))
        else:
            words = call.heard.missing(as_text(payload.get("arguments")) or "")
            if words is None:
                yield Anomaly("retold_differently")
        if words:
            call.heard.add(words)
            yield ToolCallDelta(call.index, arguments=words)

    def _begin(self) -> ToldCall:
        call = ToldCall(len(self.calls))
        self.calls.append(call)
        return call

    def _at(self, output_index: object) -> ToldCall | None:
        number = as_whole(output_index)
        return None if number is None else self._by_key.get(("output", number))
