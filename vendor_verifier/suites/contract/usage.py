"""Is the same question billed the same with and without streaming? It compares prompt tokens only.

Completion tokens are shown and not compared: two answers to one question differ in their words.
"""

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
)
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.request import Turn


class UsageStreaming:
    """The same turn twice, streamed and whole."""

    name = "usage_with_and_without_streaming"
    turn = ask("Name the three primary colours in one short sentence.")

    def examine(self, turn: Turn) -> Examination:
        streamed = yield turn
        whole = yield replace(turn, stream=False)
        for failed, other, how in ((streamed, whole, "streamed"), (whole, streamed, "in one piece")):
            if not failed.succeeded:
                verdict = not_offered if is_declined(failed) and other.succeeded else not_measurable
                return verdict(f"{how}: {told(failed.failure)}")
        counts = (_prompt_tokens(streamed), _prompt_tokens(whole))
        evidence = (
            f"prompt tokens {_word(counts[0])} streamed, {_word(counts[1])} in one piece; completion tokens "
            f"{_word(_completion_tokens(streamed))} and {_word(_completion_tokens(whole))}, not compared"
        )
        if counts == (None, None):
            return not_offered(evidence)
        return kept(evidence) if counts[0] == counts[1] else broken(evidence)


CHECKS = (UsageStreaming(),)


def _prompt_tokens(attempt: Attempt) -> int | None:
    """As reported; 0 for a question that has words is no report."""
    usage = attempt.response.usage if attempt.response is not None else None
    return usage.input or None if usage is not None else None


def _completion_tokens(attempt: Attempt) -> int | None:
    usage = attempt.response.usage if attempt.response is not None else None
    return usage.output if usage is not None else None


def _word(count: int | None) -> str:
    return "not reported" if count is None else str(count)
