"""The contract checks of what a request asks for.

Calls are judged by those made, not their arguments; an answer's form and length by its text, finish reason and output
tokens.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from msgspec import structs

from vendor_verifier.suites.contract import (
    TIME,
    TOOL_NAMES,
    Examination,
    Finding,
    ask,
    broken,
    ending,
    kept,
    names,
    not_measurable,
    quote,
    unanswered,
)
from vendor_verifier.suites.schema import ArgumentChecker
from vendor_verifier.suites.trigger import complete_calls
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.record import Response
from vendor_verifier.values.request import Turn
from vendor_verifier.wire.payload import PayloadError, parse_json
from vendor_verifier.words import counted

LIMIT = 16
# Vendors count an end-of-text token or a first one differently; half of the limit is no longer "near" it.
_MOST, _LEAST = LIMIT + 2, LIMIT // 2
# No tokenizer needs fewer than one token for this many characters of plain words.
_LONGEST_TOKEN = 20
_STOP = "."
_SCHEMA = {
    "type": "object",
    "properties": {
        "place": {"type": "string"},
        "founded_in": {"type": "integer"},
        "climate": {"type": "string", "enum": ["arctic", "temperate", "tropical"]},
    },
    "required": ["place", "founded_in", "climate"],
    "additionalProperties": False,
}
_DECLARED = {"type": "function", "function": {"name": "answer", "parameters": _SCHEMA}}


class _OneAnswer(ABC):
    """A check that one answer decides."""

    name: str
    turn: Turn

    def examine(self, turn: Turn) -> Examination:
        attempt = yield turn
        if attempt.response is None or not attempt.succeeded:
            return (yield from unanswered(turn, attempt))
        return self.judge(attempt.response)

    @abstractmethod
    def judge(self, response: Response) -> Finding:
        """The finding for a whole answer."""


class _JsonText(_OneAnswer):
    """The whole text is JSON, without a fence or a word around it."""

    def judge(self, response: Response) -> Finding:
        if response.finish_reason in ("length", "content_filter"):
            return not_measurable(f"cut short: {ending(response)}")
        problem = self.problem(response.text)
        return kept(quote(response.text)) if problem is None else broken(f"{problem}: {ending(response)}")

    @abstractmethod
    def problem(self, text: str) -> str | None:
        """The mismatch of a text with what was asked for, or None when it matches."""


class JsonObject(_JsonText):
    """``response_format`` ``json_object``: any object."""

    name = "response_format_json_object"
    turn = ask("Name one city and its country. Answer in JSON.", {"response_format": {"type": "json_object"}})

    def problem(self, text: str) -> str | None:
        try:
            return None if isinstance(parse_json(text), dict) else "JSON, but no object"
        except PayloadError:
            return "no JSON object"


class JsonSchema(_JsonText):
    """``response_format`` ``json_schema``: an object of a schema that the question does not mention."""

    name = "response_format_json_schema"
    turn = ask(
        "Tell me about one city of your choice. Answer in JSON.",
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "city", "strict": True, "schema": _SCHEMA},
            }
        },
    )

    def problem(self, text: str) -> str | None:
        verdict = ArgumentChecker((_DECLARED,)).check(ToolCall("answer", text))
        return None if verdict.verdict == "valid" else f"{verdict.verdict} ({verdict.message})"


class MaxTokens(_OneAnswer):
    """A long answer is cut at the limit, and says so."""

    name = "max_tokens"
    turn = ask("Write the numbers from one to two hundred in words.", {"max_tokens": LIMIT})

    def judge(self, response: Response) -> Finding:
        usage = response.usage
        output = usage.output if usage is not None else None
        thought = f", {usage.reasoning} of them reasoning" if usage is not None and usage.reasoning else ""
        counted = "output tokens not reported" if not output else f"{output} output tokens{thought}"
        evidence = f"limit {LIMIT}, {counted}, finish {response.finish_raw or response.finish_reason or 'none'}"
        too_long = len(response.text) > _MOST * _LONGEST_TOKEN or (output is not None and output > _MOST)
        if too_long:
            return broken(f"longer than the limit: {evidence}")
        if response.finish_reason != "length":
            at_limit = output is not None and output >= LIMIT - 1
            return broken(evidence) if at_limit else not_measurable(f"ended by itself: {evidence}")
        is_near = not output or output >= _LEAST
        return kept(evidence) if is_near else broken(f"cut far below the limit: {evidence}")


class Stop(_OneAnswer):
    """Three sentences are asked for, and the first full stop ends the answer without being in it."""

    name = "stop"
    turn = ask("Write three short sentences about the sea.", {"stop": [_STOP]})

    def judge(self, response: Response) -> Finding:
        if response.finish_reason in ("length", "content_filter"):
            return not_measurable(f"cut short: {ending(response)}")
        if _STOP in response.text:
            return broken(f"went past {_STOP!r}: {ending(response)}")
        if not response.text.strip():
            return broken(f"the stop text ended the answer before it began: {ending(response)}")
        verdict = kept if response.finish_reason == "stop" else broken
        return verdict(ending(response))


OUTPUT_CHECKS = (JsonObject(), JsonSchema(), MaxTokens(), Stop())


_WANTS_WEATHER = "What is the weather in Oslo right now?"
_WANTS_NOTHING = "Say hello in one short sentence."
_WANTS_TWO = "What is the weather in Oslo right now, and what is it in Lima?"
_MARKUP = "markup_in_text"
# With these finish reasons an answer shows nothing about whether a required tool is called.
_CUT_SHORT = ("length", "content_filter")


class _Calls(_OneAnswer):
    """A check that the calls of one answer decide."""

    def judge(self, response: Response) -> Finding:
        return self.judge_calls(response, complete_calls(response)[0])

    @abstractmethod
    def judge_calls(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        """The finding for a whole answer and its calls."""


class ToolChoiceNone(_Calls):
    """A question that begs for a tool must be answered without one."""

    name = "tool_choice_none"
    turn = ask(_WANTS_WEATHER, {"tool_choice": "none"}, tools=True)

    def judge_calls(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        if calls:
            return broken(f"called {names(calls)}")
        if _has_markup(response):
            return broken(f"wrote a call into the text: {ending(response)}")
        return kept(f"no call: {ending(response)}")


class ToolChoiceAuto(_Calls):
    """The answer is a call of a declared tool or text, and never a call written as raw markup."""

    name = "tool_choice_auto"
    turn = ask(_WANTS_WEATHER, {"tool_choice": "auto"}, tools=True)

    def judge_calls(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        if calls:
            return _declared(calls)
        if _has_markup(response):
            return broken(f"wrote a call into the text: {ending(response)}")
        if not response.text.strip():
            return not_measurable(f"neither call nor text: {ending(response)}")
        return kept(f"no call: {ending(response)}")


class ToolChoiceRequired(_Calls):
    """Small talk must be answered with a call all the same."""

    name = "tool_choice_required"
    turn = ask(_WANTS_NOTHING, {"tool_choice": "required"}, tools=True)

    def judge_calls(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        return _declared(calls) if calls else _uncalled(response)


class ToolChoiceNamed(_Calls):
    """The tool that was named must be called, not the one that fits the question."""

    name = "tool_choice_named"
    turn = ask(_WANTS_WEATHER, {"tool_choice": {"type": "function", "function": {"name": TIME}}}, tools=True)

    def judge_calls(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        if not calls:
            return _uncalled(response)
        verdict = kept if all(call.name == TIME for call in calls) else broken
        return verdict(f"{TIME} was named, called {names(calls)}")


class ParallelCallsOff:
    """One call at a time, though the question is worth two. An answer without a call is asked again for one."""

    name = "parallel_tool_calls_off"
    turn = ask(_WANTS_TWO, {"parallel_tool_calls": False}, tools=True)

    def examine(self, turn: Turn) -> Examination:
        attempt = yield turn
        if attempt.response is None or not attempt.succeeded:
            return (yield from unanswered(turn, attempt))
        calls = complete_calls(attempt.response)[0]
        if not calls:
            forced = {**turn.parameters, "tool_choice": "required"}
            again = yield structs.replace(turn, parameters=forced, fixed=(*turn.fixed, "tool_choice"))
            if again.response is not None and again.succeeded:
                calls = complete_calls(again.response)[0]
        if not calls:
            return not_measurable(f"called nothing: {ending(attempt.response)}")
        verdict = kept if len(calls) == 1 else broken
        return verdict(f"{counted(len(calls), 'call')} in one answer: {names(calls)}")


TOOL_CHOICE_CHECKS = (ToolChoiceNone(), ToolChoiceAuto(), ToolChoiceRequired(), ToolChoiceNamed(), ParallelCallsOff())


def _has_markup(response: Response) -> bool:
    return _MARKUP in response.anomalies


def _declared(calls: Sequence[ToolCall]) -> Finding:
    verdict = kept if all(call.name in TOOL_NAMES for call in calls) else broken
    return verdict(f"called {names(tuple(calls))}")


def _uncalled(response: Response) -> Finding:
    if response.finish_reason in _CUT_SHORT:
        return not_measurable(f"ended before a call: {ending(response)}")
    return broken(f"no call: {ending(response)}")
