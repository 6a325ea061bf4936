"""The suite ``contract``: 16 checks of what a vendor's own API documentation promises, one sample each.

A check is ``kept``, ``broken``, ``not_offered`` (the protocol cannot express it, or the vendor refuses it and answers
without it) or ``not_measurable``. A refusal counts only if the vendor answers a harmless control question after it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from msgspec import structs

from vendor_verifier.records.failures import QUESTION_REFUSED, SETTLED
from vendor_verifier.records.record import Attempt, FeatureStatus, Response, Score, ToolCall, Usage
from vendor_verifier.records.request import BUDGETS, Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import Judgement
from vendor_verifier.suites.schema import ArgumentChecker
from vendor_verifier.suites.trigger import complete_calls

NAME = "contract"
Finding = tuple[FeatureStatus, str]  # with the evidence, a sentence
Examination = Generator[Turn, Attempt, Finding]

_DECLINED = SETTLED - {"untranslatable"}
_MAX_QUOTE = 160
_CUT_SHORT = ("length", "content_filter")
_LIMIT = 16  # output tokens that the check of max_tokens allows
# Vendors count an end-of-text token or a first token differently; below half of the limit is no longer near it.
_MOST_OUTPUT, _LEAST_OUTPUT = _LIMIT + 2, _LIMIT // 2
_LONGEST_TOKEN = 20  # characters of plain words that no tokenizer packs into one token
# Some vendors refuse thinking together with sampling settings, so that the entry's own are left out.
_THINKING = ("thinking", "enable_thinking", "reasoning", "reasoning_effort", "chat_template_kwargs")
_NOT_WITH_THINKING = ("temperature", "top_p", "top_k", *BUDGETS, *_THINKING)


def _tool(name: str, **more: Any) -> Mapping[str, Any]:
    return {"type": "function", "function": {"name": name, **more}}


_OF_A_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOLS = (
    _tool("get_weather", description="Current weather of a city.", parameters=_OF_A_CITY),
    _tool("get_time", description="Current local time of a city.", parameters=_OF_A_CITY),
)
_CLIMATE = {"type": "string", "enum": ["arctic", "temperate", "tropical"]}
_CITY = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "founded_in": {"type": "integer"}, "climate": _CLIMATE},
    "required": ["place", "founded_in", "climate"],
    "additionalProperties": False,
}


def _examined(judge: Callable[[Turn, Response], Finding | Examination]) -> Callable[[Turn], Examination]:
    """Make of a judgement of an answer, which may ask once more, the whole examination of a feature.
    A refused feature is not offered if a bare question is then answered."""

    def examine(turn: Turn) -> Examination:
        attempt = yield turn
        if attempt.response is not None and attempt.succeeded:
            found = judge(turn, attempt.response)
            return found if isinstance(found, tuple) else (yield from found)
        kind, words = _failure(attempt)
        if kind not in _DECLINED:
            return "not_offered" if kind == "untranslatable" else "not_measurable", words
        control = yield Turn(turn.messages)
        if control.succeeded:
            return "not_offered", words
        return "not_measurable", f"{words}; a bare question fails too: {_failure(control)[1]}"

    return examine


@_examined
def _tool_choice(turn: Turn, response: Response) -> Finding:
    """Calls must be of allowed tools, and never written into the text."""
    choice = turn.parameters["tool_choice"]
    named = choice["function"]["name"] if isinstance(choice, Mapping) else None
    if calls := complete_calls(response)[0]:
        allowed = {named} if named else {tool["function"]["name"] for tool in _TOOLS if choice != "none"}
        return "kept" if all(call.name in allowed for call in calls) else "broken", f"called {_names(calls)}"
    if "markup_in_text" in response.anomalies:
        return "broken", f"wrote a call into the text: {_ending(response)}"
    if choice == "none" or (choice == "auto" and response.text.strip()):
        return "kept", f"no call: {_ending(response)}"
    shows_nothing = choice == "auto" or response.finish_reason in _CUT_SHORT
    return "not_measurable" if shows_nothing else "broken", f"no call: {_ending(response)}"


@_examined
def _json_text(turn: Turn, response: Response) -> Finding:
    """The whole text must be JSON of the format asked for, without a fence or a word around it."""
    if response.finish_reason in _CUT_SHORT:
        return "not_measurable", f"cut short: {_ending(response)}"
    schema = _CITY if turn.parameters["response_format"]["type"] == "json_schema" else {"type": "object"}
    found = ArgumentChecker((_tool("answer", parameters=schema),)).check(ToolCall("answer", response.text))
    if found.verdict == "valid":
        return "kept", _quote(response.text)
    return "broken", f"{found.verdict} ({found.message}): {_ending(response)}"


@_examined
def _cut_at_limit(_turn: Turn, response: Response) -> Finding:
    usage = response.usage or Usage()
    output = usage.output or 0
    counted = f"{output} output tokens ({usage.reasoning or 0} reasoning)" if output else "output tokens not reported"
    evidence = f"limit {_LIMIT}, {counted}, finish {response.finish_raw or response.finish_reason or 'none'}"
    if output > _MOST_OUTPUT or len(response.text) > _MOST_OUTPUT * _LONGEST_TOKEN:
        return "broken", f"longer than the limit: {evidence}"
    if response.finish_reason != "length":
        return ("broken", evidence) if output >= _LIMIT - 1 else ("not_measurable", f"ended by itself: {evidence}")
    return ("broken", f"cut far below the limit: {evidence}") if 0 < output < _LEAST_OUTPUT else ("kept", evidence)


@_examined
def _stopped(_turn: Turn, response: Response) -> Finding:
    if response.finish_reason in _CUT_SHORT:
        return "not_measurable", f"cut short: {_ending(response)}"
    if "." in response.text:
        return "broken", f"went past '.': {_ending(response)}"
    if not response.text.strip():
        return "broken", f"the stop text ended the answer before it began: {_ending(response)}"
    return "kept" if response.finish_reason == "stop" else "broken", _ending(response)


@_examined
def _one_call_at_most(turn: Turn, response: Response) -> Examination:
    """An answer without a call shows nothing, so the second question requires one."""
    calls = complete_calls(response)[0]
    if not calls:
        forced = {**turn.parameters, "tool_choice": "required"}
        again = yield structs.replace(turn, parameters=forced, fixed=(*turn.fixed, "tool_choice"))
        calls = complete_calls(again.response)[0] if again.response is not None and again.succeeded else ()
    if not calls:
        return "not_measurable", f"called nothing: {_ending(response)}"
    return "kept" if len(calls) == 1 else "broken", f"calls in one answer: {len(calls)} ({_names(calls)})"


@_examined
def _thinking_switch(turn: Turn, thinking: Response) -> Examination:
    """A model whose reasoning never shows proves nothing. How thinking is switched is the wire's business."""
    silent = yield structs.replace(turn, thinking="off")
    if silent.response is None or not silent.succeeded:
        kind, words = _failure(silent)
        return "not_offered" if kind in _DECLINED else "not_measurable", f"switched off: {words}"
    on, off = _reasoning(thinking), _reasoning(silent.response)
    evidence = f"switched on: {on or 'no reasoning'}; switched off: {off or 'no reasoning'}"
    return "broken" if off else "kept" if on else "not_measurable", evidence


