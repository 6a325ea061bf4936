"""The contract checks of ``tool_choice`` and ``parallel_tool_calls``, by the calls made, not their arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from vendor_verifier.suites.contract.finding import (
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
    unanswered,
)
from vendor_verifier.suites.trigger import complete_calls
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.record import Response
from vendor_verifier.values.request import Turn

_WANTS_WEATHER = "What is the weather in Oslo right now?"
_WANTS_NOTHING = "Say hello in one short sentence."
_WANTS_TWO = "What is the weather in Oslo right now, and what is it in Lima?"
_MARKUP = "markup_in_text"
# With these finish reasons an answer shows nothing about whether a required tool is called.
_CUT_SHORT = ("length", "content_filter")


class _OneAnswer(ABC):
    """A check that one answer decides."""

    name: str
    turn: Turn

    def examine(self, turn: Turn) -> Examination:
        attempt = yield turn
        if attempt.response is None or not attempt.succeeded:
            return (yield from unanswered(turn, attempt))
        return self.judge(attempt.response, complete_calls(attempt.response)[0])

    @abstractmethod
    def judge(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        """The finding for a whole answer and its calls."""


class ToolChoiceNone(_OneAnswer):
    """A question that begs for a tool must be answered without one."""

    name = "tool_choice_none"
    turn = ask(_WANTS_WEATHER, {"tool_choice": "none"}, tools=True)

    def judge(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        if calls:
            return broken(f"called {names(calls)}")
        if _has_markup(response):
            return broken(f"wrote a call into the text: {ending(response)}")
        return kept(f"no call: {ending(response)}")


class ToolChoiceAuto(_OneAnswer):
    """The answer is a call of a declared tool or text, and never a call written as raw markup."""

    name = "tool_choice_auto"
    turn = ask(_WANTS_WEATHER, {"tool_choice": "auto"}, tools=True)

    def judge(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        if calls:
            return _declared(calls)
        if _has_markup(response):
            return broken(f"wrote a call into the text: {ending(response)}")
        if not response.text.strip():
            return not_measurable(f"neither call nor text: {ending(response)}")
        return kept(f"no call: {ending(response)}")


class ToolChoiceRequired(_OneAnswer):
    """Small talk must be answered with a call all the same."""

    name = "tool_choice_required"
    turn = ask(_WANTS_NOTHING, {"tool_choice": "required"}, tools=True)

    def judge(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
        return _declared(calls) if calls else _uncalled(response)


class ToolChoiceNamed(_OneAnswer):
    """The tool that was named must be called, not the one that fits the question."""

    name = "tool_choice_named"
    turn = ask(_WANTS_WEATHER, {"tool_choice": {"type": "function", "function": {"name": TIME}}}, tools=True)

    def judge(self, response: Response, calls: tuple[ToolCall, ...]) -> Finding:
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
            again = yield replace(turn, parameters=forced, fixed=(*turn.fixed, "tool_choice"))
            if again.response is not None and again.succeeded:
                calls = complete_calls(again.response)[0]
        if not calls:
            return not_measurable(f"called nothing: {ending(attempt.response)}")
        verdict = kept if len(calls) == 1 else broken
        return verdict(f"{len(calls)} call{'s' if len(calls) > 1 else ''} in one answer: {names(calls)}")


CHECKS = (ToolChoiceNone(), ToolChoiceAuto(), ToolChoiceRequired(), ToolChoiceNamed(), ParallelCallsOff())


def _has_markup(response: Response) -> bool:
    return _MARKUP in response.anomalies


def _declared(calls: Sequence[ToolCall]) -> Finding:
    verdict = kept if all(call.name in TOOL_NAMES for call in calls) else broken
    return verdict(f"called {names(tuple(calls))}")


def _uncalled(response: Response) -> Finding:
    if response.finish_reason in _CUT_SHORT:
        return not_measurable(f"ended before a call: {ending(response)}")
    return broken(f"no call: {ending(response)}")
