"""Puts tool calls together from pieces, however a vendor numbers them; it does not judge the arguments.

Theory of operation: calls are kept in the order in which they began, never in a list addressed by a vendor's index (an
index may be missing, negative or 2·10⁹). A piece belongs to

1. the call that was begun under the same index, unless the piece starts another call there: it carries a different id,
   or, where the host sends no ids, a name and arguments of its own after the first call's are complete (hosts that send
   every call as index 0). A different id without a name in the middle of the arguments is a host that makes up a new id
   for every piece;
2. without an index, the call with the same id, else a new call if it brings an id or a name that is not just a
   repetition, else the last call.

A piece that says nothing begins no call. Names and ids repeated in every piece (llama-cpp-python) are not appended
again; a name that really comes in fragments is joined. Arguments as an object are serialised and flagged.

Bounds: at most ``MAX_CALLS`` calls, and ``MAX_PARSED`` characters parsed to find out where a call ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from vendor_verifier.values.event import ToolCall, ToolCallDelta
from vendor_verifier.wire.payload import PayloadError, has_many_parts, parse_json

MAX_CALLS = 1024
MAX_PARSED = 32 * 1024 * 1024


@dataclass(slots=True)
class _Open:
    id: str | None = None
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    anomalies: dict[str, None] = field(default_factory=dict)
    number: int = 0


class ToolCallAccumulator:
    """Collects :class:`ToolCallDelta` pieces of one answer; :meth:`calls` gives the finished calls in order."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._by_index: dict[int, _Open] = {}
        self._by_id: dict[str, _Open] = {}
        self._parsed = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, delta: ToolCallDelta) -> None:
        call = self._target(delta)
        if call is None:
            return
        if delta.id and not call.id:
            call.id = delta.id
            call.anomalies.pop("id_empty", None)
            if call.number >= self._by_id.get(delta.id, call).number:
                self._by_id[delta.id] = call
        elif delta.id == "" and delta.name and not call.id:
            call.anomalies["id_empty"] = None
        if delta.name:
            self._add_name(call, delta.name)
        if isinstance(delta.arguments, Mapping):
            call.anomalies["arguments_object"] = None
            call.arguments.append(json.dumps(delta.arguments, ensure_ascii=False))
        elif delta.arguments:
            call.arguments.append(delta.arguments)

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(name=call.name, arguments="".join(call.arguments), id=call.id, anomalies=tuple(call.anomalies))
            for call in self._open
        )

    def _target(self, delta: ToolCallDelta) -> _Open | None:
        if delta.index is None:
            return self._target_without_index(delta)
        call = self._by_index.get(delta.index)
        if call is None:
            return self._begin(delta, None)
        if delta.id and call.id and delta.id != call.id:
            if delta.name or not delta.arguments or not call.arguments or self._is_whole(call):
                return self._begin(delta, "index_reused")
            call.anomalies["id_changed"] = None
        elif not (delta.id or call.id) and self._starts_over(call, delta):
            return self._begin(delta, "index_reused")
        return call

    def _target_without_index(self, delta: ToolCallDelta) -> _Open | None:
        last = self._open[-1] if self._open else None
        if last is None:
            return self._begin(delta, "index_missing")
        if delta.id:
            known = self._by_id.get(delta.id)
            if known is not None:
                return self._begin(delta, "id_reused") if self._starts_over(known, delta) else known
            is_late_id = last.id is None and not last.arguments and delta.name in (None, last.name)
            return last if is_late_id else self._begin(delta, "index_missing")
        if delta.name and last.arguments and (delta.name != last.name or self._starts_over(last, delta)):
            return self._begin(delta, "index_missing")
        return last

    def _starts_over(self, call: _Open, delta: ToolCallDelta) -> bool:
        """The piece is a call of its own: a name, and arguments that begin where the call's have already ended."""
        arguments = delta.arguments
        begins = isinstance(arguments, Mapping) or (arguments or "").lstrip().startswith("{")
        return bool(delta.name) and begins and self._is_whole(call)

    def _is_whole(self, call: _Open) -> bool:
        """The call's arguments are a complete JSON object."""
        if not call.arguments or not call.arguments[-1].rstrip().endswith("}") or self._parsed > MAX_PARSED:
            return False
        arguments = "".join(call.arguments)
        self._parsed += len(arguments)
        if has_many_parts(arguments):
            return False
        try:
            parse_json(arguments)
        except PayloadError:
            return False
        return True

    def _begin(self, delta: ToolCallDelta, anomaly: str | None) -> _Open | None:
        if len(self._open) >= MAX_CALLS or not (delta.id or delta.name or delta.arguments):
            return None
        call = _Open(number=len(self._open))
        if anomaly:
            call.anomalies[anomaly] = None
        if delta.index is not None:
            self._by_index[delta.index] = call
            if delta.index < 0 or delta.index >= MAX_CALLS:
                call.anomalies["index_odd"] = None
        self._open.append(call)
        return call

    @staticmethod
    def _add_name(call: _Open, fragment: str) -> None:
        if call.name == fragment or (call.name and call.arguments and call.name.endswith(fragment)):
            call.anomalies["name_repeated"] = None
        elif not (call.name and call.arguments):
            call.name += fragment
        else:
            call.anomalies["name_changed"] = None
