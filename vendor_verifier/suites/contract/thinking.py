"""Does the switch for thinking work? How it is spelled is the wire's business (``wire/thinking.py``)."""

from __future__ import annotations

from dataclasses import replace

from vendor_verifier.suites.contract.asking import ask
from vendor_verifier.suites.contract.finding import (
    Examination,
    broken,
    is_declined,
    kept,
    not_measurable,
    not_offered,
    told,
    unanswered,
)
from vendor_verifier.values.record import Response
from vendor_verifier.values.request import Turn

_PUZZLE = (
    "How many of the whole numbers from 1 to 60 are divisible by 3 or by 4, but not by both? Answer with one number."
)
# Thinking does not go with settings of one's own everywhere.
_UNTOUCHED = (
    *("temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens"),
    *("thinking", "enable_thinking", "reasoning_effort"),
)


class ThinkingSwitch:
    """Asked to think, then asked not to. A model whose reasoning never shows proves nothing."""

    name = "thinking_switch"
    turn = replace(ask(_PUZZLE), thinking="on", fixed=_UNTOUCHED)

    def examine(self, turn: Turn) -> Examination:
        thinking = yield turn
        if thinking.response is None or not thinking.succeeded:
            return (yield from unanswered(turn, thinking))
        silent = yield replace(turn, thinking="off")
        if silent.response is None or not silent.succeeded:
            verdict = not_offered if is_declined(silent) else not_measurable
            return verdict(f"switched off: {told(silent.failure)}")
        evidence = f"switched on: {_shown(thinking.response)}; switched off: {_shown(silent.response)}"
        if _thinks(silent.response):
            return broken(evidence)
        return kept(evidence) if _thinks(thinking.response) else not_measurable(evidence)


CHECKS = (ThinkingSwitch(),)


def _thinks(response: Response) -> bool:
    return bool(response.reasoning.strip() or _tokens(response) or "<think>" in response.text)


def _tokens(response: Response) -> int:
    return (response.usage.reasoning or 0) if response.usage is not None else 0


def _shown(response: Response) -> str:
    if not _thinks(response):
        return "no reasoning"
    tokens = _tokens(response)
    return f"{tokens} reasoning tokens" if tokens else "reasoning in words"
