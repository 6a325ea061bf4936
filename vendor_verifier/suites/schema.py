"""The judgement of a call's arguments by the sample's own schema; a bad schema counts against no vendor.

Of duplicate keys the last one wins. What does not fit the schema as written is judged by what its dialect means:
OpenAPI's ``nullable``, type names of Python and of other cases, older drafts. What is too large is not judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
import msgspec

from vendor_verifier.records.record import CallClass, CallVerdict, ToolCall
from vendor_verifier.wire.payload import PayloadError, as_dict, as_text, parse_json

MESSAGE_CAP = 300
# Parts of a schema with each reference written out in its place, and levels of them.
MAX_PARTS, MAX_DEPTH = 20_000, 120
# Parts of a schema times characters of arguments: at most seconds.
_MAX_WORK = 25_000_000
# A pattern that only backtracking can match takes the square of a text's length.
_MAX_BACKTRACKED = 10_000
_LINEAR = jsonschema_rs.RegexOptions(size_limit=100_000)
_BACKTRACKING = jsonschema_rs.FancyRegexOptions(backtrack_limit=50_000)
_PATTERN_GAVE_UP = (
    jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded,
    jsonschema_rs.ValidationErrorKind.RegexEngineFailure,
)

# The draft that a schema names, else 2020-12; those in which `exclusiveMinimum` is true, or `items` a list.
_STATED = (jsonschema_rs.validator_for,)
_OLDER = (jsonschema_rs.Draft7Validator, jsonschema_rs.Draft4Validator)

# JSON Schema's name of each type name of a dialect, in lower case; None means any type.
_TYPES: dict[str, str | None] = {
    **{name: name for name in ("object", "array", "string", "integer", "number", "boolean", "null")},
    **dict.fromkeys(("dict", "map", "hashmap"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "arraylist"), "array"),
    **dict.fromkeys(("int", "long", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "number"),
    "str": "string",
    "char": "string",
    "bool": "boolean",
    "none": "null",
    "any": None,
}
# Keywords that hold schemas by name, and those that hold values instead of schemas.
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"enum", "const", "default", "example", "examples", "required"})


def _pointed_at(root: Mapping[str, Any], reference: str) -> Any:
    """What a reference by pointer leads to within ``root``, None where there is nothing."""
    place: Any = root
    for step in unquote(reference).split("/")[1:]:
        place = as_dict(place).get(step.replace("~1", "/").replace("~0", "~"))
    return place


def _size(root: Mapping[str, Any]) -> tuple[int, int]:
    """The parts of a schema with references written out, and how many of its references lead into a circle.
    Raises OverflowError where it is too large."""
    known: dict[int, tuple[int, int]] = {}

    def size(node: Any, above: tuple[int, ...]) -> tuple[int, int]:
        if not isinstance(node, (dict, list)):
            return 1, 0
        if id(node) in above:
            return 1, 1
        if len(above) > MAX_DEPTH:
            raise OverflowError(f"a schema whose parts and references are nested deeper than {MAX_DEPTH} levels")
        if id(node) not in known:
            held = list(node)
            if isinstance(node, dict):
                # Definitions count where they are referred to.
                held = [value for word, value in node.items() if word not in ("$defs", "definitions")]
                held += [_pointed_at(root, node["$ref"])] if isinstance(node.get("$ref"), str) else []
            parts, circles = zip(*[size(one, (*above, id(node))) for one in held] or [(0, 0)], strict=True)
            known[id(node)] = 1 + sum(parts), sum(circles)
        if known[id(node)][0] > MAX_PARTS:
            raise OverflowError(f"a schema of more than {MAX_PARTS:,} parts")
        return known[id(node)]

    return size(root, ())


class _Compiled(msgspec.Struct, frozen=True):
    """A compiled schema, or the verdict and reason of all calls of a tool whose schema cannot be used."""

    validator: jsonschema_rs.Validator | None = None
    parts: int = 0
    circles: int = 0
    backtracks: bool = False
    verdict: CallClass = "valid"
    reason: str | None = None

    def judge(self, name: str, arguments: object, written: int) -> CallVerdict:
        """The verdict on arguments that were written with ``written`` characters; never raises."""
        if self.validator is None:
            return CallVerdict(name, self.verdict, self.reason)
        too_long = self.parts * written > _MAX_WORK or (self.backtracks and written > _MAX_BACKTRACKED)
        if too_long or (self.circles > 1 and self.circles ** _depth(arguments) > _MAX_WORK):
            return CallVerdict(name, "not_judged", "validating these arguments would take too long")
        try:
            self.validator.validate(arguments)
        except jsonschema_rs.ValidationError as error:
            if isinstance(error.kind, _PATTERN_GAVE_UP):
                return CallVerdict(name, "not_judged", error.message[:MESSAGE_CAP])
            # The path as a JSON pointer (RFC 6901).
            steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.instance_path)
            pointer = "".join(f"/{step}" for step in steps)
            return CallVerdict(name, "schema_mismatch", error.message[:MESSAGE_CAP], pointer)
        except ValueError as error:
            # Text that has no UTF-8 form (a lone surrogate in a key) cannot be handed to any tool.
            return CallVerdict(name, "invalid_json", str(error)[:MESSAGE_CAP])
        return CallVerdict(name, "valid")


def _compiled(parameters: object, drafts: Sequence[Callable[..., jsonschema_rs.Validator]] = _STATED) -> _Compiled:
    """A tool without ``parameters`` takes any object, as the chat-completions reference says."""
    schema: Any = {} if parameters is None else parameters
    if not isinstance(schema, dict):
        return _Compiled(verdict="schema_unusable", reason="parameters are not a JSON object")
    reason = None
    try:
        parts, circles = _size(schema)
        for draft, patterns in product(drafts, (_LINEAR, _BACKTRACKING)):
            options: Any = {"validate_formats": False, "offline": True, "pattern_options": patterns}
            try:
                return _Compiled(draft(schema, **options), parts, circles, backtracks=patterns is _BACKTRACKING)
            except jsonschema_rs.ValidationError as error:
                reason = error.message[:MESSAGE_CAP]
    except OverflowError as error:
        return _Compiled(verdict="not_judged", reason=str(error))
    except ValueError as error:
        reason = str(error)[:MESSAGE_CAP]
    return _Compiled(verdict="schema_unusable", reason=reason)


def _depth(value: object) -> int:
    """The levels of objects and lists inside each other."""
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, (dict, list))]:
        level = [held for one in level for held in (one.values() if isinstance(one, dict) else one)]
        depth += 1
    return depth


def _translated(node: Any, words: set[str]) -> Any:
    """The schema with the type names and ``nullable`` of a dialect in JSON Schema's words; these join ``words``."""
    if isinstance(node, list):
        return [_translated(item, words) for item in node]
    if not isinstance(node, dict):
        return node
    made: dict[str, Any] = {}
    for word, value in node.items():
        if word in _BY_NAME and isinstance(value, dict):
            made[word] = {name: _translated(one, words) for name, one in value.items()}
        else:
            made[word] = value if word in _VALUES else _translated(value, words)
    stated = made.get("type")
    names = [name for name in (stated if isinstance(stated, list) else [stated]) if isinstance(name, str)]
    meant = [_TYPES.get(name.lower(), name) for name in names]
    words.update(f"type {name}" for name, other in zip(names, meant, strict=True) if name != other)
    if None in meant:
        del made["type"]
    elif meant != names:
        made["type"] = list(dict.fromkeys(meant)) if isinstance(stated, list) else meant[0]
    if made.get("nullable") is True:
        words.add("nullable")
        return {"anyOf": [{word: value for word, value in made.items() if word != "nullable"}, {"type": "null"}]}
    return made


