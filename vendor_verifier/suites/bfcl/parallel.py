"""Several calls against several answers in any order; how one call is judged is :mod:`one_call`'s business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vendor_verifier.suites.bfcl.one_call import Rules, check_one, expected_arguments
from vendor_verifier.suites.bfcl.verdict import VALID, Verdict, invalid, uncheckable

Calls = Sequence[dict[str, dict[str, Any]]]
_NO_MATCH = "parallel_function_checker_no_order:cannot_find_match"


def document_named(functions: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """The document with the answer's own (dotted) name.

    Raises:
        DataError: none.
    """
    for function in functions:
        if isinstance(function, dict) and function.get("name") == name:
            return function
    raise uncheckable(f"the answer calls {name!r}, which no function of the row is named")


def check_parallel(
    functions: Sequence[dict[str, Any]], calls: Calls, answers: Sequence[object], rules: Rules
) -> Verdict:
    """Each answer needs a call of its own.

    ``compat`` takes for each answer in turn the first call that is left and fits, as upstream does, and so can fail a
    perfect reply; ``strict`` fails only when no assignment works.
    """
    if len(calls) != len(answers):
        return invalid(
            "parallel_function_checker_no_order:wrong_count", f"{len(answers)} calls are right, got {len(calls)}"
        )
    if rules.mode == "strict":
        return _any_assignment(functions, calls, answers, rules)
    left = list(range(len(calls)))
    for index, answer in enumerate(answers):
        document = document_named(functions, expected_arguments(answer)[0])
        reasons: list[str] = []
        for place in left:
            verdict = check_one(document, calls[place], answer, rules)
            if verdict.valid:
                left.remove(place)
                break
            reasons += [f"call {place}: {reason}" for reason in verdict.error]
        else:
            return invalid(_NO_MATCH, f"no call left fits answer {index}", *reasons)
    return VALID


def _any_assignment(
    functions: Sequence[dict[str, Any]], calls: Calls, answers: Sequence[object], rules: Rules
) -> Verdict:
    """Kuhn's augmenting paths: an answer takes a call, moving the answer that held it to another one if it can."""
    fitting: list[list[int]] = []
    reasons: list[list[str]] = []
    for answer in answers:
        document = document_named(functions, expected_arguments(answer)[0])
        verdicts = [check_one(document, call, answer, rules) for call in calls]
        fitting.append([place for place, verdict in enumerate(verdicts) if verdict.valid])
        reasons.append([f"call {place}: {why}" for place, verdict in enumerate(verdicts) for why in verdict.error])
    holder: dict[int, int] = {}

    def place_answer(answer: int, tried: set[int]) -> bool:
        for place in fitting[answer]:
            if place in tried:
                continue
            tried.add(place)
            if place not in holder or place_answer(holder[place], tried):
                holder[place] = answer
                return True
        return False

    for answer in range(len(answers)):
        if not place_answer(answer, set()):
            return invalid(_NO_MATCH, f"no assignment of calls serves answer {answer}", *reasons[answer])
    return VALID
