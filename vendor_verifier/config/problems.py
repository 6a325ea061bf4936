"""The words for what is wrong in a file of the user."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from vendor_verifier.config.secret_text import abbreviated, holds_secret, shown

KeyPath = tuple[str | int, ...]
# What other tools call our keys.
_OTHER_WORDS = {
    "base_url": "url", "api_base": "url", "endpoint": "url", "model": "model_id", "key": "api_key",
    "headers": "extra_headers", "requests_per_minute": "rpm",
}  # fmt: skip


def key_text(path: KeyPath) -> str:
    """A path as a message names it: ``minimax-m2.5.vendors[0].url``; a key of the file that looks secret is cut."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{shown(step).strip('`')}"
    return text


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean `x`?)`` for the nearest known word, else the empty text."""
    names = list(known)
    if _OTHER_WORDS.get(word) in names:
        return f" (did you mean {shown(_OTHER_WORDS[word])}?)"
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word[:100].casefold(), folded, n=1, cutoff=0.6)
    return f" (did you mean {shown(folded[close[0]])}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names as a message lists them."""
    return ", ".join(shown(name) for name in names)


def misfit(error: Mapping[str, Any], kind: type[BaseModel]) -> str:
    """One of pydantic's errors in our words: what was read, what was expected."""
    path, read = tuple(error["loc"]), error["input"]
    name = str(path[-1]) if path else ""
    if error["type"] == "missing":
        return f"`{name}` is missing"
    if error["type"] == "extra_forbidden":
        for step in path[:-1]:
            # A step that is no field is a key of a mapping, or the place in a list.
            field = kind.model_fields.get(step)
            shapes = (field.annotation, *get_args(field.annotation)) if field else ()
            kind = next((each for each in shapes if isinstance(each, type) and issubclass(each, BaseModel)), kind)
        return f"unknown key{nearest(name, kind.model_fields) or '; known are ' + listed(kind.model_fields)}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    quotes = "; write it in quotes" if error["type"] == "string_type" and isinstance(read, (bool, int, float)) else ""
    words = str(error["msg"])
    expected = words.replace("Input should be", "expected", 1).replace("dictionary", "mapping")
    return f"read {described(read, path)}; {expected[:1].lower()}{expected[1:]}{quotes}"


def described(value: Any, path: KeyPath) -> str:
    """A value of the file as a message shows it; where a key may be, three characters of it at most."""
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = abbreviated(str(value)) if holds_secret(path) else shown(str(value))
    return f"the text {text}" if isinstance(value, str) else text
