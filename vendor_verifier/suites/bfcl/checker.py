"""The calls of a reply, and their check against a row's possible answers, with bfcl_eval's verdicts and error types.

The parts of the category's *name* decide: ``relevance`` asks only whether a call was made, ``parallel`` matches in any
order, ``multiple`` finds the document by the answer's name, everything else takes the first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from vendor_verifier.records.record import Attempt
from vendor_verifier.suites.bfcl.categories import Language, is_relevance, language_of
from vendor_verifier.suites.bfcl.check_value import VALID, Verdict, check_value, expected_type, invalid, uncheckable
from vendor_verifier.suites.bfcl.function_docs import sent_name
from vendor_verifier.suites.bfcl.literals import read_java, read_javascript
from vendor_verifier.suites.calls import same_value

_WRONG_LANGUAGE = {"java": "type_error:java", "javascript": "type_error:js"}
Functions = Sequence[dict[str, Any]]
Answers = Sequence[dict[str, Any]]
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


def check(
    functions: list[dict[str, Any]],
    calls: list[dict[str, dict[str, Any]]] | str | None,
    possible_answer: list[dict[str, Any]] | None,
    category: str,
) -> Verdict:
    """Judge the calls of one reply as bfcl_eval does.

    Args:
        functions: the row's raw function documents, with the leaderboard's own type names.
        calls: ``{name: {parameter: value}}``, one object a call, names with ``_`` for ``.``. As in upstream's result
            files, a text means words instead of calls; of several keys in a call the first counts.
        possible_answer: ``{name: {parameter: [accepted values]}}``, one object a call; None for rows of (ir)relevance.
        category: name in either version (``simple``, ``live_parallel`` …).

    Raises:
        DataError: the row itself cannot be checked; upstream crashes on it.
    """
    made = _decoded(calls)
    is_readable = made is not None and all(isinstance(values, dict) for call in made for values in call.values())
    if is_relevance(category):
        called = is_readable and bool(made)
        if "irrelevance" in category:
            words = "no call was expected, one was made"
            return invalid("irrelevance_error:decoder_success", words) if called else VALID
        return VALID if called else invalid("relevance_error:decoder_failed", "a call was expected, none was made")
    if made is None:
        return invalid("ast_decoder:decoder_failed", "text instead of calls")
    if not is_readable:
        return invalid("ast_decoder:decoder_wrong_output_format", "the reply is not a list of {name: {arguments}}")
    answers, language = possible_answer or [], language_of(category)
    if "parallel" in category:
        return _check_parallel(functions, made, answers, language)
    if not answers:
        raise uncheckable(f"a {category} row needs a possible answer")
    kind = "multiple" if "multiple" in category else "simple"
    if len(made) != (len(answers) if kind == "multiple" else 1):
        return invalid(f"{kind}_function_checker:wrong_count", f"expected one call, got {len(made)}")
    if kind == "multiple":
        return _check_one(_document_named(functions, answers[0]), made[0], answers[0], language)
    if not functions:
        raise uncheckable("it has no functions")
    return _check_one(functions[0], made[0], answers[0], language)


def _decoded(calls: object) -> list[Any] | None:
    """The calls that upstream's runner would judge: of a call with several keys the first; None where it cannot."""
    if calls == "":
        return []
    if not isinstance(calls, list) or not all(isinstance(call, dict) and call for call in calls):
        return None
    return [dict([next(iter(call.items()))]) for call in calls]


def _check_parallel(functions: Functions, calls: list[Any], answers: Answers, language: Language) -> Verdict:
    """Each answer in turn takes the first call that is left and fits.

    Upstream does the same, and so a perfect reply can fail where two answers accept the same call.
    """
    kind = "parallel_function_checker_no_order"
    if len(calls) != len(answers):
        return invalid(f"{kind}:wrong_count", f"expected {len(answers)} calls, got {len(calls)}")
    left = list(range(len(calls)))
    for index, answer in enumerate(answers):
        document = _document_named(functions, answer)
        reasons: list[str] = []
        for place in left:
            verdict = _check_one(document, calls[place], answer, language)
            if verdict.valid:
                left.remove(place)
                break
            reasons += [f"call {place}: {reason}" for reason in verdict.error]
        else:
            return invalid(f"{kind}:cannot_find_match", f"no remaining call matches answer {index}", *reasons)
    return VALID


