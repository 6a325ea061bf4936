"""A turn before any protocol's words: its tools, its history, its names as they will be sent. It sends nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vendor_verifier.values.request import Turn
from vendor_verifier.wire.declared import DeclaredTool, read_tools, sent_names
from vendor_verifier.wire.notes import Notes
from vendor_verifier.wire.translate import PastCall, Said, past_calls, read_messages


@dataclass(frozen=True, slots=True)
class PlainTurn:
    """``names`` leads from every tool name, declared or called in the history, to the one that is sent."""

    tools: list[DeclaredTool]
    history: list[Said]
    names: dict[str, str]

    @property
    def calls(self) -> list[PastCall]:
        """The calls of the history, in order."""
        return past_calls(self.history)


def plain_turn(turn: Turn, notes: Notes, illegal: re.Pattern[str], longest: int) -> PlainTurn:
    """The turn in plain terms; of tool names what matches ``illegal`` or exceeds ``longest`` is narrowed."""
    tools = read_tools(turn.tools, notes)
    history = read_messages(turn.messages, notes)
    declared = [tool.name for tool in tools]
    called = [call.name for call in past_calls(history)]
    return PlainTurn(tools, history, sent_names([*declared, *called], illegal, longest))