def _reasoning(response: Response) -> str | None:
    if tokens := (response.usage or Usage()).reasoning:
        return f"{tokens} reasoning tokens"
    return "reasoning in words" if response.reasoning.strip() or "<think>" in response.text else None


def _same_usage(turn: Turn) -> Examination:
    """The same question streamed and in one piece. 0 prompt tokens for a question that has words are not a report."""
    streamed = yield turn
    whole = yield structs.replace(turn, stream=False)
    for failed, other, how in ((streamed, whole, "streamed"), (whole, streamed, "in one piece")):
        if not failed.succeeded:
            kind, words = _failure(failed)
            return "not_offered" if kind in _DECLINED and other.succeeded else "not_measurable", f"{how}: {words}"
    answers = [each.response for each in (streamed, whole) if each.response is not None]
    prompts = [(answer.usage or Usage()).input or None for answer in answers]
    shown = ["not reported" if count is None else str(count) for count in prompts]
    evidence = f"prompt tokens {shown[0]} streamed, {shown[1]} in one piece"
    if prompts == [None, None]:
        return "not_offered", evidence
    return "kept" if prompts[0] == prompts[1] else "broken", evidence


def _refusal(turn: Turn) -> Examination:
    """HTTP 400 or 422 refuses the value; the control asks the same with the entry's own value, if it has one."""
    ((parameter, value),) = turn.parameters.items()
    attempt = yield turn
    if attempt.succeeded and attempt.response is not None:
        return "broken", f"{parameter} {value!r} was accepted: {_ending(attempt.response)}"
    kind, words = _failure(attempt)
    if kind not in QUESTION_REFUSED:
        return "not_offered" if kind == "untranslatable" else "not_measurable", words
    control = yield structs.replace(turn, parameters={}, fixed=())
    if control.succeeded:
        return "kept", words
    return "not_measurable", f"{words}; without {parameter} it fails too: {_failure(control)[1]}"


