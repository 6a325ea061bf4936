"""Judges a conversation by the state it left and the results it saw, against the row's expected calls; asks nobody.

Both sides are replayed on services of their own, fresh for this judgement. Turn by turn, where the row expects calls:
the model made one, every public attribute of every service is equal, and every expected result is among all results
the model has had so far, each used once, in any order. The whole row is right or wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.suites.bfcl.multi_turn import Conversation, start_services
from vendor_verifier.suites.bfcl.services import Services, execute, read_expected_call
from vendor_verifier.suites.bfcl.verdict import VALID, Verdict, invalid


def check_conversation(expected: Mapping[str, Any], conversation: Conversation, services: Services) -> Verdict:
    """The verdict, with upstream's error type.

    Raises:
        DataError: an expected call that cannot be read.
    """
    answer: Sequence[Sequence[str]] = expected["answer"]
    if conversation.failure is not None:
        return invalid("multi_turn:inference_error", conversation.failure)
    if len(conversation.turns) != len(answer):
        done = len(conversation.turns)
        return invalid("multi_turn:force_terminated", f"ended in turn {done} of {len(answer)}")
    mine, theirs = start_services(expected, services), start_services(expected, services)
    seen: list[str] = []
    for index, (steps, sources) in enumerate(zip(conversation.turns, answer, strict=True)):
        for step in steps:
            seen += execute(mine, step)
        wanted = execute(theirs, [read_expected_call(source) for source in sources])
        if not sources:
            continue
        if not steps:
            return invalid("multi_turn:empty_turn_model_response", f"no call in turn {index}")
        different = _different_state(mine, theirs)
        if different:
            return invalid("multi_turn:instance_state_mismatch", f"turn {index}: {different}")
        missing = _missing(wanted, seen)
        if missing:
            return invalid("multi_turn:execution_response_mismatch", f"turn {index}: no result {missing[0]!r:.200}")
    return VALID


def extra_calls(expected: Mapping[str, Any], conversation: Conversation) -> tuple[int, ...]:
    """Turns (from 0) in which no call is right and the model made some. Upstream runs them and looks away."""
    pairs = enumerate(zip(conversation.turns, expected["answer"], strict=False))
    return tuple(index for index, (steps, sources) in pairs if steps and not sources)


def _different_state(mine: Mapping[str, object], theirs: Mapping[str, object]) -> str | None:
    for service, instance in theirs.items():
        for name, value in vars(instance).items():
            if not name.startswith("_") and getattr(mine[service], name, None) != value:
                return f"{service}.{name} differs"
    return None


def _missing(wanted: Sequence[str], seen: Sequence[str]) -> list[str]:
    left = list(seen)
    missing = []
    for result in wanted:
        if result in left:
            left.remove(result)
        else:
            missing.append(result)
    return missing
