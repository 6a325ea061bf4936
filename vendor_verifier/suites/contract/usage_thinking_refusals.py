"""The contract checks of refused invalid values, of the switch for thinking, and of usage when streamed.

How thinking is switched is the wire's business (:class:`vendor_verifier.wire.request_support.ThinkingSwitch`)."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from vendor_verifier.suites.contract import (
    Examination,
    ask,
    broken,
    ending,
    failure_text,
    is_declined,
    is_refused,
    kept,
    not_measurable,
    not_offered,
    unanswered,
    without,
)
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.request import Turn

_WORDS = "Say hello in one short sentence."


@dataclass(frozen=True, slots=True)
class Refusal:
    """One parameter with a value that no documentation allows."""

    name: str
    parameter: str
    turn: Turn

    def examine(self, turn: Turn) -> Examination:
        attempt = yield turn
        failure = attempt.failure
        if attempt.succeeded and attempt.response is not None:
            value = turn.parameters.get(self.parameter)
            return broken(f"{self.parameter} {value!r} was accepted: {ending(attempt.response)}")
        if failure is not None and failure.kind == "untranslatable":
            return not_offered(failure_text(failure))
        if not is_refused(attempt):
            return not_measurable(failure_text(failure))
        control = yield without(turn, self.parameter)
        if control.succeeded:
            return kept(failure_text(failure))
        return not_measurable(
            f"{failure_text(failure)}; without {self.parameter} it fails too: {failure_text(control.failure)}"
        )


def _refusal(name: str, parameter: str, value: object, *, tools: bool = False) -> Refusal:
    return Refusal(f"refuses_{name}", parameter, ask(_WORDS, {parameter: value}, tools=tools))


REFUSAL_CHECKS = (
    _refusal("temperature_5", "temperature", 5),
    _refusal("temperature_below_0", "temperature", -1),
    _refusal("max_tokens_below_0", "max_tokens", -1),
    _refusal("n_0", "n", 0),
    _refusal(
        "undeclared_tool_choice",
        "tool_choice",
        {"type": "function", "function": {"name": "no_such_tool"}},
        tools=True,
    ),
)


_PUZZLE = (
    "How many of the whole numbers from 1 to 60 are divisible by 3 or by 4, but not by both? Answer with one number."
)
# Some vendors refuse thinking together with sampling settings.
_UNTOUCHED = (
    *("temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens"),
    *("thinking", "enable_thinking", "reasoning_effort"),
)


class ThinkingSwitch:
    """Asked to think, then asked not to. A model whose reasoning never shows proves nothing."""

    name = "thinking_switch"
    turn = structs.replace(ask(_PUZZLE), thinking="on", fixed=_UNTOUCHED)

    def examine(self, turn: Turn) -> Examination:
        thinking = yield turn
        if thinking.response is None or not thinking.succeeded:
            return (yield from unanswered(turn, thinking))
        silent = yield structs.replace(turn, thinking="off")
        if silent.response is None or not silent.succeeded:
            verdict = not_offered if is_declined(silent) else not_measurable
            return verdict(f"switched off: {failure_text(silent.failure)}")
        evidence = f"switched on: {_shown(thinking.response)}; switched off: {_shown(silent.response)}"
        if _thinks(silent.response):
            return broken(evidence)
        return kept(evidence) if _thinks(thinking.response) else not_measurable(evidence)


THINKING_CHECKS = (ThinkingSwitch(),)


def _thinks(response: Response) -> bool:
    return bool(response.reasoning.strip() or _tokens(response) or "<think>" in response.text)


def _tokens(response: Response) -> int:
    return (response.usage.reasoning or 0) if response.usage is not None else 0


def _shown(response: Response) -> str:
    if not _thinks(response):
        return "no reasoning"
    tokens = _tokens(response)
    return f"{tokens} reasoning tokens" if tokens else "reasoning in words"


class UsageStreaming:
    """The same turn twice, streamed and whole."""

    name = "usage_with_and_without_streaming"
    turn = ask("Name the three primary colours in one short sentence.")

    def examine(self, turn: Turn) -> Examination:
        streamed = yield turn
        whole = yield structs.replace(turn, stream=False)
        for failed, other, how in ((streamed, whole, "streamed"), (whole, streamed, "in one piece")):
            if not failed.succeeded:
                verdict = not_offered if is_declined(failed) and other.succeeded else not_measurable
                return verdict(f"{how}: {failure_text(failed.failure)}")
        counts = (_prompt_tokens(streamed), _prompt_tokens(whole))
        evidence = (
            f"prompt tokens {_word(counts[0])} streamed, {_word(counts[1])} in one piece; completion tokens "
            f"{_word(_completion_tokens(streamed))} and {_word(_completion_tokens(whole))}, not compared"
        )
        if counts == (None, None):
            return not_offered(evidence)
        return kept(evidence) if counts[0] == counts[1] else broken(evidence)


USAGE_CHECKS = (UsageStreaming(),)


def _prompt_tokens(attempt: Attempt) -> int | None:
    """As reported; 0 for a question that has words is no report."""
    usage = attempt.response.usage if attempt.response is not None else None
    return usage.input or None if usage is not None else None


def _completion_tokens(attempt: Attempt) -> int | None:
    usage = attempt.response.usage if attempt.response is not None else None
    return usage.output if usage is not None else None


def _word(count: int | None) -> str:
    return "not reported" if count is None else str(count)
