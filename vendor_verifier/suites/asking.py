"""Puts a sample's question for tool calls, natively or as text, and the questions after it; it judges no answer.

Natively the sample's turn goes out as it is. As text no tools are declared: the question lists them with their schemas
and asks for a JSON array. ``agent_prompt`` replaces the wording in either format; in it ``{problem_statement}`` is the
query, followed in text format by the tools, which the model would otherwise never see.

Calls are read where they were asked for (``reading_of``): natively; in the text with ``answer_format: text``; and in
either place where ``answer_format`` is left at ``auto`` and the configured prompt asks for written calls, or the mode
is ``compat``, whose originals read nothing but text. Nobody else's text is read: a vendor that leaks calls fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from vendor_verifier.suites.calls import Call
from vendor_verifier.suites.task_filters import Mode
from vendor_verifier.values.record import Response
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import as_dict

AnswerFormat = Literal["auto", "native", "text"]
# Where calls are looked for; "either" is the text of an answer that makes no native call.
Reading = Literal["native", "text", "either"]
PLACEHOLDER = "{problem_statement}"
TEXT_PROMPT = """{problem_statement}

Answer with the tool calls that fulfil the request and with nothing else: one JSON array, in the order in which the \
tools are to be called. Each element is an object with "name", the tool, and "parameters", an object ({} for a tool \
without parameters). If no tool is needed, answer []."""
# Speaks of declared tools, so it cannot go out where none are declared.
_TOOL_PARAMETERS = frozenset({"tool_choice", "parallel_tool_calls"})
NEUTRAL_RESULT = {"status": "ok"}
# A prompt that names a form calls are written in: JSON, tool_calls, or the keys of a call.
_WRITTEN_FORM = re.compile(
    r"json|tool_?calls?\b|[\"'`]name[\"'`].*[\"'`](parameters|arguments|args|input)[\"'`]", re.I | re.S
)


def asks_in_text(agent_prompt: str | None) -> bool:
    """Whether this wording of the question asks for calls written in the answer's text."""
    return agent_prompt is not None and _WRITTEN_FORM.search(agent_prompt) is not None


def reading_of(answer_format: AnswerFormat, agent_prompt: str | None, mode: Mode) -> Reading:
    """Where the calls of an answer are looked for; a format that was chosen always wins."""
    if answer_format != "auto":
        return answer_format
    return "either" if mode == "compat" or asks_in_text(agent_prompt) else "native"


def first_turn(turn: Turn, answer_format: AnswerFormat, agent_prompt: str | None) -> Turn:
    """The sample's turn in the wording and format asked for."""
    if answer_format != "text":
        return turn if agent_prompt is None else replace(turn, messages=_reworded(turn.messages, agent_prompt, ""))
    parameters = {key: value for key, value in turn.parameters.items() if key not in _TOOL_PARAMETERS}
    return Turn(_reworded(turn.messages, agent_prompt or TEXT_PROMPT, _listed(turn.tools)), (), parameters)


def next_turn(
    turn: Turn, response: Response, calls: Sequence[Call], results: Sequence[object], *, in_text: bool
) -> Turn:
    """The turn after ``response``: what it called, natively or ``in_text``, and what the tools answered, in order."""
    texts = [json.dumps(result, ensure_ascii=False) for result in results]
    if in_text:
        lines = [f"{call.name}: {text}" for call, text in zip(calls, texts, strict=True)]
        told: list[Mapping[str, Any]] = [
            {"role": "assistant", "content": response.text},
            {"role": "user", "content": "\n".join(["Results of the tools:", *lines, "", _GO_ON])},
        ]
        return replace(turn, messages=(*turn.messages, *told))
    ids = [f"call_{len(turn.messages)}_{at}" for at in range(len(calls))]
    made = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.parameters, ensure_ascii=False)},
        }
        for call_id, call in zip(ids, calls, strict=True)
    ]
    answered = [{"role": "tool", "tool_call_id": one, "content": text} for one, text in zip(ids, texts, strict=True)]
    said = {"role": "assistant", "content": response.text or None, "tool_calls": made}
    return replace(turn, messages=(*turn.messages, said, *answered))


_GO_ON = "Go on in the same format with the calls that are still needed; answer [] if there are none."


def tool_results(expected: Sequence[Call], earlier: Sequence[Call], calls: Sequence[Call]) -> list[object]:
    """What each of ``calls`` gets back: the recorded output of the expected call it repeats, else a neutral success.

    Of several expected calls of one tool the n-th call of it, ``earlier`` ones counted, gets the n-th output.
    """
    outputs: dict[str, list[object]] = {}
    for call in expected:
        outputs.setdefault(call.name, []).append(NEUTRAL_RESULT if call.output is None else call.output)
    for call in earlier:
        _take(outputs, call.name)
    return [_take(outputs, call.name) for call in calls]


def _take(outputs: Mapping[str, list[object]], name: str) -> object:
    left = outputs.get(name)
    return left.pop(0) if left else NEUTRAL_RESULT


def _reworded(messages: tuple[Mapping[str, Any], ...], prompt: str, tools: str) -> tuple[Mapping[str, Any], ...]:
    """The messages with the last user message in other words; a question without one gets one."""
    at = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "user"), len(messages))
    asked = messages[at] if at < len(messages) else {"role": "user", "content": ""}
    content = asked.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content if content else ""}]
    query = "\n".join(str(part.get("text", "")) for part in parts if _is_text(part))
    text = prompt.replace(PLACEHOLDER, "\n\n".join(piece for piece in (query, tools) if piece))
    others = [part for part in parts if not _is_text(part)]
    reworded = {**asked, "content": [{"type": "text", "text": text}, *others] if others else text}
    return (*messages[:at], reworded, *messages[at + 1 :])


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text"


def _listed(tools: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for tool in tools:
        function = as_dict(tool.get("function")) or tool
        shown = {key: function[key] for key in ("name", "description", "parameters") if key in function}
        lines.append(json.dumps(shown, ensure_ascii=False))
    return "\n".join(["Available tools, one JSON object per line:", *lines]) if lines else ""
