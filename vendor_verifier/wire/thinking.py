"""How vendors spell "think" and "do not think": a table of what their own documents say; it guesses for nobody.

A vendor or wire without a switch here has none as far as we know, and a turn that asks for one is untranslatable there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
