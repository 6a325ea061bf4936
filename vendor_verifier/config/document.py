"""Small text files of the user: YAML as plain values with the line of each key, .env, and the words for what is wrong.

Risks are tags, aliases that blow up or loop, deep nesting, a key given twice and large files. Numbers are read as YAML
1.2 has them, so dates, ``0123`` and ``12:30`` are text.
"""

from __future__ import annotations

import difflib
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from vendor_verifier.config.secret_text import abbreviated, holds_secret, is_placeholder, shown
from vendor_verifier.errors import ConfigError, Problem

KeyPath = tuple[str | int, ...]
Shape = TypeVar("Shape", bound=BaseModel)
_MAX_BYTES = 1_000_000
_MAX_DEPTH = 40
_MAX_NODES = 20_000
_MOST_LISTED = 20
_TAG = "tag:yaml.org,2002:"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
# What pydantic says, and we do.
_OUR_WORDS = {
    "Input should be": "expected",
    "a valid tuple": "a list",
    "a valid list": "a list",
    "a valid dictionary": "a mapping",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "greater than or equal to": "a number of at least",
    "less than or equal to": "a number of at most",
    "greater than": "a number above",
}
_SURROGATE = re.compile("[\ud800-\udfff]")


def refusal(file: Path, message: str, line: int | None = None, path: KeyPath = ()) -> ConfigError:
    """The error of a file that cannot be read as a whole; ``line`` counts from 1."""
    return ConfigError([Problem(message, file, line, key_text(path) or None)])


def read_text(file: Path, missing: str = "no such file") -> str:
    """The text of a small UTF-8 file.

    Raises:
        ConfigError: it is ``missing``, cannot be opened, is too large or not UTF-8.
    """
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise refusal(file, missing) from None
    except OSError as error:
        raise refusal(file, f"cannot be read: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise refusal(file, "larger than 1 MB; check that this is the right file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refusal(file, "not UTF-8 text; save the file as UTF-8", line) from None


def read_environment() -> Mapping[str, str]:
    """A copy of the process environment: the one place that touches it."""
    return dict(os.environ)


@dataclass(frozen=True, slots=True)
class Variables:
    """Values of keys and headers by name. ``env_file`` is where a missing one should be written.

    An empty value or a placeholder counts as absent. ``unread`` are the warnings of lines that are no variable.
    """

    env_file: Path
    values: Mapping[str, str] = field(repr=False)
    placeholders: frozenset[str] = frozenset()
    file_names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def read_variables(config_path: Path, env_file: Path | None, environ: Mapping[str, str]) -> Variables:
    """Merge ``environ`` over the env file: the given one, or ``.env`` next to the config if there is one.

    Raises:
        ConfigError: the env file cannot be read.
    """
    path = env_file if env_file is not None else config_path.parent / ".env"
    from_file: dict[str, str] = {}
    warnings: list[str] = []
    unread: list[str] = []
    if env_file is not None or path.exists():
        how = "no such file; copy .env.example, or leave --env-file out to use the environment alone"
        from_file, bad_lines = parse_env(read_text(path, how))
        mode = path.stat().st_mode & 0o777
        # Windows has no such mode.
        if mode & 0o077 and os.name != "nt":
            words = f"others on this machine may read the keys in it (mode {mode:04o}); run: chmod 600 {path}"
            warnings.append(f"{path}: {words}")
        unread = [f"{path}:{line}: not read; expected NAME=value" for line in bad_lines]
    stated = [*from_file.items(), *environ.items()]
    values = {name: value.strip() for name, value in stated if not is_placeholder(value)}
    missing = {name for name, _ in stated} - values.keys()
    return Variables(path, values, frozenset(missing), tuple(from_file), (*warnings, *unread), tuple(unread))


def parse_env(text: str) -> tuple[dict[str, str], list[int]]:
    """Values by name, and the lines that hold none. The parser is the one behind ``dotenv_values``, which only logs."""
    # For those who have such a file.
    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    bad_lines: list[int] = []
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            skipped = binding.original.string
            blank = skipped[: len(skipped) - len(skipped.lstrip())]
            bad_lines.append(binding.original.line + blank.count("\n"))
        elif binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values, bad_lines


@dataclass(slots=True)
class Document:
    """A file's values, the line of each key and list item by path, and what is wrong with it."""

    file: Path
    content: Any = field(default=None, repr=False)
    lines: dict[KeyPath, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: KeyPath, message: str = "") -> Problem:
        """A problem at the key ``path`` of the file, on its line or that of its nearest ancestor."""
        above = (path[:end] for end in range(len(path), -1, -1))
        line = next((self.lines[each] for each in above if each in self.lines), None)
        return Problem(message, self.file, line, key_text(path) or None)

    def problem(self, path: KeyPath, message: str) -> None:
        """Add a problem that must be fixed, at the key ``path``."""
        self.problems.append(self.place(path, message))

    def warn(self, path: KeyPath, message: str) -> None:
        """Add a warning about something that is allowed but doubtful."""
        self.warnings.append(str(self.place(path, message)))

    def stop_on_problems(self) -> None:
        """Raise the error with every problem once, in the order of the file, if there is any."""
        if self.problems:
            unique = dict.fromkeys(self.problems)
            raise ConfigError(sorted(unique, key=lambda each: (each.file != self.file, each.line or 0)))

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


class _Loader(yaml.SafeLoader):
    """SafeLoader with the numbers of YAML 1.2; its own resolvers read dates and octal numbers."""

    yaml_implicit_resolvers = {}  # noqa: RUF012


_FLOAT = (
    r"[-+]?(?:\.(?:inf|nan)|(?:0|[1-9][0-9]*)\.[0-9]*(?:e[-+]?[0-9]+)?|\.[0-9]+(?:e[-+]?[0-9]+)?"
    r"|(?:0|[1-9][0-9]*)e[-+]?[0-9]+)"
)
# By kind of plain scalar: its spelling and its conversion.
_SCALARS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "merge": ("<<", str),
    "null": ("~|null|", lambda _text: None),
    "bool": ("yes|no|true|false|on|off", lambda text: text.lower() in ("yes", "true", "on")),
    "int": ("[-+]?(?:0|[1-9][0-9]*)", int),
    "float": (_FLOAT, float),
    "str": (".+", str),
}
for _kind, (_pattern, _) in _SCALARS.items():
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$", re.IGNORECASE), None)


