"""The problems and warnings of one config file, reported at once, and the words for them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from vendor_verifier.config.secret_text import abbreviated, holds_secret, shown
from vendor_verifier.config.yaml_source import KeyPath, Source
from vendor_verifier.errors import ConfigError, Problem

Shape = TypeVar("Shape", bound=BaseModel)
# What other tools call our keys.
_OTHER_WORDS = {
    "base_url": "url", "api_base": "url", "endpoint": "url", "model": "model_id", "key": "api_key",
    "headers": "extra_headers", "requests_per_minute": "rpm",
}  # fmt: skip


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


class Findings:
    """Problems and warnings of one file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.warnings: list[str] = []
        self.problems: dict[Problem, None] = {}

    def problem(self, path: KeyPath, message: str) -> None:
        """Add a problem that must be mended, at the key ``path``."""
        self.problems[self.source.place(path, message)] = None

    def warn(self, path: KeyPath, message: str) -> None:
        """Add a warning about something that is allowed but doubtful."""
        self.warnings.append(str(self.source.place(path, message)))

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems that others found: in this file, in another one or on the command line."""
        self.problems |= dict.fromkeys(problems)

    def stop_on_problems(self) -> None:
        """Raise ConfigError with every problem, in the order of the file, if there is any."""
        if self.problems:
            file = self.source.file
            raise ConfigError(sorted(self.problems, key=lambda each: (each.file != file, each.line or 0)))

    def fitted(self, kind: type[Shape], path: KeyPath, content: Any) -> Shape | None:
        """``content`` as ``kind``; None where it does not fit, and every reason is a problem."""
        try:
            return kind.model_validate(content)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                # What pydantic calls a key of a mapping.
                place = [step for step in each["loc"] if step != "[key]"]
                self.problem((*path, *place), misfit(each, kind))
        return None


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
