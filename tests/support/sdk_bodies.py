"""What the SDK tests ask, and what of it an SDK is expected to hand over, in no SDK's words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from questions import WEATHER, body

from vendor_verifier.features.simulate.performance import Performance, perform, persona_answer
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.features.simulate.question import Question, question_of
from vendor_verifier.values.request import Turn

CLOCK = {"type": "function", "function": {"name": "clock_now", "parameters": {"type": "object", "properties": {}}}}
# Who answers all that is asked at once as it would answer each alone.
ANSWERING = [name for name, persona in PERSONAS.items() if persona.refusal is None and persona.room is None]


def content(text: str, **more: Any) -> dict[str, Any]:
    """A chat body with tools whose names every protocol takes."""
    return body(text, **{"tools": [WEATHER, CLOCK], **more})


CONTENTS = [content(f"What about place {number}?") for number in range(14)] + [
    content("Grüße aus 北京 😀, what now?"),
    content("no tools", tools=[]),
    content("short", max_tokens=3),
    content("shorter", max_tokens=9, tool_choice="required"),
    content("named", tool_choice={"type": "function", "function": {"name": "clock_now"}}),
    content("must", tool_choice="required"),
    content("must not", tool_choice="none"),
]


def question(chat_body: dict[str, Any]) -> Question:
    """The question of a chat body."""
    parameters = {key: value for key, value in chat_body.items() if key not in ("model", "messages", "tools")}
    return question_of(Turn(tuple(chat_body["messages"]), tuple(chat_body["tools"]), parameters))


def performed(chat_body: dict[str, Any], persona: str) -> Performance:
    """What the persona does once it no longer refuses."""
    outcome = perform(question(chat_body), PERSONAS[persona], 0, refused=9, asked=1)
    assert isinstance(outcome, Performance)
    return outcome


def uncut(persona: str) -> list[dict[str, Any]]:
    """The contents that the persona answers to the end."""
    return [item for item in CONTENTS if performed(item, persona).ending == "complete"]


@dataclass(frozen=True)
class Heard:
    """One answer as an SDK delivered it. ``calls`` are name and argument text, ``tokens`` prompt and output."""

    text: str
    calls: list[tuple[str, str]]
    finish: str | None
    model: str | None
    tokens: tuple[int, int]


def expected(chat_body: dict[str, Any], persona: str) -> Heard:
    """What the persona decided to say over chat."""
    answer = persona_answer(question(chat_body), PERSONAS[persona], 0)
    return Heard(
        text=answer.text,
        calls=[(call.name, call.arguments) for call in answer.calls],
        finish=answer.finish,
        model=PERSONAS[persona].served_model or chat_body["model"],
        tokens=(answer.prompt_tokens, answer.output_tokens),
    )


def json_object(text: str) -> dict[str, Any] | None:
    """Arguments as the object they stand for, ``None`` if they are no JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
