"""What a simulated vendor is asked, whatever protocol it was asked in; it holds no persona and no bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import content_digest
from vendor_verifier.wire.payload import as_count, as_dict

CHARACTERS_PER_TOKEN = 4


class BadQuestion(Exception):
    """A request that every vendor refuses with 400; ``parameter`` is the body key at fault."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class Question:
    """A turn in chat-completions terms with what follows from it.

    ``digest`` stands for messages, tools and tool choice, so it is the same under every model name and setting.
    """

    turn: Turn
    digest: str
    prompt_tokens: int

    @property
    def tools(self) -> dict[str, Any]:
        """Parameters schema by tool name; the first of two tools with one name counts."""
        found: dict[str, Any] = {}
        for tool in self.turn.tools:
            function = as_dict(tool.get("function"))
            name = function.get("name")
            if isinstance(name, str) and name:
                found.setdefault(name, function.get("parameters"))
        return found

    @property
    def choice(self) -> str:
        """``auto``, ``none``, ``required`` or ``named``."""
        choice = self.turn.parameters.get("tool_choice")
        if isinstance(choice, dict) and as_dict(choice.get("function")).get("name"):
            return "named"
        return choice if choice in ("none", "required") else "auto"

    @property
    def named_tool(self) -> str | None:
        """The tool that ``tool_choice`` names."""
        name = as_dict(as_dict(self.turn.parameters.get("tool_choice")).get("function")).get("name")
        return name if isinstance(name, str) else None

    @property
    def parallel(self) -> bool:
        """More than one call may be made."""
        return self.turn.parameters.get("parallel_tool_calls") is not False

    @property
    def max_tokens(self) -> int | None:
        """The output budget under either of its names."""
        parameters = self.turn.parameters
        return as_count(parameters.get("max_completion_tokens")) or as_count(parameters.get("max_tokens"))

    @property
    def last_user_text(self) -> str:
        """What the user said last, however its content is spelled."""
        for message in reversed(self.turn.messages):
            if message.get("role") == "user":
                content = message.get("content")
                parts = content if isinstance(content, list) else [{"text": content}]
                return " ".join(text for part in parts if isinstance(text := as_dict(part).get("text"), str))
        return ""

    @property
    def after_tool_result(self) -> bool:
        """The conversation ends with a tool's answer rather than the user's."""
        return self.turn.messages[-1].get("role") == "tool"


def question_of(turn: Turn) -> Question:
    """Check a turn as strictly as a real vendor would, and derive digest and prompt size.

    Raises:
        BadQuestion: no messages, a message without a role, a tool choice that cannot be met, a parameter out of range.
    """
    _check_messages(turn)
    size = len(json.dumps([turn.messages, turn.tools]))
    question = Question(turn, content_digest(turn), -(-size // CHARACTERS_PER_TOKEN))
    _check_parameters(turn.parameters)
    names = question.tools
    if question.choice in ("required", "named") and not names:
        raise BadQuestion("tool_choice is only allowed when tools are given", "tool_choice")
    if question.choice == "named" and question.named_tool not in names:
        raise BadQuestion(f"tool_choice names a tool that was not given: {question.named_tool}", "tool_choice")
    return question


def _check_messages(turn: Turn) -> None:
    if not turn.messages:
        raise BadQuestion("messages is empty", "messages")
    for number, message in enumerate(turn.messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise BadQuestion(f"messages[{number}] has no role", "messages")
    for number, tool in enumerate(turn.tools):
        if not isinstance(tool, Mapping):
            raise BadQuestion(f"tools[{number}] is not an object", "tools")


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    for key in ("max_tokens", "max_completion_tokens"):
        value = parameters.get(key)
        if value is not None and not as_count(value):
            raise BadQuestion(f"{key} must be a positive whole number", key)
    temperature = parameters.get("temperature")
    if temperature is not None and not (
        isinstance(temperature, (int, float)) and not isinstance(temperature, bool) and 0 <= temperature <= 2
    ):
        raise BadQuestion("temperature must be a number from 0 to 2", "temperature")
    if parameters.get("n") not in (None, 1):
        raise BadQuestion("n must be 1", "n")
