"""A vendor's final attempt → the calls in it, as the checker takes them; it keeps apart why there are none.

Outcomes: ``error`` (no successful answer), ``calls``, ``unparsable`` (calls whose arguments cannot be read, or are no
object), ``text`` (words instead of calls) and ``no_call`` (nothing at all). Text beside calls is ignored, markup in
text is text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from vendor_verifier.values.record import Attempt

Outcome = Literal["error", "calls", "unparsable", "text", "no_call"]
OUTCOMES: tuple[Outcome, ...] = ("calls", "text", "unparsable", "no_call", "error")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. ``calls`` are ``{name: arguments}``; ``wrong_form``: arguments were read but are no object."""

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


def made_calls(reply: Reply) -> list[tuple[str, dict[str, Any]]] | None:
    """(name, arguments) of each call, in order; None when there was an error or a call that cannot be read."""
    if reply.outcome in ("error", "unparsable"):
        return None
    return [(name, arguments) for call in reply.calls for name, arguments in call.items()]
