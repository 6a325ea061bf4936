"""Multi-turn rows: a conversation with simulated services, and its judgement by the state that it leaves.

A turn adds the user's words and asks, running the calls of each reply, until a reply has no readable call. Services are
upstream's own, injected, and new for each play and judgement. Nothing is evaluated: a call is a look-up among public
methods, a row's expected call is read as literals.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.records.record import Attempt
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.bfcl.check_value import VALID, Verdict, invalid, uncheckable
from vendor_verifier.suites.bfcl.checker import Reply, read_reply
from vendor_verifier.suites.calls import reply_with_calls

STEP_LIMIT = 20
MORE_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


Services = Callable[[Sequence[str], Mapping[str, Any], bool], Mapping[str, object]]
"""Gives by class name a new instance in its initial state, made of the configuration; the last is ``long_context``."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call by name. Models name every argument; a row's expected calls may give some by position."""

    name: str
    named: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()


@dataclass(slots=True)
class Conversation:
    """The calls of each turn that the model was given, its replies, and the reason for an early end."""

    turns: list[list[WrittenCall]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    failure: str | None = None


def converse(sample: Sample, services: Services) -> Generator[Turn, Attempt, Conversation]:
    """Yield each question, take its attempt, and return the conversation when it is over."""
    expected, done = sample.expected, Conversation()
    instances = _start(expected, services)
    messages: list[Mapping[str, Any]] = []
    tools = list(sample.turn.tools)
    for index, asked in enumerate(expected["turns"]):
        tools += expected["withheld"].get(str(index), ())
        messages += [{"role": "user", "content": MORE_FUNCTIONS}] if str(index) in expected["withheld"] else asked
        done.turns.append([])
        for _ in range(STEP_LIMIT + 1):
            attempt = yield Turn(tuple(messages), tuple(tools), sample.turn.parameters)
            reply = read_reply(attempt)
            done.replies.append(reply)
            if reply.outcome == "error" or attempt.response is None:
                done.failure = reply.reason or "no answer"
                return done
            if reply.outcome != "calls":
                # Calls that cannot be read have no result and would make the next request illegal.
                text = attempt.response.text
                messages += [{"role": "assistant", "content": text}] if text else []
                break
            calls = [WrittenCall(name, arguments) for name, arguments in reply.named_calls]
            done.turns[-1] += calls
            sent = [call for call in attempt.response.tool_calls if call.name or call.arguments.strip()]
            ids = [call.id or f"call_{len(done.replies)}_{place}" for place, call in enumerate(sent)]
            made = [(id, call.name, call.named) for id, call in zip(ids, calls, strict=True)]
            messages += reply_with_calls(attempt.response.text, made, execute(instances, calls))
        else:
            return done
    return done


def _start(expected: Mapping[str, Any], services: Services) -> Mapping[str, object]:
    long_context = "long_context" in expected["category"]
    return services(expected["involved_classes"], expected["initial_config"], long_context)


def execute(instances: Mapping[str, object], calls: Sequence[WrittenCall]) -> list[str]:
    """The results, or errors, of the calls, as the text a model is shown; only public methods are called."""
    methods: dict[str, Any] = {}
    for instance in instances.values():
        public = [name for name in dir(type(instance)) if not name.startswith("_")]
        methods.update({name: method for name in public if callable(method := getattr(instance, name))})
    return [_run(methods, call) for call in calls]


def _run(methods: Mapping[str, Any], call: WrittenCall) -> str:
    method = methods.get(call.name)
    if method is None:
        return f"Error during execution: name {call.name.partition('.')[0]!r} is not defined"
    try:
        # A service may keep and change what it is given, and one conversation is run more than once.
        result = method(*deepcopy(call.positional), **deepcopy(dict(call.named)))
        return json.dumps(result) if type(result) is dict else str(result)
    except Exception as error:  # noqa: BLE001 - a service may raise anything, and what it raises is its answer
        return f"Error during execution: {error}"


def read_expected_call(source: str) -> WrittenCall:
    """``name(1, key='value')``, a call in a row's answer. Raises DataError for more than literals and arithmetic."""
    try:
        call = ast.parse(source.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise ValueError("no call of a function by name")
        positional = tuple(_literal(argument) for argument in call.args)
        named = {str(keyword.arg): _literal(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError, TypeError, ArithmeticError) as error:
        raise uncheckable(f"the expected call {source!r:.120} cannot be read: {error}") from None
    return WrittenCall(call.func.id, named, positional)


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_literal(node.left), _literal(node.right))
    return ast.literal_eval(node)


def check_conversation(expected: Mapping[str, Any], conversation: Conversation, services: Services) -> Verdict:
    """The verdict, with upstream's error type; raises DataError for an expected call that cannot be read."""
    answer: Sequence[Sequence[str]] = expected["answer"]
    if conversation.failure is not None:
        return invalid("multi_turn:inference_error", conversation.failure)
    if len(conversation.turns) != len(answer):
        done = len(conversation.turns)
        return invalid("multi_turn:force_terminated", f"ended in turn {done} of {len(answer)}")
    mine, theirs = _start(expected, services), _start(expected, services)
    seen: list[str] = []
    for index, (steps, sources) in enumerate(zip(conversation.turns, answer, strict=True)):
        seen += execute(mine, steps)
        wanted = execute(theirs, [read_expected_call(source) for source in sources])
        if not sources:
            continue
        if not steps:
            return invalid("multi_turn:empty_turn_model_response", f"no call in turn {index}")
        different = _different_state(mine, theirs)
        if different:
            return invalid("multi_turn:instance_state_mismatch", f"turn {index}: {different}")
        left = list(seen)
        for result in wanted:
            if result not in left:
                return invalid("multi_turn:execution_response_mismatch", f"turn {index}: no result {result!r:.200}")
            left.remove(result)
    return VALID


def _different_state(mine: Mapping[str, object], theirs: Mapping[str, object]) -> str | None:
    for service, instance in theirs.items():
        for name, value in vars(instance).items():
            if not name.startswith("_") and getattr(mine[service], name, None) != value:
                return f"{service}.{name} differs"
    return None