def _check_one(function: object, call: Mapping[str, dict[str, Any]], answer: object, language: Language) -> Verdict:
    name, properties, required = _read_document(function)
    _, accepted = _read_answer(answer)
    name, kind = name.replace(".", "_"), "simple_function_checker"
    if name not in call:
        return invalid(f"{kind}:wrong_func_name", f"{name!r} is not what was called")
    arguments = call[name]
    for parameter in required:
        if parameter not in arguments:
            return invalid(f"{kind}:missing_required", f"required parameter {parameter!r} is missing")
    for parameter, value in arguments.items():
        if parameter not in properties or parameter not in accepted:
            return invalid(f"{kind}:unexpected_param", f"parameter {parameter!r} is not expected")
        wrong = _wrong_argument(parameter, value, properties[parameter], accepted[parameter], language)
        if wrong is not None:
            return wrong
    for parameter, options in accepted.items():
        if not isinstance(options, (list, str)):  # a text is its characters
            raise uncheckable(f"the answer {options!r:.80} of {parameter!r} is not a list of accepted values")
        if parameter not in arguments and "" not in options:
            return invalid(f"{kind}:missing_optional", f"parameter {parameter!r} is required here")
    return VALID


def _wrong_argument(parameter: str, value: Any, details: Any, options: Any, language: Language) -> Verdict | None:
    expected = expected_type(parameter, details, language)
    if language != "python":
        if type(value) is not str:
            words = f"{parameter!r} must be source text in a string, got {type(value).__name__}"
            return invalid(_WRONG_LANGUAGE[language], words)
        value = (read_java if language == "java" else read_javascript)(value, expected.name, expected.element_name)
    elif expected.name == "float" and type(value) is int:
        with suppress(OverflowError):  # beyond what a float holds it stays an int, which is the wrong type
            value = float(value)
    elif expected.name == "tuple" and type(value) is tuple:
        value = list(value)
    return check_value(parameter, value, options, expected)


def _read_document(function: object) -> tuple[str, dict[str, Any], list[str]]:
    """Name, properties and required parameters of a raw document."""
    fields = function if isinstance(function, dict) else {}
    parameters = fields.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    name, properties, required = fields.get("name"), parameters.get("properties"), parameters.get("required")
    if not isinstance(name, str) or not isinstance(properties, dict) or not isinstance(required, list):
        raise uncheckable(f"function {name!r} needs a name, parameters.properties and parameters.required")
    return name, properties, required


def _read_answer(answer: object) -> tuple[str, dict[str, Any]]:
    """Name and accepted values by parameter of one answer, an object with one key."""
    name, arguments = next(iter(answer.items()), (None, None)) if isinstance(answer, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise uncheckable(f"the answer {answer!r:.120} is not {{function: {{parameter: [accepted values]}}}}")
    return name, arguments


def _document_named(functions: Functions, answer: object) -> dict[str, Any]:
    """The document with the answer's own (dotted) name."""
    name, _ = _read_answer(answer)
    for function in functions:
        if isinstance(function, dict) and function.get("name") == name:
            return function
    raise uncheckable(f"the answer calls {name!r}, but no function of the row has this name")


def refuse_uncheckable(category: str, functions: Functions, answers: Answers) -> None:
    """Raise DataError for a single-turn row that cannot be checked, whatever is called."""
    for function in functions:
        for parameter, details in _read_document(function)[1].items():
            expected_type(parameter, details, language_of(category))
    for answer in answers:
        _read_answer(answer)


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
