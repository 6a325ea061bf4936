"""Whether a value has the type its document names, or the type the answer was written in; it compares no values.

Types are exact: ``true`` is no integer, ``5.0`` is no integer, and nothing is converted here. An answer may be written
as another type than the document names (``variable``): then that type is accepted too and the value is compared
literally later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vendor_verifier.suites.bfcl.verdict import Language, Verdict, invalid, uncheckable

PYTHON_TYPES: Mapping[str, type] = MappingProxyType(
    {
        "string": str, "integer": int, "float": float, "boolean": bool, "array": list, "tuple": list, "dict": dict,
        "any": str,
    }
)  # fmt: skip
JAVA_TYPES: Mapping[str, type] = MappingProxyType(
    {
        "byte": int, "short": int, "integer": int, "long": int, "float": float, "double": float, "boolean": bool,
        "char": str, "String": str, "any": str, "Array": list, "ArrayList": list, "Queue": list, "Stack": list,
        "Set": set, "HashMap": dict, "Hashtable": dict,
    }
)  # fmt: skip
JAVASCRIPT_TYPES: Mapping[str, type] = MappingProxyType(
    {
        "String": str, "any": str, "integer": int, "Bigint": int, "float": float, "Boolean": bool, "dict": dict,
        "array": list,
    }
)  # fmt: skip
_TYPES: Mapping[Language, Mapping[str, type]] = MappingProxyType(
    {"python": PYTHON_TYPES, "java": JAVA_TYPES, "javascript": JAVASCRIPT_TYPES}
)
_WITH_ELEMENTS: Mapping[Language, frozenset[str]] = MappingProxyType(
    {
        "python": frozenset({"array", "tuple"}),
        "java": frozenset({"Array", "ArrayList"}),
        "javascript": frozenset({"array"}),
    }
)


@dataclass(frozen=True, slots=True)
class Expected:
    """A parameter's type: the document's word, the Python type it means, and both for the elements if any."""

    name: str
    outer: type
    element_name: str | None = None
    element: type | None = None


def named_type(parameter: str, details: object, language: Language) -> tuple[str, type]:
    """What ``type`` in the document means.

    Raises:
        DataError: no type, or a name this language does not have.
    """
    name = details.get("type") if isinstance(details, dict) else None
    known = _TYPES[language].get(name) if isinstance(name, str) else None
    if known is None:
        raise uncheckable(f"parameter {parameter!r} is of type {name!r}; {language} rows know {_names(language)}")
    assert isinstance(name, str)
    return name, known


def expected_type(parameter: str, details: Mapping[str, Any], language: Language) -> Expected:
    """The whole type, elements of lists included.

    Raises:
        DataError: as :func:`named_type`, also for the elements.
    """
    name, outer = named_type(parameter, details, language)
    if name not in _WITH_ELEMENTS[language]:
        return Expected(name, outer)
    return Expected(name, outer, *named_type(f"{parameter}[]", details.get("items"), language))


def _names(language: Language) -> str:
    return ", ".join(_TYPES[language])


def written_type(options: object) -> type | None:
    """The type the answer was written in: that of its first option that is not ``""``."""
    if not isinstance(options, (list, str)):
        raise uncheckable(f"the answer {options!r:.80} is not a list of accepted values")
    return next((type(option) for option in options if option != ""), None)


def check_type(parameter: str, value: object, options: Any, expected: Expected) -> tuple[Verdict | None, bool]:
    """(what is wrong with the type or None, whether the value must be compared literally)."""
    written = written_type(options)
    variable = written is not None and written is not expected.outer
    if type(value) is expected.outer:
        if expected.element is None or _some_option_fits(value, options, expected.element):
            return None, variable
        if written is not expected.outer:
            return invalid("type_error:simple", _wrong(parameter, value, expected.name)), False
        wanted = f"{expected.name} of {expected.element_name}"
        return invalid("type_error:nested", _wrong(parameter, value, wanted)), False
    if written is not None and type(value) is written:
        return None, True
    return invalid("type_error:simple", _wrong(parameter, value, expected.name)), False


def _some_option_fits(value: Any, options: Any, element: type) -> bool:
    """An option that is no list fits anything; one that is a list lends its own first type to the elements."""
    for option in options:
        if type(option) is not list:
            return True
        written = written_type(option)
        if all(type(item) is element or (written is not None and type(item) is written) for item in value):
            return True
    return False


def _wrong(parameter: str, value: object, wanted: str) -> str:
    kind = "null" if value is None else type(value).__name__
    return f"parameter {parameter!r} must be of type {wanted}, got {kind}: {value!r:.200}"
