"""What a vendor is asked, and what is asked next; at most three requests of a few tokens, decided without I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.doctor.values import Answer, Question
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.record import FailureKind
from vendor_verifier.values.request import Turn

MAX_REQUESTS = 3
TOOL_NAME = "get_weather"
# Budgets in tokens: enough to see what is asked for, together under a cent at fifteen dollars a million.
_TOOL_BUDGET = 128
_TEXT_BUDGET = 160
_SECOND_TRY_BUDGET = 192
_WEATHER = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Current weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
_BUDGET_FIELDS = ("max_tokens", "max_completion_tokens")
# After these the vendor cannot be asked anything, so nothing more is asked.
_HOPELESS: frozenset[FailureKind] = frozenset({
    "dns", "tls", "connect", "connect_refused", "timeout_connect", "redirect", "auth", "no_credit", "harness",
    "proxy",
})  # fmt: skip
_PASSING: frozenset[FailureKind] = frozenset({
    "connection_reset", "protocol", "request_timeout", "conflict", "rate_limited", "overloaded", "http_5xx",
    "truncated", "timeout_first_token", "timeout_idle", "empty_response", "bad_payload",
})  # fmt: skip


def first_questions(entry: Entry) -> tuple[Question, Question]:
    """The two that every vendor gets: one that wants a tool call, one whose answer takes a while to say."""
    return (
        Question(
            "tools", "tools", _turn(entry, "What is the weather in Paris now? Call the tool.", _TOOL_BUDGET, True)
        ),
        Question("text", "text", _turn(entry, "Count from 1 to 40 in digits, separated by spaces.", _TEXT_BUDGET)),
    )


def next_question(entry: Entry, answers: Sequence[Answer]) -> Question | None:
    """What to ask after ``answers``, or ``None`` when enough is known or nothing more can be."""
    if len(answers) >= MAX_REQUESTS or any(_is_hopeless(answer) for answer in answers):
        return None
    tools, text = first_questions(entry)
    if len(answers) < 2:
        return (tools, text)[len(answers)]
    for answer in answers:
        if answer.failure is not None and answer.failure.kind in _PASSING:
            return Question(f"{answer.question.name}, again", answer.question.topic, answer.question.turn)
    if answers[0].succeeded and answers[0].response is not None and not answers[0].response.tool_calls:
        words = "What is the weather in Paris now? Call the tool."
        return Question("tools, required", "tools", _turn(entry, words, _SECOND_TRY_BUDGET, True, "required"))
    return None


def _is_hopeless(answer: Answer) -> bool:
    return answer.failure is not None and answer.failure.kind in _HOPELESS


def pause_s(answers: Sequence[Answer]) -> float:
    """Seconds to wait before the next request: what the vendor asked for, at most five; none after a success."""
    failure = answers[-1].failure if answers else None
    if failure is None or failure.kind not in _PASSING:
        return 0.0
    return min(failure.retry_after_s if failure.retry_after_s is not None else 1.0, 5.0)


def within_budget(body: Mapping[str, Any]) -> dict[str, Any]:
    """An entry's extra body without budgets of its own, which would make a tiny question a large one."""
    return {name: value for name, value in body.items() if name not in _BUDGET_FIELDS}


def _turn(entry: Entry, words: str, budget: int, tools: bool = False, choice: str | None = None) -> Turn:
    parameters = {name: value for name, value in entry.parameters.items() if name not in _BUDGET_FIELDS}
    parameters["max_tokens"] = budget
    if choice is not None:
        parameters["tool_choice"] = choice
    return Turn(({"role": "user", "content": words},), (_WEATHER,) if tools else (), parameters)
