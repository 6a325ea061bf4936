"""The suite ``contract``: one check for each feature of a vendor's own API; here is what all checks share.

A vendor that is down must not pass. So a refusal counts only if the same vendor answers a harmless request right after
it, and every other failure leaves the feature not measurable.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import structs

from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.failure_kinds import QUESTION_REFUSED
from vendor_verifier.values.record import Attempt, Failure, Record, Response
from vendor_verifier.values.request import Turn
from vendor_verifier.values.score import FeatureStatus

WEATHER = "get_weather"
TIME = "get_time"
_BUDGETS = ("max_tokens", "max_completion_tokens")


def _tool(name: str, description: str) -> Mapping[str, Any]:
    city = {"type": "string", "description": "Name of the city"}
    parameters = {"type": "object", "properties": {"city": city}, "required": ["city"]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = (_tool(WEATHER, "Current weather of a city."), _tool(TIME, "Current local time of a city."))
TOOL_NAMES = frozenset({WEATHER, TIME})


def ask(words: str, parameters: Mapping[str, Any] | None = None, *, tools: bool = False) -> Turn:
    """One user message. The given parameters are what is examined, so an entry's own do not replace them."""
    given = dict(parameters or {})
    fixed = (*given, *(_BUDGETS if given.keys() & set(_BUDGETS) else ()))
    return Turn(({"role": "user", "content": words},), TOOLS if tools else (), given, fixed=tuple(dict.fromkeys(fixed)))


def bare(turn: Turn) -> Turn:
    """The same words without parameters or tools, to find out whether the vendor answers at all."""
    return Turn(turn.messages)


def without(turn: Turn, parameter: str) -> Turn:
    """The same question as a run would ask it: without one parameter, which is the entry's own again if it has one."""
    kept = {name: value for name, value in turn.parameters.items() if name != parameter}
    return structs.replace(turn, parameters=kept, fixed=())


# The message of a router where no host behind it takes the parameters.
_DECLINED = QUESTION_REFUSED | {"not_found"}
SETTLED = _DECLINED | {"untranslatable"}
_MAX_QUOTE = 160


@dataclass(frozen=True, slots=True)
class Finding:
    """The status of one check with its evidence, a sentence."""

    status: FeatureStatus
    evidence: str


Examination = Generator[Turn, Attempt, Finding]


class Check(Protocol):
    """One feature. ``turn`` is the first question; :meth:`examine` asks it, perhaps one more, and finds."""

    @property
    def name(self) -> str: ...

    @property
    def turn(self) -> Turn: ...

    def examine(self, turn: Turn) -> Examination: ...


def kept(evidence: str) -> Finding:
    return Finding("kept", evidence)


def broken(evidence: str) -> Finding:
    return Finding("broken", evidence)


def not_offered(evidence: str) -> Finding:
    return Finding("not_offered", evidence)


def not_measurable(evidence: str) -> Finding:
    return Finding("not_measurable", evidence)


def unanswered(turn: Turn, attempt: Attempt) -> Examination:
    """The finding for a failure of a legitimate ``turn``: not offered if it was refused and a bare question is then
    answered, else not measurable."""
    failure = attempt.failure
    if failure is None or failure.kind not in SETTLED:
        return not_measurable(failure_text(failure))
    if failure.kind == "untranslatable":
        return not_offered(failure_text(failure))
    control = yield bare(turn)
    if control.succeeded:
        return not_offered(failure_text(failure))
    return not_measurable(f"{failure_text(failure)}; a bare question fails too: {failure_text(control.failure)}")


def is_refused(attempt: Attempt) -> bool:
    """HTTP 400 or 422; an error of any other kind or shape is no refusal of a parameter."""
    return attempt.failure is not None and attempt.failure.kind in QUESTION_REFUSED


def is_declined(attempt: Attempt) -> bool:
    """Refused, or no such route to any host."""
    return attempt.failure is not None and attempt.failure.kind in _DECLINED


def is_settled(record: Record) -> bool:
    """Whether asking again would change nothing: every turn was answered, refused or not expressible."""
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    return bool(finals) and all(
        attempt.succeeded or (attempt.failure is not None and attempt.failure.kind in SETTLED) for attempt in finals
    )


def failure_text(failure: Failure | None) -> str:
    """The text of a failure, one short sentence."""
    if failure is None:
        return "no answer"
    if failure.kind == "untranslatable":
        return quote(failure.message)
    status = f"HTTP {failure.status}" if failure.status is not None and failure.phase == "headers" else failure.kind
    return f"{status}: {quote(failure.message)}"


def quote(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_QUOTE else line[: _MAX_QUOTE - 1] + "…"


def ending(response: Response) -> str:
    """The finish reason and the beginning of the text of an answer that lacks what was asked for."""
    text = f", said {quote(response.text)!r}" if response.text.strip() else ", no text"
    return f"finish {response.finish_raw or response.finish_reason or 'none'}{text}"


def names(calls: tuple[ToolCall, ...]) -> str:
    """The tools called, in order."""
    return quote(", ".join(call.name or "(no name)" for call in calls))
