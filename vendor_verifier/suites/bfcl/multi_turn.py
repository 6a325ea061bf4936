"""The multi-turn conversation: user turns from the row, tool results from simulated services; it judges nothing.

Theory of operation: a turn adds the user's words and repeats { ask; if the reply has no readable call the turn is over;
run the calls; add their results } for at most ``STEP_LIMIT`` steps, beyond which the conversation ends. Tools that a
row withholds join at their turn, which has a fixed text instead of the user's. Services are fresh for each play.

The services themselves are the user's own copy of upstream's and are injected. Nothing is ever evaluated: a model's
call is a look-up among public methods, a row's expected call is read as literals.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

from vendor_verifier.errors import DataError
from vendor_verifier.suites.bfcl.categories import is_relevance, language_of
from vendor_verifier.suites.bfcl.check_value import expected_type, written_type
from vendor_verifier.suites.bfcl.checker import check, document_named, expected_arguments, read_document
from vendor_verifier.suites.bfcl.reference_calls import Reply, read_reply, reference_calls
from vendor_verifier.suites.bfcl.verdict import VALID, Verdict, invalid, uncheckable
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample


def row_problem(expected: Mapping[str, Any]) -> str | None:
    """The reason in one sentence that a single-turn row cannot be checked, or None when it can."""
    category = str(expected["category"])
    if is_relevance(category):
        return None
    try:
        _check_row(expected, category)
    except DataError as error:
        return error.problems[0].message
    return None


def unreachable(expected: Mapping[str, Any]) -> str | None:
    """The reason that a row's own answers fail it, or None when they pass; for rows without a :func:`row_problem`."""
    category = str(expected["category"])
    if is_relevance(category):
        return None
    calls = [{name: arguments} for name, arguments in reference_calls(expected)]
    functions, answer = list(expected["functions"]), expected.get("answer")
    verdict = check(functions, calls, answer, category=category, language=language_of(category))
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


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call by name. Models name every argument; a row's expected calls may give some by position."""

    name: str
    named: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()


def execute(instances: Mapping[str, object], calls: Iterable[ServiceCall]) -> list[str]:
    """Run the calls in order; each one's result, or its error, as the text a model is shown."""
    methods = _methods(instances)
    return [_run(methods, call) for call in calls]


def read_expected_call(source: str) -> ServiceCall:
    """``name(1, key='value')`` with literal arguments only.

    Raises:
        DataError: anything else.
    """
    try:
        call = ast.parse(source.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("no call of a function by name")
        positional = tuple(ast.literal_eval(argument) for argument in call.args)
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise uncheckable(f"the expected call {source!r:.120} cannot be read: {error}") from None
    return ServiceCall(call.func.id, named, positional)


def _methods(instances: Mapping[str, object]) -> dict[str, Callable[..., object]]:
    """Public methods of all instances; of equal names the later class's counts."""
    found: dict[str, Callable[..., object]] = {}
    for instance in instances.values():
        public = [name for name in dir(type(instance)) if not name.startswith("_")]
        found.update({name: method for name in public if callable(method := getattr(instance, name))})
    return found


def _run(methods: Mapping[str, Callable[..., object]], call: ServiceCall) -> str:
    method = methods.get(call.name)
    if method is None:
        return f"Error during execution: name '{call.name}' is not defined"
    try:
        # A service may keep and change what it is given, and one conversation is run more than once.
        result = method(*deepcopy(call.positional), **deepcopy(dict(call.named)))
    except Exception as error:  # noqa: BLE001 - a service may raise anything, and what it raises is its answer
        return f"Error during execution: {error}"
    return _shown(result)


def _shown(result: object) -> str:
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)


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
    expected = sample.expected
    instances = start_services(expected, services)
    messages: list[Mapping[str, Any]] = []
    tools = list(sample.turn.tools)
    turns: list[tuple[Step, ...]] = []
    replies: list[Reply] = []
    for index, asked in enumerate(expected["turns"]):
        added = expected["withheld"].get(str(index), ())
        tools += added
        messages += [{"role": "user", "content": MORE_FUNCTIONS}] if str(index) in expected["withheld"] else asked
        steps: list[Step] = []
        while True:
            attempt = yield Turn(tuple(messages), tuple(tools), sample.turn.parameters)
            reply = read_reply(attempt)
            replies.append(reply)
            if reply.outcome == "error" or attempt.response is None:
                return Conversation((*turns, tuple(steps)), tuple(replies), failure=reply.reason)
            messages += _assistant(attempt.response, reply, len(replies))
            if reply.outcome != "calls":
                break
            step = tuple(ServiceCall(name, arguments) for call in reply.calls for name, arguments in call.items())
            steps.append(step)
            results = execute(instances, step)
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": result}
                for call, result in zip(messages[-1]["tool_calls"], results, strict=True)
            ]
            if len(steps) > STEP_LIMIT:
                return Conversation((*turns, tuple(steps)), tuple(replies), forced_end=True)
        turns.append(tuple(steps))
    return Conversation(tuple(turns), tuple(replies))


def start_services(expected: Mapping[str, Any], services: Services) -> Mapping[str, object]:
    """The row's services in their initial state."""
    long_context = "long_context" in expected["category"]
    return services.start(expected["involved_classes"], expected["initial_config"], long_context=long_context)


def _assistant(response: Response, reply: Reply, number: int) -> list[dict[str, Any]]:
    """The reply as history. Calls that cannot be read have no result and would make the next request illegal."""
    if reply.outcome != "calls":
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