def compose(text: str, file: Path) -> yaml.Node | None:
    """The root node of one document, None when it is empty.

    Raises:
        ConfigError: it is not YAML, or too deep or too large.
    """
    try:
        return _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ": ".join(part for part in (error.context, error.problem) if part) or "it cannot be parsed"
        # The parser quotes pieces of the text, which may be a key.
        brief = _QUOTED.sub(lambda match: match[0] if len(match[0]) < 6 or match[0][1] == "<" else "…", message)
        raise refusal(file, f"not valid YAML: {brief}", mark.line + 1 if mark else None) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise refusal(file, "a character that YAML does not allow; remove it", line) from None
    except RecursionError:
        raise refusal(file, "nested too deeply") from None
    except (ValueError, OverflowError):
        # The scanner itself fails on an escape beyond the last character; its mark is lost by then.
        raise refusal(file, 'an escape in double quotes ("\\U…") that is no character') from None


def read_yaml(text: str, file: Path) -> Document:
    """Read one document.

    Raises:
        ConfigError: it is not YAML, too deep or too large once its aliases are written out, or holds what is refused.
    """
    root = compose(text, file)
    reader = _Reader(file, lines={(): 1})
    if root is not None:
        reader.content = reader.value(root, ())
    return reader


@dataclass(slots=True)
class _Reader(Document):
    """Turns composed nodes into values; aliases are written out, which the number of nodes bounds."""

    visited: int = 0

    def value(self, node: yaml.Node, path: KeyPath) -> Any:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.visited += 1
        if self.visited > _MAX_NODES or len(path) > _MAX_DEPTH:
            words = "aliases that expand without end, or a file far too large; write the values out"
            raise refusal(self.file, words, line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, place)) for place, item in enumerate(node.value)]
        kind = str(node.tag).removeprefix(_TAG)
        if kind not in _SCALARS:
            raise refusal(self.file, "YAML tags are not supported; remove the tag and quote the value", line, path)
        try:
            value = _SCALARS[kind][1](node.value)
        except ValueError:
            value = math.inf
        if isinstance(value, (int, float)) and not abs(value) <= 2**63:
            raise refusal(self.file, "a number that cannot be sent; quote it if it is text", line, path)
        if isinstance(value, str) and _SURROGATE.search(value):
            raise refusal(self.file, "half a character (a lone surrogate); remove it", line, path)
        return value

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        brought: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _TAG + "merge":
                value = self.value(value_node, path)
                # The first of several sources wins.
                for each in reversed(value if isinstance(value, list) else [value]):
                    if not isinstance(each, dict):
                        raise refusal(self.file, "`<<` takes a mapping or a list of mappings", line, path)
                    brought |= each
                continue
            key = self.value(key_node, (*path, "")) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str) or not key:
                raise refusal(self.file, "a key must be text; put this one in quotes", line, path)
            here = (*path, key)
            if key in found:
                words = f"the key is given twice, first on line {self.lines[here]}; keep one of them"
                raise refusal(self.file, words, line, here)
            self.lines[here] = line
            found[key] = self.value(value_node, here)
        return {**brought, **found}


def key_text(path: KeyPath) -> str:
    """A path as a message names it: ``minimax-m2.5.vendors[0].url``; a key of the file that looks secret is cut."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{shown(step).strip('`')}"
    return text


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean `x`?)`` for the nearest known word, else the empty text."""
    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word[:100].casefold(), folded, n=1, cutoff=0.6)
    return f" (did you mean {shown(folded[close[0]])}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names as a message lists them."""
    return ", ".join(shown(name) for name in names)


def misfit(error: Mapping[str, Any], kind: type[BaseModel] = BaseModel) -> str:
    """One of pydantic's errors in our words: what was read, what was expected."""
    path, read = tuple(error["loc"]), error["input"]
    name = str(path[-1]) if path else ""
    if error["type"] == "missing":
        return f"`{name}` is missing"
    if error["type"] == "extra_forbidden":
        for step in path[:-1]:
            # A step that is not a field is a key of a mapping, or the place in a list.
            field = kind.model_fields.get(step)
            shapes = (field.annotation, *get_args(field.annotation)) if field else ()
            kind = next((each for each in shapes if isinstance(each, type) and issubclass(each, BaseModel)), kind)
        known = kind.model_fields
        there = listed(known) if len(known) <= _MOST_LISTED else "in config.schema.json, which `init` writes"
        return f"unknown key{nearest(name, known) or '; known are ' + there}"
    if error["type"] == "too_short":
        return f"the list is empty; name at least one {name.removesuffix('s')}"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "model_type" and error["ctx"]["class_name"] == "ModelSection":
        return f"read {described(read, path)}; expected `vendors:` under the model (check the indentation)"
    quotes = "; write it in quotes" if error["type"] == "string_type" and isinstance(read, (bool, int, float)) else ""
    expected = re.split(" or instance of |, unable to parse|, got a number", str(error["msg"]))[0]
    for theirs, ours in _OUR_WORDS.items():
        expected = expected.replace(theirs, ours, 1)
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
