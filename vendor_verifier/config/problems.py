"""The problems and warnings of one config file, reported at once, and the words for them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vendor_verifier.config.env_file import abbreviated, holds_secret, shown
from vendor_verifier.config.run_config import RunConfig
from vendor_verifier.config.schema import ModelSection, Price, Settings, VendorEntry
from vendor_verifier.config.yaml_source import Path as KeyPath
from vendor_verifier.config.yaml_source import Source
from vendor_verifier.errors import ConfigError, Problem

Shape = TypeVar("Shape", bound=BaseModel)
_MAPPING = "a mapping (`key: value` lines)"
# By pydantic's type of error; the braces are its bounds.
_EXPECTED: Mapping[str, str] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_type": "`true` or `false`, without quotes",
    "bool_parsing": "`true` or `false`, without quotes",
    "literal_error": "{expected}",
    "tuple_type": "a list (lines that start with `- `)",
    "path_type": "a path",
    "list_type": "a list (lines that start with `- `)",
    "dict_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "string_too_short": "something between the quotes",
    "string_too_long": "at most {max_length} characters",
    "too_short": "at least one vendor",
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "string_pattern_mismatch": 'three capital letters such as "USD" or "CNY"',
}
_PARTS: tuple[tuple[type[BaseModel], str], ...] = (
    (ModelSection, "a model"),
    (VendorEntry, "a vendor entry"),
    (Settings, "defaults"),
    (Price, "price"),
    (RunConfig, "run"),
)

# What other tools call our keys.
_OTHER_WORDS = {
    "base_url": "url", "api_base": "url", "endpoint": "url", "model": "model_id", "key": "api_key",
    "headers": "extra_headers",
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


class Findings:
    """Problems and warnings of one file; what the YAML reader refused is not judged again."""

    def __init__(self, file: Path, source: Source) -> None:
        self.file = file
        self.source = source
        self.warnings: list[str] = []
        self._problems: dict[Problem, None] = {}
        self._elsewhere: list[Problem] = []
        self._flawed = {flaw.path for flaw in source.flaws}
        for flaw in source.flaws:
            self._problems[Problem(flaw.message, file, flaw.line, key_text(flaw.path) or None)] = None

    def problem(self, path: KeyPath, message: str) -> None:
        """Add a problem that must be mended, at the key ``path``."""
        if path not in self._flawed:
            self._problems[Problem(message, self.file, self.source.line(path), key_text(path) or None)] = None

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems that others found: in this file, in another one or on the command line."""
        for problem in problems:
            if problem.file == self.file:
                self._problems[problem] = None
            else:
                self._elsewhere.append(problem)

    def warn(self, path: KeyPath, message: str) -> None:
        """Add a warning about something that is allowed but doubtful."""
        self.warnings.append(str(Problem(message, self.file, self.source.line(path), key_text(path) or None)))

    def stop_on_problems(self) -> None:
        """Raise ConfigError with every problem, in the order of the file, if there is any."""
        problems = sorted(self._problems, key=lambda problem: problem.line or 0) + self._elsewhere
        if problems:
            raise ConfigError(problems)

    def has_problems(self) -> bool:
        """Whether anything was refused so far."""
        return bool(self._problems or self._elsewhere)

    def fitted(self, kind: type[Shape], path: KeyPath, content: Any) -> tuple[Shape | None, frozenset[str]]:
        """``content`` as ``kind``, and the names of its keys that did not fit: they are problems, and left out.

        None when nothing remains to go on with.
        """
        try:
            return kind.model_validate(content), frozenset()
        except ValidationError as error:
            found = error.errors(include_url=False)
        for each in found:
            self.problem((*path, *each["loc"]), misfit(each, kind))
        bad = frozenset(str(each["loc"][0]) for each in found if each["loc"])
        if not isinstance(content, dict):
            return None, bad
        rest = {key: value for key, value in content.items() if key not in bad}
        headers = content.get("extra_headers")
        if "extra_headers" in bad and isinstance(headers, dict):
            # The headers that fit stay, because they may hold secrets to refuse.
            rest["extra_headers"] = {key: value for key, value in headers.items() if isinstance(value, str)}
        try:
            return kind.model_validate(rest), bad
        except ValidationError:
            return None, bad


def misfit(error: Mapping[str, Any], kind: type[BaseModel]) -> str:
    """One of pydantic's errors in our words: what was read, what was expected."""
    path, read = tuple(error["loc"]), error["input"]
    name = str(path[-1]) if path else ""
    if error["type"] == "missing":
        return f"`{name}` is missing"
    if error["type"] == "extra_forbidden":
        owner = Price if len(path) > 1 and path[-2] == "price" else kind
        if owner is Settings and name in VendorEntry.model_fields:
            return f"`{name}` belongs to one vendor entry, not to defaults"
        where = next((words for part, words in _PARTS if issubclass(owner, part)), "run")
        return (
            f"unknown key in {where}{nearest(name, owner.model_fields) or '; known are ' + listed(owner.model_fields)}"
        )
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    expected = _EXPECTED[error["type"]].format(**error.get("ctx", {}))
    if read is None:
        return f"empty; expected {expected}"
    quotes = "; write it in quotes" if error["type"] == "string_type" and isinstance(read, (bool, int, float)) else ""
    return f"read {described(read, path)}; expected {expected}{quotes}"


def described(value: Any, path: KeyPath) -> str:
    """A value of the file as a message shows it; where a key may be, three characters of it at most."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = abbreviated(str(value)) if holds_secret(path) else shown(str(value))
    return f"the text {text}" if isinstance(value, str) else text
