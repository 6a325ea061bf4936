"""The problems and warnings of one config file, reported at once, and the words for them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from vendor_verifier.config.secret_text import abbreviated, holds_secret, shown
from vendor_verifier.config.yaml_source import Path as KeyPath
from vendor_verifier.config.yaml_source import Source, SourceError
from vendor_verifier.errors import ConfigError, Problem

Shape = TypeVar("Shape", bound=BaseModel)
# What other tools call our keys.
_OTHER_WORDS = {
    "base_url": "url", "api_base": "url", "endpoint": "url", "model": "model_id", "key": "api_key",
    "headers": "extra_headers", "requests_per_minute": "rpm",
}  # fmt: skip


def key_text(path: tuple[str | int, ...]) -> str:
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


@contextmanager
def reading(file: Path, missing: str = "no such file") -> Iterator[None]:
    """Turn what is wrong with a file as a whole into a ConfigError."""
    try:
        yield
    except FileNotFoundError:
        raise ConfigError([Problem(missing, file)]) from None
    except OSError as error:
        raise ConfigError([Problem(f"cannot be read: {error.strerror}", file)]) from None
    except SourceError as error:
        raise ConfigError([Problem(error.message, file, error.line, key_text(error.path) or None)]) from None


class Findings:
    """Problems and warnings of one file."""

    def __init__(self, file: Path, source: Source) -> None:
        self.file = file
        self.source = source
        self.warnings: list[str] = []
        self.problems: dict[Problem, None] = {}

    def place(self, path: KeyPath, message: str = "") -> Problem:
        """A problem at the key ``path`` of the file."""
        return Problem(message, self.file, self.source.line(path), key_text(path) or None)

    def problem(self, path: KeyPath, message: str) -> None:
        """Add a problem that must be mended, at the key ``path``."""
        self.problems[self.place(path, message)] = None

    def warn(self, path: KeyPath, message: str) -> None:
        """Add a warning about something that is allowed but doubtful."""
        self.warnings.append(str(self.place(path, message)))

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems that others found: in this file, in another one or on the command line."""
        self.problems |= dict.fromkeys(problems)

    def stop_on_problems(self) -> None:
        """Raise ConfigError with every problem, in the order of the file, if there is any."""
        if self.problems:
            raise ConfigError(sorted(self.problems, key=lambda each: (each.file != self.file, each.line or 0)))

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
        known = kind.model_fields
        for step in path[:-1]:
            known = next(each.model_fields for each in get_args(known[step].annotation) if each is not type(None))
        return f"unknown key{nearest(name, known) or '; known are ' + listed(known)}"
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
