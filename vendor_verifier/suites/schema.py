"""Judges a call's arguments by the sample's own schema; it fetches nothing and blames no vendor for a bad schema.

Theory of operation: a tool's ``parameters`` are compiled on first use with every retrieval disabled, so a remote or
file ``$ref`` makes the schema unusable instead of a request. The draft is the one ``$schema`` names, else 2020-12;
``format`` is an annotation in every draft, as K2-Vendor-Verifier has it. Patterns run under a backtracking limit.
Arguments are read by RFC 8259 (see :mod:`vendor_verifier.wire.payload`); of duplicate keys the last one wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import jsonschema_rs

from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import CallVerdict
from vendor_verifier.wire.payload import PayloadError, as_dict, as_text, parse_json

MESSAGE_CAP = 300
# The schema's pattern could not be evaluated, which says nothing about the arguments.
_PATTERN_GAVE_UP = (
    jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded,
    jsonschema_rs.ValidationErrorKind.RegexEngineFailure,
)


class ArgumentChecker:
    """The tools of one sample, ready to judge calls. Hold one per tool set: compiled schemas are kept inside."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._tools = tools
        self._parameters: dict[str, object] = {}
        self._compiled: dict[str, jsonschema_rs.Validator | str] = {}
        for name, parameters in _declarations(tools):
            self._parameters.setdefault(name, parameters)

    def check(self, call: ToolCall) -> CallVerdict:
        """The verdict on one call; no arguments and no schema make it raise."""
        if call.name not in self._parameters:
            return CallVerdict(call.name, "unknown_tool", "the sample declares no such tool")
        empty = not call.arguments.strip()
        arguments: object = {}
        if not empty:
            try:
                arguments = parse_json(call.arguments)
            except PayloadError as error:
                return CallVerdict(call.name, "invalid_json", str(error)[:MESSAGE_CAP])
            if not isinstance(arguments, dict):
                return CallVerdict(call.name, "invalid_json", "arguments are not a JSON object")
        verdict = self._validate(call.name, arguments)
        if not empty or verdict.verdict == "schema_unusable":
            return verdict
        if verdict.verdict == "valid":
            return CallVerdict(call.name, "empty_arguments")
        return CallVerdict(call.name, "invalid_json", f"no arguments were sent; {verdict.message}"[:MESSAGE_CAP])

    def violations(self, call: ToolCall, most: int = 20) -> tuple[tuple[str, str], ...]:
        """(JSON pointer, message) of every place where the arguments break the tool's schema, at most ``most``.

        Empty where they are valid, are no JSON object, or the schema cannot judge: :meth:`check` tells these apart.
        """
        validator = self._validator(call.name) if call.name in self._parameters else ""
        if isinstance(validator, str):
            return ()
        try:
            arguments = parse_json(call.arguments) if call.arguments.strip() else {}
            errors = islice(validator.iter_errors(arguments), most) if isinstance(arguments, dict) else ()
            return tuple((_pointer(error.instance_path), error.message[:MESSAGE_CAP]) for error in errors)
        except (PayloadError, ValueError):
            return ()

    def unusable(self, name: str) -> str | None:
        """Why the schema of this tool cannot judge anything, or ``None`` when it can."""
        validator = self._validator(name)
        return validator if isinstance(validator, str) else None

    @cached_property
    def schema_defects(self) -> tuple[str, ...]:
        """Which of the schemas cannot be used, and why, in words."""
        reasons = ((name, self.unusable(name)) for name in self._parameters)
        return tuple(f"the schema of tool {name!r} is unusable: {reason}" for name, reason in reasons if reason)

    @cached_property
    def defects(self) -> tuple[str, ...]:
        """All that is wrong with the tools, in words: no or repeated names, schemas that cannot be used."""
        return (*_name_defects(self._tools), *self.schema_defects)

    def _validate(self, name: str, arguments: object) -> CallVerdict:
        validator = self._validator(name)
        if isinstance(validator, str):
            return CallVerdict(name, "schema_unusable", validator)
        try:
            validator.validate(arguments)
        except jsonschema_rs.ValidationError as error:
            message = error.message[:MESSAGE_CAP]
            if isinstance(error.kind, _PATTERN_GAVE_UP):
                return CallVerdict(name, "schema_unusable", message)
            return CallVerdict(name, "schema_mismatch", message, _pointer(error.instance_path))
        except ValueError as error:
            # Text that has no UTF-8 form (a lone surrogate in a key) cannot be handed to any tool.
            return CallVerdict(name, "invalid_json", str(error)[:MESSAGE_CAP])
        return CallVerdict(name, "valid")

    def _validator(self, name: str) -> jsonschema_rs.Validator | str:
        """The compiled schema, or the reason why there is none."""
        known = self._compiled.get(name)
        if known is None:
            known = self._compiled[name] = _compile(self._parameters[name])
        return known


def _compile(parameters: object) -> jsonschema_rs.Validator | str:
    """A tool without ``parameters`` takes any object, as the chat-completions reference says."""
    schema = {} if parameters is None else parameters
    if not isinstance(schema, dict):
        return "parameters are not a JSON object"
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=False, offline=True)
    except jsonschema_rs.ValidationError as error:
        return error.message[:MESSAGE_CAP]
    except ValueError as error:
        return str(error)[:MESSAGE_CAP]


def _declarations(tools: Sequence[Mapping[str, Any]]) -> list[tuple[str, object]]:
    """(name, parameters) of every function declared, in order, repetitions included."""
    functions = [as_dict(as_dict(tool).get("function")) for tool in tools]
    named = [(as_text(function.get("name")), function.get("parameters")) for function in functions]
    return [(name, parameters) for name, parameters in named if name]


def _pointer(path: Sequence[str | int]) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _name_defects(tools: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    found: list[str] = []
    seen: set[str] = set()
    for position, tool in enumerate(tools, 1):
        name = as_text(as_dict(as_dict(tool).get("function")).get("name"))
        if not name:
            found.append(f"tool {position} has no name")
        elif name in seen:
            found.append(f"tool {name!r} is declared twice; the first definition counts")
        else:
            seen.add(name)
    return tuple(dict.fromkeys(found))


def dataset_defects(sample: Sample) -> tuple[str, ...]:
    """What is wrong with the sample's own tools: see :attr:`ArgumentChecker.defects`."""
    return ArgumentChecker(sample.turn.tools).defects


def schema_defects(sample: Sample) -> tuple[str, ...]:
    """Which of the sample's tool schemas cannot be used, and why; calls of those tools are nobody's fault."""
    return ArgumentChecker(sample.turn.tools).schema_defects
