"""Whether a value has the declared type, and whether it is one of the accepted values.

Texts are folded only where the leaderboard folds them: a text itself, the members of a list, the values of an object.
Numbers are compared without tolerance. A text in place of a list of options is read as its characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.suites.bfcl.categories import Language

_FOLD = str.maketrans({**dict.fromkeys(" ,./-_*^"), "'": '"'})


def fold(text: str) -> str:
    """``text`` in lower case without ``space , . / - _ * ^``, and with ``"`` for ``'``: ``1.5`` equals ``15``."""
    return text.translate(_FOLD).lower()


def folded(value: object) -> object:
    """``value`` folded if it is a text, else as it is."""
    return fold(value) if type(value) is str else value


@dataclass(frozen=True, slots=True)
class Verdict:
    """``valid``, or the first thing wrong: ``error_type`` is bfcl_eval's word, ``error`` explains it in sentences."""

    valid: bool
    error_type: str | None = None
    error: list[str] = field(default_factory=list)


VALID = Verdict(True)


def invalid(error_type: str, *error: str) -> Verdict:
    """A verdict against the answer."""
    return Verdict(False, error_type, list(error))


def uncheckable(message: str) -> DataError:
    """The row, not the answer, is at fault: raise what this returns."""
    return DataError([Problem(f"the row cannot be checked: {message}")])


_TYPES: Mapping[Language, Mapping[str, type]] = {
    "python": {
        "string": str, "integer": int, "float": float, "boolean": bool, "array": list, "tuple": list, "dict": dict,
        "any": str,
    },
    "java": {
        "byte": int, "short": int, "integer": int, "long": int, "float": float, "double": float, "boolean": bool,
        "char": str, "String": str, "any": str, "Array": list, "ArrayList": list, "Queue": list, "Stack": list,
        "Set": set, "HashMap": dict, "Hashtable": dict,
    },
    "javascript": {
        "String": str, "any": str, "integer": int, "Bigint": int, "float": float, "Boolean": bool, "dict": dict,
        "array": list,
    },
}  # fmt: skip
_WITH_ELEMENTS = {"python": ("array", "tuple"), "java": ("Array", "ArrayList"), "javascript": ("array",)}


@dataclass(frozen=True, slots=True)
class Expected:
    """A parameter's type: the document's word, the Python type it means, and both for the elements if any."""

    name: str
    outer: type
    element_name: str | None = None
    element: type | None = None


def expected_type(parameter: str, details: Any, language: Language) -> Expected:
    """The type of a parameter in its document, with that of its elements; DataError for an unknown one."""
    name, outer = _named_type(parameter, details, language)
    if name not in _WITH_ELEMENTS[language]:
        return Expected(name, outer)
    return Expected(name, outer, *_named_type(f"{parameter}[]", details.get("items"), language))


def _named_type(parameter: str, details: Any, language: Language) -> tuple[str, type]:
    name = details.get("type") if isinstance(details, dict) else None
    if not isinstance(name, str) or name not in _TYPES[language]:
        known = ", ".join(_TYPES[language])
        raise uncheckable(f"parameter {parameter!r} is of type {name!r}; types of {language} rows are {known}")
    return name, _TYPES[language][name]


def written_type(options: object) -> type | None:
    """The type the answer was written in: that of its first option that is not ``""``."""
    if not isinstance(options, (list, str)):
        raise uncheckable(f"the answer {options!r:.80} is not a list of accepted values")
    return next((type(option) for option in options if option != ""), None)


