"""The entry point of the checker: one row's calls against its possible answers.

Theory of operation: the *name* of the category decides, by the parts it contains, as upstream has it. ``relevance``
asks only whether a call was made; ``parallel`` matches in any order; ``multiple`` finds the document by the answer's
name; everything else takes the first document. ``compat`` gives upstream's verdict and error type on every row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.bfcl.categories import expects_no_call, is_relevance, language_of
from vendor_verifier.suites.bfcl.check_call import Rules, check_one, check_parallel, document_named, expected_arguments
from vendor_verifier.suites.bfcl.reference_calls import Reply
from vendor_verifier.suites.bfcl.verdict import LANGUAGES, MODES, VALID, Language, Mode, Verdict, invalid, uncheckable


def check(
    functions: list[dict[str, Any]],
    calls: list[dict[str, dict[str, Any]]],
    possible_answer: list[dict[str, Any]] | None,
    *,
    category: str,
    language: Language,
    underscore_to_dot: bool = True,
    mode: Mode = "compat",
) -> Verdict:
    """Judge the calls of one reply.

    Args:
        functions: the row's raw function documents, with the leaderboard's own type names.
        calls: ``{name: {parameter: value}}``, one object a call, in the model's order; ``[]`` when it made none.
        possible_answer: ``{name: {parameter: [accepted values]}}``, one object a call; None for rows of (ir)relevance.
        category: name in either version (``simple``, ``live_parallel`` …); its parts choose the rules.
        language: what the arguments are written in.
        underscore_to_dot: the tools were sent with ``_`` for ``.`` (every native wire), so calls must have it too.
        mode: ``compat`` is bfcl_eval's verdict and error type; ``strict`` differs only where that is plainly wrong: any
            assignment of parallel calls counts, documented defaults count as given, and a call that cannot be read is
            no abstention.

    Raises:
        DataError: the row itself cannot be checked (upstream crashes on it): an unknown type name, no document of the
            answer's name, an answer of another shape.
        UsageError: no such mode or language, or a multi-turn category, which is judged by the state it leaves.
    """
    if mode not in MODES or language not in LANGUAGES:
        raise UsageError(f"mode is one of {MODES}, language one of {LANGUAGES}; read {mode!r} and {language!r}")
    if category.startswith("multi_turn"):
        raise UsageError(f"{category} is judged by the state it leaves, not call by call")
    if is_relevance(category):
        return _check_relevance(calls, category, mode)
    if not well_formed_calls(calls):
        return invalid("ast_decoder:decoder_wrong_output_format", "the reply is no list of {name: {arguments}}")
    if not possible_answer and "parallel" not in category:
        raise uncheckable(f"a {category} row needs a possible answer")
    answers = possible_answer or []
    rules = Rules(language, underscore_to_dot, mode)
    if "parallel" in category:
        return check_parallel(functions, calls, answers, rules)
    if "multiple" in category:
        if len(calls) != len(answers):
            return invalid("multiple_function_checker:wrong_count", f"{len(answers)} call is right, got {len(calls)}")
        return check_one(document_named(functions, expected_arguments(answers[0])[0]), calls[0], answers[0], rules)
    if len(calls) != 1:
        return invalid("simple_function_checker:wrong_count", f"one call is right, got {len(calls)}")
    if not functions:
        raise uncheckable("it has no functions")
    return check_one(functions[0], calls[0], answers[0], rules)


def well_formed_calls(calls: object) -> bool:
    """Whether this is a list of objects with one key whose value is an object; an empty list is."""
    return isinstance(calls, list) and all(
        isinstance(call, dict) and len(call) == 1 and isinstance(next(iter(call.values())), dict) for call in calls
    )


def _check_relevance(calls: object, category: str, mode: Mode) -> Verdict:
    """The verdict on a relevance row: a readable call counts, whether or not the function exists."""
    readable = well_formed_calls(calls)
    called = readable and bool(calls)
    if not expects_no_call(category):
        return VALID if called else invalid("relevance_error:decoder_failed", "a call was expected, none was made")
    if called:
        return invalid("irrelevance_error:decoder_success", "no call was expected, one was made")
    if not readable and mode == "strict":
        return invalid("irrelevance_error:unreadable_call", "a call that cannot be read is no abstention")
    return VALID


_NOT_ABSTAINED = {
    "error": ("irrelevance_error:no_answer", "no answer came, which is no abstention"),
    "unparsable": ("irrelevance_error:unreadable_call", "a call that cannot be read is no abstention"),
}


def judge_reply(expected: Mapping[str, Any], reply: Reply, mode: Mode) -> Verdict:
    """The verdict on one single-turn reply.

    ``expected`` is a sample's: ``category``, ``functions`` and, for rows that expect certain calls, ``answer``.
    ``compat`` credits an error and an unreadable call as abstention where none was to be made, as upstream does.

    Raises:
        DataError: the row itself cannot be checked.
    """
    category = str(expected["category"])
    if reply.outcome == "calls" or (reply.outcome == "no_call" and not is_relevance(category)):
        return check(
            list(expected["functions"]),
            reply.calls,
            expected.get("answer"),
            category=category,
            language=language_of(category),
            mode=mode,
        )
    if expects_no_call(category):
        wrong = _NOT_ABSTAINED.get(reply.outcome) if mode == "strict" else None
        return VALID if wrong is None else invalid(*wrong)
    if is_relevance(category):
        return invalid("relevance_error:decoder_failed", reply.reason or "a call was expected, none was made")
    if reply.wrong_form:
        return invalid("ast_decoder:decoder_wrong_output_format", reply.reason or "")
    return invalid("ast_decoder:decoder_failed", reply.reason or "words came instead of calls")
