"""The reply of an attempt, its calls, and their exact comparison with the calls of a custom row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vendor_verifier.records.record import Attempt
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.calls import same_value

Outcome = Literal["error", "calls", "unparsable", "text", "no_call"]
Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. ``calls`` are ``{name: arguments}``, of ``unparsable`` ones as far as they are JSON."""

    outcome: Outcome
    calls: list[dict[str, dict[str, Any]]] = field(default_factory=list)
    reason: str | None = None

    @property
    def named_calls(self) -> list[Call]:
        """(name, arguments) of each call, in order."""
        return [(name, arguments) for call in self.calls for name, arguments in call.items()]


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
    if any(type(arguments) is not dict for call in read for arguments in call.values()):
        return Reply("unparsable", read, "the arguments of a call are no object")
    return Reply("calls", read)


def exact_match(wanted: Sequence[Call], reply: Reply) -> dict[str, float]:
    """``function_name_accuracy`` and ``function_name_and_args_accuracy`` of one row, each 1.0 or 0.0.

    The first asks for the same names as often as wanted, the second for the same calls, in any order. Dots equal
    underscores in names, ``1`` equals ``1.0``, ``true`` equals neither. A reply that cannot be read has 0.0 in both.
    """
    made = reply.named_calls
    readable = reply.outcome not in ("error", "unparsable")
    names = readable and Counter(sent_name(name) for name, _ in wanted) == Counter(sent_name(name) for name, _ in made)
    left = list(made)
    for name, arguments in wanted:
        for place, call in enumerate(left):
            if sent_name(call[0]) == sent_name(name) and same_value(call[1], arguments):
                del left[place]
                break
    return {"function_name_accuracy": float(names), "function_name_and_args_accuracy": float(names and not left)}
