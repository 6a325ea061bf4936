"""The judgement of a call's arguments by the sample's own schema; a bad schema counts against no vendor.

Theory of operation: a tool's ``parameters`` are compiled on first use (:func:`compiled`).
Arguments are read by RFC 8259 (see :mod:`vendor_verifier.wire.payload`); of duplicate keys the last one wins. What does
not fit the schema by its letter is held against what its dialect means, if it is written in one
(:mod:`vendor_verifier.suites.schema_dialect`), and what would cost too much is not judged
(:mod:`vendor_verifier.suites.schema_bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from vendor_verifier.suites.schema_bounds import MAX_BACKTRACKS, MAX_EXPLAINED_NS, OverBoundError, SchemaBounds
from vendor_verifier.suites.schema_dialect import standard_schema
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import CallClass, CallVerdict
from vendor_verifier.wire.payload import PayloadError, as_dict, as_text, parse_json
from vendor_verifier.words import counted

MESSAGE_CAP = 300
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS)
# The schema's pattern could not be evaluated, so the arguments are neither valid nor invalid.
_PATTERN_GAVE_UP = (
    jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded,
    jsonschema_rs.ValidationErrorKind.RegexEngineFailure,
)


class Judged(msgspec.Struct, frozen=True):
    """The verdict of a schema on arguments, with a JSON ``pointer`` to the first violation."""

    verdict: CallClass
    message: str | None = None
    pointer: str | None = None


_VALID = Judged("valid")


class CompiledSchema(msgspec.Struct, frozen=True):
    """A compiled schema, or the reason that it cannot be used: ``unusable``, or ``too_large`` for its bounds."""

    validator: jsonschema_rs.Validator | None = None
    bounds: SchemaBounds | None = None
    unusable: str | None = None
    too_large: str | None = None

    def judge(self, arguments: object, written: int) -> Judged:
        """The verdict on arguments that were written as so many characters; never raises."""
        if self.validator is None or self.bounds is None:
            if self.unusable is not None:
                return Judged("schema_unusable", self.unusable)
            return Judged("not_judged", self.too_large)
        try:
            if self.bounds.estimate_ns(arguments, written) <= MAX_EXPLAINED_NS:
                self.validator.validate(arguments)
            elif not self.validator.is_valid(arguments):
                return Judged("schema_mismatch", "too many places and alternatives to say where the schema is broken")
        except OverBoundError as error:
            return Judged("not_judged", str(error))
        except jsonschema_rs.ValidationError as error:
            if isinstance(error.kind, _PATTERN_GAVE_UP):
                return Judged("not_judged", error.message)
            return Judged("schema_mismatch", error.message, pointer_of(error.instance_path))
        except ValueError as error:
            # Text that has no UTF-8 form (a lone surrogate in a key) cannot be handed to any tool.
            return Judged("invalid_json", str(error))
        return _VALID

    def violations(self, arguments: object, written: int, most: int) -> tuple[tuple[str, str], ...]:
        """(JSON pointer, message) of the places where the arguments break the schema, at most ``most``."""
        if self.validator is None or self.bounds is None:
            return ()
        try:
            if self.bounds.estimate_ns(arguments, written) > MAX_EXPLAINED_NS:
                return ()
            errors = islice(self.validator.iter_errors(arguments), most)
            return tuple((pointer_of(error.instance_path), error.message[:MESSAGE_CAP]) for error in errors)
        except (OverBoundError, ValueError):
            return ()


def compiled(parameters: object) -> CompiledSchema:
    """A tool without ``parameters`` takes any object, as the chat-completions reference says."""
    schema: Any = {} if parameters is None else parameters
    if not isinstance(schema, dict):
        return CompiledSchema(unusable="parameters are not a JSON object")
    try:
        bounds = SchemaBounds(schema)
        validator = jsonschema_rs.validator_for(schema, validate_formats=False, offline=True, pattern_options=_PATTERNS)
    except OverBoundError as error:
        return CompiledSchema(too_large=str(error))
    except jsonschema_rs.ValidationError as error:
        return CompiledSchema(unusable=error.message[:MESSAGE_CAP])
    except ValueError as error:
        return CompiledSchema(unusable=str(error)[:MESSAGE_CAP])
    return CompiledSchema(validator, bounds)


def pointer_of(path: Sequence[str | int]) -> str:
    """The path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


