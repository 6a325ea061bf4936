"""The checker: one row's calls against its possible answers.

Theory of operation: the *name* of the category decides, by the parts it contains, as upstream has it. ``relevance``
asks only whether a call was made; ``parallel`` matches in any order; ``multiple`` finds the document by the answer's
name; everything else takes the first document. ``compat`` gives upstream's verdict and error type on every row.

The first thing wrong in a call wins, in this order: name, required parameters, then each argument as the model ordered
them (known, type, value), then parameters the answer demands and the model left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.bfcl.categories import expects_no_call, is_relevance, language_of
from vendor_verifier.suites.bfcl.check_value import Expected, check_type, check_value, expected_type, named_type
from vendor_verifier.suites.bfcl.literals import read_java, read_javascript
from vendor_verifier.suites.bfcl.replies import Reply, is_written, rules_of, well_formed_calls
from vendor_verifier.suites.bfcl.verdict import (
    LANGUAGES,
    MODES,
    VALID,
    Language,
    Mode,
    Verdict,
    invalid,
    json_equal,
    uncheckable,
)

_WRONG_LANGUAGE = {"java": "type_error:java", "javascript": "type_error:js"}


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a check. ``underscore_to_dot``: the tool was sent with ``_`` for ``.``, and so it must be called.

    ``mode`` ``strict`` takes an argument that equals the document's ``default`` for an argument left out, and one left
    out for its default.
    """

    language: Language = "python"
    underscore_to_dot: bool = True
    mode: Mode = "compat"


@dataclass(frozen=True, slots=True)
class Document:
    """The parts of a function document that the check uses."""

    name: str
    properties: Mapping[str, Any]
    required: list[str]


def read_document(function: object) -> Document:
    """The parts of a raw document.

    Raises:
        DataError: it lacks a name, properties or the list of required parameters.
    """
    fields = function if isinstance(function, dict) else {}
    parameters = fields.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    name, properties, required = fields.get("name"), parameters.get("properties"), parameters.get("required")
    if not isinstance(name, str) or not isinstance(properties, dict) or not isinstance(required, list):
        raise uncheckable(f"function {name!r} needs a name, parameters.properties and parameters.required")
    return Document(name, properties, required)


