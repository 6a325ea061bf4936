"""Tool calls joined from the pieces in which hosts send them, in the order in which they began.

A vendor's index may be missing, negative or 2·10⁹. A piece belongs to

1. the call that was begun under the same index, unless the piece starts another call there: it carries a different id,
   or, where the host sends no ids, a name after complete arguments (hosts that send every call as index 0). A
   different id without a name in the middle of the arguments is a host that makes up a new id for every piece;
2. without an index, the call with the same id, else a new call if it brings an id or a name that is not just a
   repetition, else the last call.

A piece that says nothing begins no call, nor does the last call's name that comes again without arguments. Names and
ids repeated in every piece (llama-cpp-python) are not appended again; a name that really comes in fragments is joined.
Arguments as an object are serialised and flagged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from vendor_verifier.records.record import ToolCall
from vendor_verifier.wire.payload import MAX_VALUES, PayloadError, parse_json

MAX_CALLS = 1024
# Of a name that comes in fragments.
MAX_NAME = 1024
MAX_PARSED = 32 * 1024 * 1024

Arguments = str | Mapping[str, Any] | None


class CallPiece(msgspec.Struct, frozen=True, gc=False):
    """A piece of a call as the vendor sent it; ``None`` where it sent nothing. ``arguments`` is a JSON fragment to
    append, or a whole mapping. ``id`` is ``""`` only where a call began under an empty one."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: Arguments = None


class _Open(msgspec.Struct):
    number: int
    id: str | None = None
    name: str = ""
    arguments: list[str] = []
    anomalies: dict[str, None] = {}
    is_named_again: bool = False


class ToolCalls:
    """The calls of one answer; :meth:`joined` returns them in order."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._by_index: dict[int, _Open] = {}
        self._by_id: dict[str, _Open] = {}
        self._parsed = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, piece: CallPiece) -> None:
        call = self._target(piece)
        if call is None:
            return
        if piece.id and not call.id:
            call.id = piece.id
            call.anomalies.pop("id_empty", None)
            if call.number >= self._by_id.get(piece.id, call).number:
                self._by_id[piece.id] = call
        elif piece.id == "" and piece.name and not call.id:
            call.anomalies["id_empty"] = None
        if piece.name:
            self._add_name(call, piece.name)
        if isinstance(piece.arguments, str):
            if piece.arguments:
                call.arguments.append(piece.arguments)
        elif piece.arguments is not None:
            call.anomalies["arguments_object"] = None
            call.arguments.append(json.dumps(piece.arguments, ensure_ascii=False))

    def joined(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(each.name, "".join(each.arguments), each.id, tuple(each.anomalies))
            for each in self._open
            if each.arguments or each.id or not each.is_named_again
        )

    def _target(self, piece: CallPiece) -> _Open | None:
        if piece.index is None:
            return self._target_without_index(piece)
        call = self._by_index.get(piece.index)
        if call is None:
            return self._begin(piece, None)
        if piece.id and call.id and piece.id != call.id:
            if piece.name or not piece.arguments or not call.arguments or self._is_whole(call):
                return self._begin(piece, "index_reused")
            call.anomalies["id_changed"] = None
        elif not (piece.id or call.id) and self._starts_over(call, piece):
            return self._begin(piece, "index_reused")
        return call

    def _target_without_index(self, piece: CallPiece) -> _Open | None:
        last = self._open[-1] if self._open else None
        if last is None:
            return self._begin(piece, "index_missing")
        if piece.id:
            known = self._by_id.get(piece.id)
            if known is not None:
                is_new = piece.arguments and self._starts_over(known, piece)
                return self._begin(piece, "id_reused") if is_new else known
            is_late_id = last.id is None and not last.arguments and piece.name in (None, last.name)
            return last if is_late_id else self._begin(piece, "index_missing")
        if piece.name and last.arguments and (piece.name != last.name or self._starts_over(last, piece)):
            return self._begin(piece, "index_missing")
        return last

    def _starts_over(self, call: _Open, piece: CallPiece) -> bool:
        """Whether the piece is a call of its own: a name, and no other arguments than a start, after complete ones."""
        arguments = piece.arguments
        begins = not arguments or isinstance(arguments, Mapping) or arguments.lstrip().startswith("{")
        return bool(piece.name and call.name) and begins and self._is_whole(call)

    def _is_whole(self, call: _Open) -> bool:
        """Whether the call's arguments are a complete JSON object."""
        if not call.arguments or not call.arguments[-1].rstrip().endswith("}") or self._parsed > MAX_PARSED:
            return False
        arguments = "".join(call.arguments)
        self._parsed += len(arguments)
        try:
            parse_json(arguments, most=MAX_VALUES)
        except PayloadError:
            return False
        return True

    def _begin(self, piece: CallPiece, anomaly: str | None) -> _Open | None:
        if len(self._open) >= MAX_CALLS or not (piece.id or piece.name or piece.arguments):
            return None
        call = _Open(len(self._open))
        call.is_named_again = bool(anomaly and self._open) and not piece.id and piece.name == self._open[-1].name
        if anomaly:
            call.anomalies[anomaly] = None
        if piece.index is not None:
            self._by_index[piece.index] = call
            if piece.index < 0 or piece.index >= MAX_CALLS:
                call.anomalies["index_odd"] = None
        self._open.append(call)
        return call

    @staticmethod
    def _add_name(call: _Open, fragment: str) -> None:
        if call.name == fragment or (call.name and call.arguments and call.name.endswith(fragment)):
            call.anomalies["name_repeated"] = None
        elif not (call.name and call.arguments) and len(call.name) < MAX_NAME:
            call.name += fragment
        else:
            call.anomalies["name_changed"] = None
