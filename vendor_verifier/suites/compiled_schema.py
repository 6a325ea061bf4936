"""One JSON Schema, compiled within bounds and with every retrieval disabled; it knows no tool and no call.

A remote or file ``$ref`` makes a schema unusable instead of a request. The draft is the one ``$schema`` names, else
2020-12; ``format`` is an annotation in every draft, as K2-Vendor-Verifier has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import jsonschema_rs

from vendor_verifier.suites.schema_bounds import MAX_BACKTRACKS, MAX_EXPLAINED_NS, OverBoundError, SchemaBounds
from vendor_verifier.values.score import CallClass

MESSAGE_CAP = 300
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_BACKTRACKS)
# The schema's pattern could not be evaluated, which says nothing about the arguments.
_PATTERN_GAVE_UP = (
    jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded,
    jsonschema_rs.ValidationErrorKind.RegexEngineFailure,
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a schema makes of arguments; ``pointer`` to the place of the first violation."""

    verdict: CallClass
    message: str | None = None
    pointer: str | None = None


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A schema ready to judge, or the reason why it cannot: ``unusable`` by itself, or ``too_large`` for its bounds."""

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
        return Judged("valid")

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
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