def expected_arguments(answer: object) -> tuple[str, dict[str, Any]]:
    """(function, parameter → accepted values) of one answer, an object with one key.

    Raises:
        DataError: it is not that.
    """
    name, arguments = next(iter(answer.items()), (None, None)) if isinstance(answer, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise uncheckable(f"the answer {answer!r:.120} is not {{function: {{parameter: [accepted values]}}}}")
    return name, arguments


def check_one(function: object, call: Mapping[str, dict[str, Any]], answer: object, rules: Rules) -> Verdict:
    """The verdict on one call, ``{name: arguments}``.

    Raises:
        DataError: the document or the answer cannot be used for this call.
    """
    document = read_document(function)
    _, accepted = expected_arguments(answer)
    name = document.name.replace(".", "_") if rules.underscore_to_dot else document.name
    if name not in call:
        return invalid("simple_function_checker:wrong_func_name", f"{name!r} is not what was called")
    arguments = call[name]
    for parameter in document.required:
        if parameter not in arguments:
            return invalid("simple_function_checker:missing_required", f"required parameter {parameter!r} is missing")
    for parameter, value in arguments.items():
        wrong = _wrong_argument(parameter, value, document, accepted, rules)
        if wrong is not None and not _is_explicit_default(parameter, value, document, accepted, rules):
            return wrong
    for parameter, options in accepted.items():
        if parameter not in arguments and not _may_be_left_out(parameter, options, document, rules):
            return invalid("simple_function_checker:missing_optional", f"parameter {parameter!r} is needed here")
    return VALID


def _wrong_argument(
    parameter: str, value: object, document: Document, accepted: Mapping[str, Any], rules: Rules
) -> Verdict | None:
    if parameter not in document.properties or parameter not in accepted:
        return invalid("simple_function_checker:unexpected_param", f"parameter {parameter!r} is not expected")
    details, options = document.properties[parameter], accepted[parameter]
    type_name, _ = named_type(parameter, details, rules.language)
    if rules.language != "python" and type(value) is not str:
        kind = type(value).__name__
        return invalid(_WRONG_LANGUAGE[rules.language], f"{parameter!r} must be source text in a string, got {kind}")
    expected = expected_type(parameter, details, rules.language)
    read = _read_value(value, type_name, expected, rules.language)
    wrong, literally = check_type(parameter, read, options, expected)
    return wrong or check_value(parameter, read, options, expected, literally=literally)


def _read_value(value: Any, type_name: str, expected: Expected, language: Language) -> object:
    """The value to compare: source text read, and a whole number made a float where a Python float is meant."""
    if language == "java":
        return read_java(value, type_name, expected.element_name)
    if language == "javascript":
        return read_javascript(value, type_name, expected.element_name)
    if type_name == "float" and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return value
    if type_name == "tuple" and type(value) is tuple:
        return list(value)
    return value


def _may_be_left_out(parameter: str, options: Any, document: Document, rules: Rules) -> bool:
    if not isinstance(options, (list, str)):
        raise uncheckable(f"the answer {options!r:.80} of {parameter!r} is not a list of accepted values")
    if "" in options:
        return True
    default = _default(parameter, document, rules)
    if default is None or parameter not in document.properties:
        return False
    return _wrong_argument(parameter, default, document, {parameter: options}, rules) is None


def _is_explicit_default(
    parameter: str, value: object, document: Document, accepted: Mapping[str, Any], rules: Rules
) -> bool:
    """Whether the value is the documented default of an argument that may be left out."""
    default = _default(parameter, document, rules)
    if default is None or not json_equal(value, default):
        return False
    if type(value) is not type(default) and document.properties[parameter].get("type") != "float":
        return False
    return parameter not in accepted or _may_be_left_out(parameter, accepted[parameter], document, rules)


def _default(parameter: str, document: Document, rules: Rules) -> object:
    """The documented default of an optional parameter in strict mode, else None (a null default is no value)."""
    if rules.mode != "strict" or parameter in document.required:
        return None
    details = document.properties.get(parameter)
    default = details.get("default") if isinstance(details, dict) else None
    if rules.language == "python" or default is None or isinstance(default, str):
        return default
    return str(default).lower() if isinstance(default, bool) else str(default)


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


def check(
    functions: list[dict[str, Any]],
    calls: list[dict[str, dict[str, Any]]] | str | None,
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
        calls: ``{name: {parameter: value}}``, one object a call, in the model's order; ``[]`` when it made none. As in
            upstream's result files, words instead of calls are a text, and of several keys of a call the first counts.
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
    read = _as_upstream_reads(calls)
    if is_relevance(category):
        # Words instead of calls are no attempt at one.
        return _check_relevance([] if isinstance(calls, str) else read, category, mode)
    if read is None:
        return invalid("ast_decoder:decoder_failed", "words came instead of calls")
    if not well_formed_calls(read):
        return invalid("ast_decoder:decoder_wrong_output_format", "the reply is no list of {name: {arguments}}")
    return _check_calls(
        functions, cast(_Read, read), possible_answer, category, Rules(language, underscore_to_dot, mode)
    )


_Read = list[dict[str, dict[str, Any]]]


def _check_calls(
    functions: list[dict[str, Any]],
    calls: _Read,
    possible_answer: list[dict[str, Any]] | None,
    category: str,
    rules: Rules,
) -> Verdict:
    if not possible_answer and "parallel" not in category:
        raise uncheckable(f"a {category} row needs a possible answer")
    answers = possible_answer or []
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


def _as_upstream_reads(calls: object) -> object:
    """The calls that upstream's runner would judge: of a call with several keys the first; a text is none."""
    if calls == "":
        return []
    if not isinstance(calls, list) or not all(isinstance(call, dict) and call for call in calls):
        return None
    return [dict([next(iter(call.items()))]) for call in calls]


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
    category = rules_of(expected)
    if reply.outcome == "calls" or (reply.outcome == "no_call" and not is_relevance(category)):
        return check(
            list(expected["functions"]),
            reply.calls,
            expected.get("answer"),
            category=category,
            language=language_of(category),
            underscore_to_dot=not is_written(expected),
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
