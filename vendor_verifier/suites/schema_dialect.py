"""Tool schemas in the usual dialects of JSON Schema, translated into JSON Schema 2020-12.

OpenAPI's ``nullable``, the type names of Python and of other cases, draft 4's ``exclusiveMinimum: true`` and draft 7's
tuples are written every day without the ``$schema`` that would allow them.
"""

from __future__ import annotations

from typing import Any

# JSON Schema's name of each type name of a dialect, in lower case; None stands for any type.
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
# The keywords that can refuse null; those that describe an object, a list or a text do not apply to it.
_MAY_REFUSE_NULL = ("$ref", "$dynamicRef", "const", "allOf", "anyOf", "oneOf", "not", "if", "then", "else")


def standard_schema(schema: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The schema in the words of 2020-12, and the words of a dialect that were translated.

    A schema that names its draft is taken at its word, except for type names and ``nullable``, which no draft has.
    """
    words: set[str] = set()
    made = _translated(schema, words, has_draft="$schema" in schema)
    return (made, tuple(sorted(words))) if words else (schema, ())


def _translated(node: Any, words: set[str], *, has_draft: bool) -> Any:
    if isinstance(node, list):
        return [_translated(item, words, has_draft=has_draft) for item in node]
    if not isinstance(node, dict):
        return node
    made: dict[str, Any] = {}
    for word, value in node.items():
        if word in _BY_NAME and isinstance(value, dict):
            made[word] = {name: _translated(one, words, has_draft=has_draft) for name, one in value.items()}
        else:
            made[word] = value if word in _VALUES else _translated(value, words, has_draft=has_draft)
    stated = made.get("type")
    names = [name for name in (stated if isinstance(stated, list) else [stated]) if isinstance(name, str)]
    meant = [_TYPES.get(name.lower(), name) for name in names]
    words.update(f"type {name}" for name, other in zip(names, meant, strict=True) if name != other)
    if None in meant:
        del made["type"]
    elif meant != names:
        made["type"] = list(dict.fromkeys(meant)) if isinstance(stated, list) else meant[0]
    if not has_draft:
        _translate_drafts(made, words)
    if made.get("nullable") is True:
        del made["nullable"]
        words.add("nullable")
        _allow_null(made)
    return made


def _allow_null(made: dict[str, Any]) -> None:
    """``nullable`` in JSON Schema's words: what may refuse null moves into an alternative to it."""
    if "type" in made:
        stated = made["type"] if isinstance(made["type"], list) else [made["type"]]
        made["type"] = [*(name for name in stated if name != "null"), "null"]
    if isinstance(made.get("enum"), list) and None not in made["enum"]:
        made["enum"] = [*made["enum"], None]
    if refusing := {word: made.pop(word) for word in _MAY_REFUSE_NULL if word in made}:
        made["anyOf"] = [refusing, {"type": "null"}]


def _translate_drafts(made: dict[str, Any], words: set[str]) -> None:
    """The keywords of older drafts that 2020-12 does not allow."""
    for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(exclusive), bool):
            words.add(f"{exclusive}: {str(made[exclusive]).lower()}")
            if made.pop(exclusive) and inclusive in made:
                made[exclusive] = made.pop(inclusive)
    if isinstance(made.get("items"), list):
        words.add("items: [...]")
        made["prefixItems"] = made.pop("items")
        if "additionalItems" in made:
            made["items"] = made.pop("additionalItems")
