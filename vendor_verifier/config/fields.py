"""The keys that a part of config.yaml may hold, declared as fields of a dataclass, and which values do not fit them.

It says what is expected of a value; it neither quotes what was read nor knows where in the file that stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal

Kind = Literal["text", "whole number", "number", "switch", "mapping", "texts", "list", "anything"]
Trouble = Literal["missing", "unknown", "not text", "unfit"]

_WORDS: Mapping[Kind, str] = {
    "text": "text",
    "whole number": "a whole number",
    "number": "a number",
    "switch": "`true` or `false`, without quotes",
    "mapping": "a mapping (`key: value` lines)",
    "texts": "a mapping (`key: value` lines)",
    "list": "a list (lines that start with `- `)",
}
_TYPES: Mapping[Kind, tuple[type, ...]] = {
    "text": (str,),
    "whole number": (int,),
    "number": (int, float),
    "switch": (bool,),
    "mapping": (dict,),
    "texts": (dict,),
    "list": (list,),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What one key may hold. ``at_least``, ``at_most`` and ``above`` bound a number, or the length of a text or list.

    ``form`` is what a text must match as a whole; ``words`` say both better than they would say themselves. ``keys``
    are those of a mapping, where they are known.
    """

    kind: Kind
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    form: str | None = None
    words: str | None = None
    keys: type | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that does not fit, at ``path`` below the part that was held against its fields."""

    path: tuple[str, ...]
    trouble: Trouble
    expected: str = ""


def key(
    kind: Kind,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    form: str | None = None,
    words: str | None = None,
    keys: type | None = None,
    required: bool = False,
    secret: bool = False,
) -> Any:
    """A field of a part of the file: absent it is ``None``, unless ``required``; ``secret`` is kept out of reprs."""
    rule = Rule(kind, at_least, at_most, above, form, words, keys, required)
    if required:
        return field(repr=not secret, metadata={"rule": rule})
    return field(default=None, repr=not secret, metadata={"rule": rule})


@cache
def rules_of(part: type) -> Mapping[str, Rule]:
    """The keys of a part of the file, in their order."""
    return {each.name: each.metadata["rule"] for each in fields(part)}


def fit(part: type, content: Any) -> tuple[dict[str, Any], list[Misfit]]:
    """The values of ``content`` that are set and fit, numbers as floats, and everything that does not fit."""
    if not isinstance(content, dict):
        return {}, [Misfit((), "unfit", _WORDS["mapping"])]
    rules, values, misfits = rules_of(part), {}, []
    for name, rule in rules.items():
        value = content.get(name)
        if name not in content:
            misfits += [Misfit((name,), "missing")] if rule.required else []
        elif value is not None or rule.required:
            values[name], found = _read(rule, value)
            misfits += [Misfit((name, *misfit.path), misfit.trouble, misfit.expected) for misfit in found]
    return values, misfits + [Misfit((name,), "unknown") for name in content if name not in rules]


def _read(rule: Rule, value: Any) -> tuple[Any, list[Misfit]]:
    if rule.keys is not None:
        return fit(rule.keys, value)
    expected = _expected(rule, value)
    if expected is not None:
        return None, [Misfit((), "not text" if rule.kind == expected == "text" else "unfit", expected)]
    if rule.kind == "texts":
        return value, [Misfit((name,), "not text", "text") for name, text in value.items() if not isinstance(text, str)]
    return float(value) if rule.kind == "number" else value, []


def _expected(rule: Rule, value: Any) -> str | None:
    """What is wanted in place of ``value``; ``None`` when it fits."""
    if rule.kind == "anything":
        return None
    # By the very type: to Python, true is a whole number.
    if type(value) not in _TYPES[rule.kind]:
        return _range(rule) or _WORDS[rule.kind]
    if isinstance(value, float) and not math.isfinite(value):
        return _range(rule) or "a finite number"
    if isinstance(value, str) and rule.form is not None and not re.fullmatch(rule.form, value):
        return rule.words or "another text"
    missed = _missed_bound(rule, len(value) if isinstance(value, str | list) else value)
    return missed and (rule.words or _range(rule) or missed)


def _missed_bound(rule: Rule, size: Any) -> str | None:
    if rule.at_most is not None and size > rule.at_most:
        return f"at most {rule.at_most:g}" + (" characters" if rule.kind == "text" else "")
    if rule.at_least is not None and size < rule.at_least:
        return "something between the quotes" if rule.kind == "text" else f"at least {rule.at_least:g}"
    if rule.above is not None and size <= rule.above:
        return f"more than {rule.above:g}"
    return None


def _range(rule: Rule) -> str | None:
    if rule.kind != "number" or rule.at_least is None or rule.at_most is None:
        return None
    return f"a number from {rule.at_least:g} to {rule.at_most:g}"
