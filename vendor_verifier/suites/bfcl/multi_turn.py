"""The multi-turn conversation: user turns from the row, tool results from simulated services; it judges nothing.

Theory of operation: a turn adds the user's words and repeats { ask; if the reply has no readable call the turn is over;
run the calls; add their results } for at most ``STEP_LIMIT`` steps, beyond which the conversation ends. Tools that a
row withholds join at their turn, which has a fixed text instead of the user's. Services are fresh for each play.

The services themselves are the user's own copy of upstream's and are injected. Nothing is ever evaluated: a model's
call is a look-up among public methods, a row's expected call is read as literals.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from vendor_verifier.errors import DataError
from vendor_verifier.suites.bfcl.categories import is_relevance, language_of
from vendor_verifier.suites.bfcl.check_value import expected_type, written_type
from vendor_verifier.suites.bfcl.checker import check, document_named, expected_arguments, read_document
from vendor_verifier.suites.bfcl.reference_calls import reference_calls
from vendor_verifier.suites.bfcl.replies import Reply, is_written, read_answer, rules_of
from vendor_verifier.suites.bfcl.service_calls import (
    ServiceCall,
    execute,
    native_step,
    read_expected_call,
    written_step,
)
from vendor_verifier.suites.bfcl.verdict import VALID, Verdict, invalid
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample


def row_problem(expected: Mapping[str, Any]) -> str | None:
    """The reason in one sentence that a single-turn row cannot be checked, or None when it can."""
    category = rules_of(expected)
    if is_relevance(category):
        return None
    try:
        _check_row(expected, category)
    except DataError as error:
        return error.problems[0].message
    return None


def unreachable(expected: Mapping[str, Any]) -> str | None:
    """The reason that a row's own answers fail it, or None when they pass; for rows without a :func:`row_problem`."""
    category = rules_of(expected)
    if is_relevance(category):
        return None
    calls = [{name: arguments} for name, arguments in reference_calls(expected)]
    functions, answer = list(expected["functions"]), expected.get("answer")
    dots = not is_written(expected)
    verdict = check(functions, calls, answer, category=category, language=language_of(category), underscore_to_dot=dots)
    return None if verdict.valid else f"{verdict.error_type}: {'; '.join(verdict.error)}"[:300]


def _check_row(expected: Mapping[str, Any], category: str) -> None:
    language, functions = language_of(category), expected["functions"]
    for function in functions:
        document = read_document(function)
        for parameter, details in document.properties.items():
            expected_type(parameter, details, language)
    for answer in expected.get("answer") or ():
        name, accepted = expected_arguments(answer)
        if "parallel" in category or "multiple" in category:
            document_named(functions, name)
        for options in accepted.values():
            written_type(options)
    # The first call's rules decide which document and answer are taken, and whether there are any.
    check(functions, [], expected.get("answer"), category=category, language=language)


class Services(Protocol):
    """Makes simulated services."""

    def start(
        self, classes: Sequence[str], initial_config: Mapping[str, Any], *, long_context: bool
    ) -> Mapping[str, object]:
        """Class name → a new instance in its initial state; nothing of it may be shared with another start."""


STEP_LIMIT = 20
MORE_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"

Step = tuple[ServiceCall, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns that the model was given, each with the steps that had calls, and its replies.

    ``failure`` is the reason for an early end.
    """

    turns: tuple[tuple[Step, ...], ...]
    replies: tuple[Reply, ...]
    failure: str | None = None
    forced_end: bool = False


def converse(sample: Sample, services: Services) -> Generator[Turn, Attempt, Conversation]:
    """Yield each question, take its attempt, and return the conversation when it is over."""
    expected, written = sample.expected, is_written(sample.expected)
    instances = start_services(expected, services)
    messages: list[Mapping[str, Any]] = []
    tools = list(sample.turn.tools)
    turns: list[tuple[Step, ...]] = []
    replies: list[Reply] = []
    for index, asked in enumerate(expected["turns"]):
        added = expected["withheld"].get(str(index), ())
        tools += () if written else added
        shown = f"{list(added)}\n{MORE_FUNCTIONS}" if written else MORE_FUNCTIONS
        messages += [{"role": "user", "content": shown}] if str(index) in expected["withheld"] else asked
        steps: list[Step] = []
        while True:
            attempt = yield Turn(tuple(messages), tuple(tools), sample.turn.parameters)
            reply = read_answer(expected, attempt)
            replies.append(reply)
            if reply.outcome == "error" or attempt.response is None:
                return Conversation((*turns, tuple(steps)), tuple(replies), failure=reply.reason)
            messages += _assistant(attempt.response, reply, len(replies), written=written)
            step = written_step(reply) if written else native_step(reply)
            if reply.outcome != "calls" or step is None:
                break
            steps.append(step)
            messages += _results(step, execute(instances, step), messages[-1])
            if len(steps) > STEP_LIMIT:
                return Conversation((*turns, tuple(steps)), tuple(replies), forced_end=True)
        turns.append(tuple(steps))
    return Conversation(tuple(turns), tuple(replies))


def start_services(expected: Mapping[str, Any], services: Services) -> Mapping[str, object]:
    """The row's services in their initial state."""
    long_context = "long_context" in expected["category"]
    return services.start(expected["involved_classes"], expected["initial_config"], long_context=long_context)


def _results(step: Step, results: Sequence[str], reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results of a step as history, after the ``reply`` that made it; of written calls in words of the user."""
    if "tool_calls" not in reply:
        told = [
            {"role": "tool", "name": call.source, "content": result}
            for call, result in zip(step, results, strict=True)
        ]  # fmt: skip
        return [{"role": "user", "content": repr(told)}]
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": result}
        for call, result in zip(reply["tool_calls"], results, strict=True)
    ]


def _assistant(response: Response, reply: Reply, number: int, *, written: bool) -> list[dict[str, Any]]:
    """The reply as history. Calls that cannot be read have no result and would make the next request illegal."""
    if written or reply.outcome != "calls":
        return [{"role": "assistant", "content": response.text}] if response.text else []
    called = [call for call in response.tool_calls if call.name or call.arguments.strip()]
    calls = [
        {
            "id": call.id or f"call_{number}_{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for place, (call, entry) in enumerate(zip(called, reply.calls, strict=True))
        for name, arguments in entry.items()
    ]
    return [{"role": "assistant", "content": response.text or None, "tool_calls": calls}]


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
    """Turns (from 0) that expect no call and in which the model made some; upstream runs and ignores these calls."""
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
