"""Questions for the tests of the simulated vendors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vendor_verifier.features.simulate.question import Question, question_of
from vendor_verifier.values.request import Turn

SHIPPED_SAMPLES = Path(__file__).parents[2] / "datasets" / "samples.jsonl"

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "minimum": 1, "maximum": 7},
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}
CLOCK = {"type": "function", "function": {"name": "clock.now-utc", "description": "The time.", "parameters": {}}}


def body(text: str, **more: Any) -> dict[str, Any]:
    """A chat-completions body that asks ``text`` with two tools."""
    return {
        "model": "m",
        "messages": [{"role": "user", "content": text}],
        "tools": [WEATHER, CLOCK],
        **more,
    }


def ask(text: str, **parameters: Any) -> Question:
    """The question of :func:`body`."""
    tools = parameters.pop("tools", (WEATHER, CLOCK))
    return question_of(Turn(({"role": "user", "content": text},), tuple(tools), parameters))


def many(count: int, **parameters: Any) -> list[Question]:
    """Different questions."""
    return [ask(f"How is the weather in town number {number}?", **parameters) for number in range(count)]


def shipped_bodies() -> list[dict[str, Any]]:
    """The shipped samples as request bodies; empty while there are none."""
    if not SHIPPED_SAMPLES.exists():
        return []
    return [json.loads(line) for line in SHIPPED_SAMPLES.read_text(encoding="utf-8").splitlines() if line.strip()]