class ArgumentChecker:
    """The tools of one sample, ready to judge calls. Hold one per tool set: compiled schemas are kept inside."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._tools = tools
        self._parameters: dict[str, object] = {}
        self._compiled: dict[str, tuple[CompiledSchema, ...]] = {}
        self._words: dict[str, tuple[str, ...]] = {}
        for name, parameters in _declarations(tools):
            self._parameters.setdefault(name, parameters)

    def check(self, call: ToolCall) -> CallVerdict:
        """The verdict on one call; never raises, whatever the arguments or the schema are."""
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
        verdict = self._validate(call.name, arguments, len(call.arguments))
        if not empty or verdict.verdict in ("schema_unusable", "not_judged"):
            return verdict
        if verdict.verdict in ("valid", "valid_in_dialect"):
            return CallVerdict(call.name, "empty_arguments")
        return CallVerdict(call.name, "invalid_json", f"no arguments were sent; {verdict.message}"[:MESSAGE_CAP])

    def violations(self, call: ToolCall, most: int = 20) -> tuple[tuple[str, str], ...]:
        """(JSON pointer, message) of every place where the arguments break the tool's schema, at most ``most``.

        Empty where they are valid, are no JSON object, or the schema cannot judge: :meth:`check` tells these apart.
        """
        read = self._readings(call.name)[-1] if call.name in self._parameters else None
        if read is None:
            return ()
        try:
            arguments = parse_json(call.arguments) if call.arguments.strip() else {}
        except PayloadError:
            return ()
        return read.violations(arguments, len(call.arguments), most) if isinstance(arguments, dict) else ()

    def unusable(self, name: str) -> str | None:
        """The reason that the schema of this tool cannot be applied as written, or ``None`` when it can."""
        return self._readings(name)[0].unusable

    @cached_property
    def dialect(self) -> tuple[str, ...]:
        """The keywords of the schemas that belong to a known dialect instead of JSON Schema."""
        return tuple(sorted({word for name in self._parameters if self._readings(name) for word in self._words[name]}))

    @cached_property
    def schema_defects(self) -> tuple[str, ...]:
        """One sentence for each schema that cannot be applied as written, which a vendor may refuse."""
        reasons = ((name, self.unusable(name)) for name in self._parameters)
        return tuple(f"the schema of tool {name!r} is unusable: {reason}" for name, reason in reasons if reason)

    @cached_property
    def defects(self) -> tuple[str, ...]:
        """All that is wrong with the tools, in words: no or repeated names, schemas that cannot be used.

        A schema that its dialect explains is none of these: a data set says so once (:func:`dialect_notice`).
        """
        found = [*_name_defects(self._tools)]
        for name in self._parameters:
            last = self._readings(name)[-1]
            if last.unusable is not None:
                found.append(f"the schema of tool {name!r} is unusable: {self.unusable(name)}")
            elif last.too_large is not None:
                found.append(f"arguments of tool {name!r} are not judged: {last.too_large}")
        return tuple(found)

    def _validate(self, name: str, arguments: object, written: int) -> CallVerdict:
        plain, *meant = self._readings(name)
        found = plain.judge(arguments, written)
        for reading in meant if found.verdict in ("schema_mismatch", "schema_unusable") else ():
            found = reading.judge(arguments, written)
            if found.verdict == "valid":
                found = Judged("valid_in_dialect", f"read as its dialect means it: {', '.join(self._words[name])}")
        return CallVerdict(name, found.verdict, found.message and found.message[:MESSAGE_CAP], found.pointer)

    def _readings(self, name: str) -> tuple[CompiledSchema, ...]:
        """The tool's schema by its letter, and as its dialect means it if that is something else and usable."""
        known = self._compiled.get(name)
        if known is None:
            known = self._compiled[name] = self._read(name)
        return known

    def _read(self, name: str) -> tuple[CompiledSchema, ...]:
        parameters = self._parameters[name]
        plain = compiled(parameters)
        self._words[name] = ()
        if not isinstance(parameters, dict) or plain.too_large is not None:
            return (plain,)
        meant, words = standard_schema(parameters)
        read = compiled(meant) if words else None
        if read is None or read.unusable is not None:
            return (plain,)
        self._words[name] = words
        return plain, read


def _declarations(tools: Sequence[Mapping[str, Any]]) -> list[tuple[str, object]]:
    """(name, parameters) of every function declared, in order, repetitions included."""
    functions = [as_dict(as_dict(tool).get("function")) for tool in tools]
    named = [(as_text(function.get("name")), function.get("parameters")) for function in functions]
    return [(name, parameters) for name, parameters in named if name]


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
    """The defects of the sample's own tools: see :attr:`ArgumentChecker.defects`."""
    return ArgumentChecker(sample.turn.tools).defects


def schema_defects(sample: Sample) -> tuple[str, ...]:
    """One sentence for each of the sample's tool schemas that cannot be used; calls of those tools are not judged."""
    return ArgumentChecker(sample.turn.tools).schema_defects


class DialectCount:
    """Counts the samples whose schemas are written in a dialect; :meth:`notice` says it once for a data set."""

    def __init__(self) -> None:
        self._samples = 0
        self._words: set[str] = set()

    def add(self, checker: ArgumentChecker) -> None:
        """Take the tools of one sample."""
        self._samples += bool(checker.dialect)
        self._words.update(checker.dialect)

    def notice(self) -> Iterable[str]:
        """One sentence, or none."""
        if self._samples:
            words = ", ".join(sorted(self._words))
            yield (
                f"{counted(self._samples, 'sample')} with schemas that are no JSON Schema by the "
                f"letter ({words}): read as meant; strict schema accuracy keeps to the letter"
            )
