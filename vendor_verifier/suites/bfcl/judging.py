"""A reply against its row: what the checker cannot see, because there are no calls to check. It asks nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.suites.bfcl.categories import expects_no_call, is_relevance, language_of
from vendor_verifier.suites.bfcl.checker import check
from vendor_verifier.suites.bfcl.decode import Reply
from vendor_verifier.suites.bfcl.verdict import VALID, Mode, Verdict, invalid

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