def _failure(attempt: Attempt) -> tuple[str, str]:
    """The kind of an attempt's failure, and its words."""
    failure = attempt.failure
    if failure is None or failure.kind == "untranslatable":
        return ("", "no answer") if failure is None else (failure.kind, _quote(failure.message))
    status = f"HTTP {failure.status}" if failure.status is not None and failure.phase == "headers" else failure.kind
    return failure.kind, f"{status}: {_quote(failure.message)}"


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_QUOTE else line[: _MAX_QUOTE - 1] + "…"


def _ending(response: Response) -> str:
    text = f", said {_quote(response.text)!r}" if response.text.strip() else ", no text"
    return f"finish {response.finish_raw or response.finish_reason or 'none'}{text}"


def _names(calls: tuple[ToolCall, ...]) -> str:
    return _quote(", ".join(call.name or "(no name)" for call in calls))


class Check(NamedTuple):
    """One check: the question, the parameters that are examined, and the function that judges the answers."""

    name: str
    question: str
    parameters: Mapping[str, Any]
    examine: Callable[[Turn], Examination]
    tools: tuple[Mapping[str, Any], ...] = ()

    @property
    def turn(self) -> Turn:
        """The first question. An entry's own settings do not replace those that are examined."""
        turn = Turn(({"role": "user", "content": self.question},), self.tools, self.parameters)
        if self.name == "thinking_switch":
            return structs.replace(turn, thinking="on", fixed=_NOT_WITH_THINKING)
        return structs.replace(turn, fixed=BUDGETS if "max_tokens" in self.parameters else tuple(self.parameters))


_WEATHER = "What is the weather in Oslo right now?"
_TWO_CITIES = "What is the weather in Oslo right now, and what is it in Lima?"
_COLOURS = "Name the three primary colours in one short sentence."
_HELLO = "Say hello in one short sentence."
_CITY_JSON = "Tell me about one city of your choice. Answer in JSON."
_PUZZLE = "How many whole numbers from 1 to 60 are divisible by 3 or by 4, but not by both? Answer with one number."
_SCHEMA = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": _CITY}}

CHECKS = (
    Check("tool_choice_none", _WEATHER, {"tool_choice": "none"}, _tool_choice, _TOOLS),
    Check("tool_choice_auto", _WEATHER, {"tool_choice": "auto"}, _tool_choice, _TOOLS),
    Check("tool_choice_required", _HELLO, {"tool_choice": "required"}, _tool_choice, _TOOLS),
    Check("tool_choice_named", _WEATHER, {"tool_choice": _tool("get_time")}, _tool_choice, _TOOLS),
    Check("parallel_tool_calls_off", _TWO_CITIES, {"parallel_tool_calls": False}, _one_call_at_most, _TOOLS),
    Check("response_format_json_object", _CITY_JSON, {"response_format": {"type": "json_object"}}, _json_text),
    Check("response_format_json_schema", _CITY_JSON, {"response_format": _SCHEMA}, _json_text),
    Check("max_tokens", "Write the numbers from one to two hundred in words.", {"max_tokens": _LIMIT}, _cut_at_limit),
    Check("stop", "Write three short sentences about the sea.", {"stop": ["."]}, _stopped),
    Check("refuses_temperature_5", _HELLO, {"temperature": 5}, _refusal),
    Check("refuses_temperature_below_0", _HELLO, {"temperature": -1}, _refusal),
    Check("refuses_max_tokens_below_0", _HELLO, {"max_tokens": -1}, _refusal),
    Check("refuses_n_0", _HELLO, {"n": 0}, _refusal),
    Check("refuses_undeclared_tool_choice", _HELLO, {"tool_choice": _tool("no_such_tool")}, _refusal, _TOOLS),
    Check("usage_with_and_without_streaming", _COLOURS, {}, _same_usage),
    Check("thinking_switch", _PUZZLE, {}, _thinking_switch),
)


def contract_samples() -> tuple[Sample, ...]:
    """One sample a check, named by it, in the order of the report."""
    return tuple(
        Sample(f"{NAME}-{each.name}", each.turn, tags={"category": NAME, "check": each.name}) for each in CHECKS
    )


@dataclass(frozen=True, slots=True)
class ContractSuite:
    """A score's ``values`` hold ``kept``: 1.0, 0.0, or ``None`` where the check measured nothing. ``details`` are
    ``check``, ``status`` and ``evidence``."""

    name: str = NAME

    def play(self, sample: Sample) -> Generator[Turn, Attempt, Judgement]:
        """Ask what the check asks."""
        name = str(sample.tags.get("check"))
        check = next(check for check in CHECKS if check.name == name)
        status, evidence = yield from check.examine(sample.turn)
        details = {"check": name, "status": status, "evidence": evidence}
        kept = {"kept": 1.0, "broken": 0.0}.get(status)
        return partial(Score, self.name, values={"kept": kept}, details=details)