class ArgumentChecker:
    """The tools of one sample, ready to judge calls. Hold one per tool set: compiled schemas are kept inside."""

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._parameters: dict[str, object] = {}
        # By tool the schema as written, what its dialect means where that is another one, and the dialect's words.
        self._compiled: dict[str, tuple[_Compiled, _Compiled | None, tuple[str, ...]]] = {}
        self._name_defects: list[str] = []
        for position, tool in enumerate(tools, 1):
            function = as_dict(as_dict(tool).get("function"))
            name = as_text(function.get("name"))
            if not name:
                self._name_defects.append(f"tool {position} has no name")
            elif name in self._parameters:
                self._name_defects.append(f"tool {name!r} is declared twice; the first definition counts")
            else:
                self._parameters[name] = function.get("parameters")

    def check(self, call: ToolCall) -> CallVerdict:
        """The verdict on one call; never raises, whatever the arguments or the schema are."""
        if call.name not in self._parameters:
            return CallVerdict(call.name, "unknown_tool", "the sample declares no such tool")
        empty = not call.arguments.strip()
        try:
            arguments = {} if empty else parse_json(call.arguments)
        except PayloadError as error:
            return CallVerdict(call.name, "invalid_json", str(error)[:MESSAGE_CAP])
        if not isinstance(arguments, dict):
            return CallVerdict(call.name, "invalid_json", "arguments are not a JSON object")
        plain, meant, words = self._readings(call.name)
        found = plain.judge(call.name, arguments, len(call.arguments))
        if meant is not None and found.verdict in ("schema_mismatch", "schema_unusable"):
            found = meant.judge(call.name, arguments, len(call.arguments))
            if found.verdict == "valid":
                read = f"valid in the dialect of its schema: {', '.join(words)}"[:MESSAGE_CAP]
                found = CallVerdict(call.name, "valid_in_dialect", read)
        if not empty or found.verdict in ("schema_unusable", "not_judged"):
            return found
        if found.verdict in ("valid", "valid_in_dialect"):
            return CallVerdict(call.name, "empty_arguments")
        return CallVerdict(call.name, "invalid_json", f"no arguments were sent; {found.message}"[:MESSAGE_CAP])

    @cached_property
    def may_be_refused(self) -> bool:
        """Whether a schema cannot be applied as written, so that a vendor may refuse it."""
        return any(self._readings(name)[0].verdict == "schema_unusable" for name in self._parameters)

    @cached_property
    def defects(self) -> tuple[str, ...]:
        """All defects of the tools, in words; what a dialect explains is not a defect."""
        found = list(self._name_defects)
        for name in self._parameters:
            plain, meant, _ = self._readings(name)
            if meant is None and plain.verdict == "schema_unusable":
                found.append(f"the schema of tool {name!r} is unusable: {plain.reason}")
            elif plain.verdict == "not_judged":
                found.append(f"arguments of tool {name!r} are not judged: {plain.reason}")
        return tuple(found)

    def _readings(self, name: str) -> tuple[_Compiled, _Compiled | None, tuple[str, ...]]:
        if name not in self._compiled:
            parameters, words = self._parameters[name], set[str]()
            plain = meant = _compiled(parameters)
            if isinstance(parameters, dict) and plain.verdict != "not_judged":
                schema = _translated(parameters, words)
                meant = _compiled(schema) if words else plain
                if meant.validator is None and "$schema" not in parameters:
                    words.add("an older draft")
                    meant = _compiled(schema, _OLDER)
            usable = words and meant.validator is not None
            self._compiled[name] = (plain, meant, tuple(sorted(words))) if usable else (plain, None, ())
        return self._compiled[name]


def checker_of(tools: Sequence[Mapping[str, Any]]) -> ArgumentChecker:
    """The checker of the tools of a turn; those used last are kept, because many samples have the same tools."""
    return _checker(json.dumps(tools))


@lru_cache(maxsize=1000)  # a compiled schema takes tens of kB
def _checker(tools: str) -> ArgumentChecker:
    return ArgumentChecker(json.loads(tools))
