"""The reply of an attempt and its calls, read where the question asks for them; it judges nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.literals import Undecodable
from vendor_verifier.suites.bfcl.text_calls import Reading, read_text
from vendor_verifier.suites.bfcl.verdict import json_equal
from vendor_verifier.values.record import Attempt

Outcome = Literal["error", "calls", "unparsable", "text", "no_call"]
OUTCOMES: tuple[Outcome, ...] = ("calls", "text", "unparsable", "no_call", "error")


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. ``calls`` are ``{name: arguments}``; ``wrong_form``: arguments were read but are no object."""

    outcome: Outcome
    calls: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    wrong_form: bool = False
    reason: str | None = None


def read_reply(attempt: Attempt) -> Reply:
    """The reply of one final attempt. Calls with neither name nor arguments are no calls."""
    response = attempt.response
    if response is None or not attempt.succeeded:
        failure = attempt.failure
        return Reply("error", reason=f"{failure.kind}: {failure.message}" if failure else "no answer")
    calls = [call for call in response.tool_calls if call.name or call.arguments.strip()]
    if not calls:
        return Reply("text" if response.text else "no_call")
    read: list[dict[str, dict[str, Any]]] = []
    for call in calls:
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError) as error:
            return Reply("unparsable", reason=f"arguments of {call.name!r} are not JSON: {error}"[:300])
        read.append({call.name: arguments})
    strange = [call.name for call, entry in zip(calls, read, strict=True) if type(entry[call.name]) is not dict]
    if strange:
        return Reply("unparsable", wrong_form=True, reason=f"arguments of {strange[0]!r} are no object")
    return Reply("calls", read)


def well_formed_calls(calls: object) -> bool:
    """Whether this is a list of objects with one key whose value is an object; an empty list is."""
    return isinstance(calls, list) and all(
        isinstance(call, dict) and len(call) == 1 and isinstance(next(iter(call.values())), dict) for call in calls
    )


def is_written(expected: Mapping[str, Any]) -> bool:
    """Whether a sample asks for calls in the text of the answer."""
    return "reading" in expected


def rules_of(expected: Mapping[str, Any]) -> str:
    """The category by whose rules a sample is judged; rows of ``format_sensitivity`` are other categories' rows."""
    return str(expected.get("judged_as", expected["category"]))


def read_answer(expected: Mapping[str, Any], attempt: Attempt) -> Reply:
    """The reply of one final attempt, read where the sample asks for calls: natively, or in the text.

    Raises:
        DataError: the text is to be Java or JavaScript, and their grammars are not installed.
    """
    response = attempt.response
    if not is_written(expected) or response is None or not attempt.succeeded:
        return read_reply(attempt)
    try:
        calls = read_text(response.text, Reading(**expected["reading"]))
    except Undecodable as reason:
        names = [str(function.get("name")) for function in expected.get("functions") or ()]
        return Reply(_undecoded(response.text, names), reason=str(reason))
    if not well_formed_calls(calls):
        return Reply("unparsable", wrong_form=True, reason=f"the text is no list of calls: {response.text!r:.200}")
    return Reply("calls", calls) if calls else Reply("no_call")


def _undecoded(text: str, names: Sequence[str]) -> Outcome:
    """The outcome of a text that decodes to nothing: words, unless it begins as a call of a function of the row."""
    begun = text.strip("`[ \n\t'")
    return "unparsable" if any(begun.startswith(f"{name}(") for name in names) else "text"


def made_calls(reply: Reply) -> list[tuple[str, dict[str, Any]]] | None:
    """(name, arguments) of each call, in order; None when there was an error or a call that cannot be read."""
    if reply.outcome in ("error", "unparsable"):
        return None
    return [(name, arguments) for call in reply.calls for name, arguments in call.items()]


Call = tuple[str, Mapping[str, Any]]


def exact_match(wanted: Sequence[Call], made: Sequence[Call] | None) -> dict[str, float]:
    """``function_name_accuracy`` and ``function_name_and_args_accuracy`` of one row, each 1.0 or 0.0.

    The first asks for the same names as often as wanted, the second for the same calls. Dots equal underscores in
    names, ``1`` equals ``1.0``, ``true`` equals neither. ``made`` is None when the reply could not be read: both 0.0.
    """
    if made is None:
        return {"function_name_accuracy": 0.0, "function_name_and_args_accuracy": 0.0}
    names = Counter(sent_name(name) for name, _ in wanted) == Counter(sent_name(name) for name, _ in made)
    return {
        "function_name_accuracy": float(names),
        "function_name_and_args_accuracy": float(names and _same_calls(wanted, made)),
    }


def _same_calls(wanted: Sequence[Call], made: Sequence[Call]) -> bool:
    left = list(made)
    for name, arguments in wanted:
        place = next((index for index, call in enumerate(left) if _same(call, (name, arguments))), None)
        if place is None:
            return False
        # By place: removing by value would take ``true`` for ``1``.
        del left[place]
    return not left


def _same(one: Call, other: Call) -> bool:
    return sent_name(one[0]) == sent_name(other[0]) and json_equal(dict(one[1]), dict(other[1]))
