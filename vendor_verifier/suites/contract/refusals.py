"""Are values that cannot be meant refused? Only HTTP 400 or 422 counts, and only from a vendor that is up.

A refusal is kept if the same request without the value is answered right after it: a vendor that is down, or that
refuses everything, would otherwise pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.suites.contract.asking import ask, without
from vendor_verifier.suites.contract.finding import (
    Examination,
    broken,
    ending,
    is_refused,
    kept,
    not_measurable,
    not_offered,
    told,
)
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
            return not_offered(told(failure))
        if not is_refused(attempt):
            return not_measurable(told(failure))
        control = yield without(turn, self.parameter)
        if control.succeeded:
            return kept(told(failure))
        return not_measurable(f"{told(failure)}; without {self.parameter} it fails too: {told(control.failure)}")


def _refusal(name: str, parameter: str, value: object, *, tools: bool = False) -> Refusal:
    return Refusal(f"refuses_{name}", parameter, ask(_WORDS, {parameter: value}, tools=tools))


CHECKS = (
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
