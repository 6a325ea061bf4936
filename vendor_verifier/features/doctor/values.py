"""Values of an examination, and the at most three tiny questions a vendor is asked; no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from vendor_verifier.values.failure_kinds import KINDS, kinds_where
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.record import Exchange, Failure, Response, Timing
from vendor_verifier.values.request import HttpRequest, Turn
from vendor_verifier.words import english

Status = Literal["ok", "warning", "failed", "not_measurable"]
Verdict = Literal["usable", "usable_with_reservations", "not_usable"]
Topic = Literal["tools", "text"]


class Question(msgspec.Struct, frozen=True):
    """One tiny request. ``name`` tells it apart in reports, ``topic`` is what it examines."""

    name: str
    topic: Topic
    turn: Turn


class Answer(msgspec.Struct, frozen=True):
    """One question as it was sent and answered; ``exchange`` holds the bytes, the rest is our reading of them."""

    question: Question
    request: HttpRequest
    exchange: Exchange
    timing: Timing | None
    response: Response | None
    failure: Failure | None

    @property
    def succeeded(self) -> bool:
        return self.failure is None and self.response is not None

    @property
    def accepted(self) -> bool:
        """The vendor took the request: a 2xx status, whatever came after it."""
        return self.exchange.status is not None and 200 <= self.exchange.status < 300


class Reach(msgspec.Struct, frozen=True):
    """The network path to a vendor, apart from its answers.

    ``origin`` is scheme, host and port the key goes to. ``addresses`` and the TLS facts come from a connection of their
    own (standard library, no request); ``None`` and empty where it was not made, ``*_error`` where it failed.
    ``proxy`` is the proxy that the environment prescribes, without its credentials.
    """

    origin: str
    host: str
    scheme: str
    local: bool
    proxy: str | None = None
    addresses: tuple[str, ...] = ()
    dns_error: str | None = None
    tls_version: str | None = None
    tls_days_left: float | None = None
    tls_error: str | None = None


class Check(msgspec.Struct, frozen=True):
    """One finding with what it rests on."""

    name: str
    status: Status
    evidence: str


class Moment(msgspec.Struct, frozen=True):
    """Something that happened in an answer, ``at_ms`` after the request was handed to a connected socket."""

    at_ms: float
    what: str
    text: str = ""


class Spending(msgspec.Struct, frozen=True):
    """Tokens of all requests together, as reported or (``estimated``) a quarter of the characters.

    ``cost_usd`` is the vendor's own figure, else by the configured price; ``None`` when neither is known.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    cost_usd: float | None = None


SdkStatus = Literal["consistent", "crashes", "loses", "too_long"]
SdkPart = Literal["text", "calls", "finish", "usage", "failure"]


class SdkFinding(msgspec.Struct, frozen=True):
    """The outcome of reading one answer with the official SDK.

    ``route``: the SDK's call that was used. ``lost``: the parts of the answer that it reads otherwise than we do.
    ``too_long``: far longer than what was asked for, and not read.
    """

    question: str
    sdk: str
    route: str
    status: SdkStatus
    evidence: tuple[str, ...] = ()
    lost: tuple[SdkPart, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True):
    """The whole diagnosis of one entry.

    ``address`` is where its questions went, without query; ``whole`` of the ``asked`` were answered to their end.
    ``prompt_tokens`` are what it counts by the question's topic. ``hints`` come from the model's other vendors and are
    no part of the verdict.
    """

    model: str
    label: str
    vendor: str
    wire: str
    model_id: str
    reach: Reach
    verdict: Verdict
    checks: tuple[Check, ...]
    spending: Spending
    address: str = ""
    asked: int = 0
    whole: int = 0
    first_token_ms: float | None = None
    prompt_tokens: Mapping[Topic, int | None] = msgspec.field(default_factory=dict)
    hints: tuple[str, ...] = ()
    key_name: str | None = None
    timeline_of: str | None = None
    timeline: tuple[Moment, ...] = ()
    error_body: str | None = None
    sdk: tuple[SdkFinding, ...] = ()


class Case(msgspec.Struct, frozen=True):
    """One entry with its network path and all its answers, the input of every check."""

    entry: Entry
    reach: Reach
    answers: tuple[Answer, ...]
    sdk: tuple[SdkFinding, ...] = ()

    def about(self, topic: Topic) -> tuple[Answer, ...]:
        """The answers of one topic in the order asked."""
        return tuple(answer for answer in self.answers if answer.question.topic == topic)


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
_PASSING = kinds_where(lambda kind: kind.retried != "never" and not kind.hopeless)


def first_questions(entry: Entry) -> tuple[Question, Question]:
    """The two that every vendor gets: one that wants a tool call, one whose answer takes a while to say."""
    return (
        Question(
            english("question_tools"),
            "tools",
            _turn(entry, "What is the weather in Paris now? Call the tool.", _TOOL_BUDGET, True),
        ),
        Question(
            english("question_text"),
            "text",
            _turn(entry, "Count from 1 to 40 in digits, separated by spaces.", _TEXT_BUDGET),
        ),
    )


def next_question(entry: Entry, answers: Sequence[Answer]) -> Question | None:
    """The question to ask after ``answers``, or ``None`` when enough is known or nothing more can be."""
    if len(answers) >= MAX_REQUESTS or any(_is_hopeless(answer) for answer in answers):
        return None
    tools, text = first_questions(entry)
    if len(answers) < 2:
        return (tools, text)[len(answers)]
    for answer in answers:
        if answer.failure is not None and answer.failure.kind in _PASSING:
            return Question(
                english("question_again", name=answer.question.name), answer.question.topic, answer.question.turn
            )
    if answers[0].succeeded and answers[0].response is not None and not answers[0].response.tool_calls:
        words = "What is the weather in Paris now? Call the tool."
        return Question(
            english("question_required"), "tools", _turn(entry, words, _SECOND_TRY_BUDGET, True, "required")
        )
    return None


def _is_hopeless(answer: Answer) -> bool:
    return answer.failure is not None and KINDS[answer.failure.kind].hopeless


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