def check_value(parameter: str, value: Any, options: Any, expected: Expected) -> Verdict | None:
    """The mismatch of ``value`` with its type, or with all of its options; None where it fits.

    Raises DataError for an option that this type cannot be compared with.
    """
    written = written_type(options)
    fits = type(value) is expected.outer
    if not fits and (written is None or type(value) is not written):
        return _wrong_type("simple", parameter, value, expected.name)
    if fits and expected.element is not None and not _some_option_fits(value, options, expected.element):
        if written is not expected.outer:
            return _wrong_type("simple", parameter, value, expected.name)
        return _wrong_type("nested", parameter, value, f"{expected.name} of {expected.element_name}")
    # Nothing is folded where the answer is written as another type.
    literally = not fits or (written is not None and written is not expected.outer)
    if literally or expected.outer not in (dict, list, str):
        if not isinstance(options, list) and not isinstance(value, str):
            raise uncheckable(f"the answer {options!r:.80} of {parameter!r} is not a list of accepted values")
        kind, is_right = "others", value in options
    elif expected.outer is dict:
        return _check_object(parameter, value, options)
    elif expected.element is dict:
        return _check_objects(parameter, value, options)
    elif expected.outer is list:
        kind = "list/tuple"
        is_right = [folded(item) for item in value] in [_folded_items(option) for option in options]
    else:
        kind, is_right = "string", fold(value) in [fold(option) for option in options if type(option) is str]
    return None if is_right else invalid(f"value_error:{kind}", _not_among(parameter, value, options))


def _some_option_fits(value: Any, options: Any, element: type) -> bool:
    """An option that is not a list fits anything; one that is a list lends its own first type to the elements."""
    for option in options:
        if type(option) is not list:
            return True
        written = written_type(option)
        if all(type(item) is element or (written is not None and type(item) is written) for item in value):
            return True
    return False


def _wrong_type(kind: str, parameter: str, value: object, wanted: str) -> Verdict:
    read = "null" if value is None else type(value).__name__
    return invalid(f"type_error:{kind}", f"{parameter!r} must be of type {wanted}, got {read}: {value!r:.200}")


def _check_objects(parameter: str, value: list[Any], options: Any) -> Verdict | None:
    """A list of objects: one option must fit member by member, in order. The last option's failure is the verdict."""
    verdict: Verdict | None = invalid("list_dict_checker:unclear", f"parameter {parameter!r} has no accepted values")
    for option in options:
        if not isinstance(option, (list, str)) and option != {}:
            raise uncheckable(f"{option!r:.80} is accepted for {parameter!r}, where a list of objects is meant")
        if len(value) != len(option):
            words = f"{parameter!r} must have {len(option)} members: {value!r:.200}"
            verdict = invalid("value_error:list_dict_count", words)
            continue
        # Upstream raises where a member is not an object: its type check does not look inside this list.
        checks = (
            _check_object(parameter, member, [accepted])
            if isinstance(member, dict)
            else _wrong_type("nested", parameter, member, "dict")
            for member, accepted in zip(value, option, strict=True)
        )
        verdict = next((found for found in checks if found is not None), None)
        if verdict is None:
            return None
    return verdict


def _check_object(parameter: str, value: dict[str, Any], options: Any) -> Verdict | None:
    """An object: one option must fit. The last option's failure is the verdict."""
    verdict = invalid("dict_checker:unclear", f"parameter {parameter!r} has no accepted object")
    for option in options:
        if option == "":
            continue
        if not isinstance(option, dict):
            raise uncheckable(f"{option!r:.80} is accepted for {parameter!r}, where an object is meant")
        wrong = _wrong_entry(value, option)
        if wrong is None:
            return None
        verdict = wrong
    return verdict


def _wrong_entry(value: dict[str, Any], option: dict[str, Any]) -> Verdict | None:
    for key, accepted in option.items():
        if not isinstance(accepted, (list, str, dict)):
            raise uncheckable(f"{accepted!r:.80} is accepted for key {key!r}, where a list of values is meant")
        if key not in value and "" not in accepted:
            return invalid("value_error:dict_key", f"missing key {key!r}")
    for key, entry in value.items():
        if key not in option:
            return invalid("value_error:dict_key", f"unexpected key {key!r}")
        if folded(entry) not in _folded_items(option[key]):
            return invalid("value_error:dict_value", _not_among(key, entry, option[key]))
    return None


def _folded_items(option: Any) -> list[object]:
    if isinstance(option, (list, str)):
        return [folded(item) for item in option]
    if option == {}:
        return []
    raise uncheckable(f"{option!r:.80} is accepted where a list is meant")


def _not_among(parameter: str, value: object, options: object) -> str:
    return f"{value!r:.200} is not an accepted value of {parameter!r}: {options!r:.200}"
