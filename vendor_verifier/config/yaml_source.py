"""YAML text as plain values with the line of each key; everything risky is refused.

Risky are tags, aliases that blow up or loop, deep nesting, a key given twice and large files. Numbers are read as YAML
1.2 has them, so dates, ``0123`` and ``12:30`` are text.
"""

from __future__ import annotations

import math
import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

Path = tuple[str | int, ...]
MAX_BYTES = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 20_000
_TAG = "tag:yaml.org,2002:"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_SURROGATE = re.compile("[\ud800-\udfff]")


class SourceError(Exception):
    """The text is not what this product reads; ``line`` is 1-based, ``None`` when no line can be named."""

    def __init__(self, message: str, line: int | None = None, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.path = path


def read_limited(path: pathlib.Path) -> str:
    """The text of a small UTF-8 file. Raises OSError, or SourceError when it is too large or not UTF-8."""
    with path.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SourceError("larger than 1 MB; this is surely not the file that was meant")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError("not UTF-8 text; save the file as UTF-8", line) from None


@dataclass(slots=True)
class Source:
    """A document: its values, and the line of each key and list item by path."""

    content: Any = field(default=None, repr=False)
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int | None:
        """The line of ``path``, or of its nearest ancestor in the file."""
        return next((self.lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.lines), None)


class _Loader(yaml.SafeLoader):
    """SafeLoader with the numbers of YAML 1.2, bounded in depth and number of nodes."""

    # No resolvers of SafeLoader, which reads dates and octal numbers; those wanted follow.
    yaml_implicit_resolvers = {}  # noqa: RUF012
    depth = nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
        self.depth, self.nodes = self.depth + 1, self.nodes + 1
        if self.depth > MAX_DEPTH:
            raise SourceError(f"nested more than {MAX_DEPTH} levels deep", line)
        if self.nodes > MAX_NODES:
            raise SourceError(f"more than {MAX_NODES} values; this is surely not the file that was meant", line)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


_NUMBER = r"[-+]?(?:\.(?:inf|nan)|(?:0|[1-9][0-9]*)\.[0-9]*(?:e[-+]?[0-9]+)?|\.[0-9]+(?:e[-+]?[0-9]+)?"
for _kind, _pattern in (
    ("merge", "<<"),
    ("null", "~|null|"),
    ("bool", "yes|no|true|false|on|off"),
    ("int", "[-+]?(?:0|[1-9][0-9]*)"),
    ("float", _NUMBER + "|(?:0|[1-9][0-9]*)e[-+]?[0-9]+)"),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(f"^(?:{_pattern})$", re.IGNORECASE), None)
_CONSTRUCTED: Mapping[str, Callable[[str], Any]] = {
    "null": lambda _text: None,
    "bool": lambda text: text.lower() in ("yes", "true", "on"),
    "int": int,
    "float": float,
    "str": str,
}


def compose(text: str) -> yaml.Node | None:
    """The root node of one document, None when it is empty.

    Raises:
        SourceError: it is not YAML, or too deep or too large.
    """
    try:
        return _Loader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = ": ".join(part for part in (error.context, error.problem) if part) or "it cannot be parsed"
        # The parser quotes pieces of the text, which may be a key.
        brief = _QUOTED.sub(lambda match: match[0] if len(match[0]) < 6 or match[0][1] == "<" else "…", message)
        raise SourceError(f"not valid YAML: {brief}", mark.line + 1 if mark else None) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SourceError("a character that YAML does not allow; remove it", line) from None
    except (ValueError, OverflowError):
        # The scanner itself fails on an escape beyond the last character; its mark is lost by then.
        raise SourceError('an escape in double quotes ("\\U…") that is no character') from None


def read_yaml(text: str) -> Source:
    """Read one document.

    Raises:
        SourceError: it is not YAML, too deep or too large once its aliases are written out, or holds what is refused.
    """
    root = compose(text)
    reader = _Reader()
    reader.source.lines[()] = 1
    if root is not None:
        reader.source.content = reader.value(root, ())
    return reader.source


class _Reader:
    """Turns composed nodes into values; aliases are written out, which the number of nodes bounds."""

    def __init__(self) -> None:
        self.source = Source()
        self._visited = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        line = node.start_mark.line + 1
        self.source.lines.setdefault(path, line)
        self._visited += 1
        if self._visited > MAX_NODES or len(path) > MAX_DEPTH:
            raise SourceError("aliases that expand without end, or a file far too large; write the values out", line)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, place)) for place, item in enumerate(node.value)]
        construct = _CONSTRUCTED.get(str(node.tag).removeprefix(_TAG))
        if construct is None:
            raise SourceError("YAML tags are not read; remove the tag and quote the value", line, path)
        try:
            value = construct(node.value)
        except ValueError:
            value = math.inf
        if isinstance(value, (int, float)) and not abs(value) <= 2**63:
            raise SourceError("no number that can be sent; quote it if text is meant", line, path)
        if isinstance(value, str) and _SURROGATE.search(value):
            raise SourceError("half a character (a lone surrogate); remove it", line, path)
        return value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        brought: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _TAG + "merge":
                value = self.value(value_node, path)
                # The first of several sources wins.
                for each in reversed(value if isinstance(value, list) else [value]):
                    if not isinstance(each, dict):
                        raise SourceError("`<<` takes a mapping or a list of mappings", line, path)
                    brought |= each
                continue
            key = self.value(key_node, (*path, "")) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str) or not key:
                raise SourceError("a key must be text; put this one in quotes", line, path)
            if key in found:
                first = self.source.lines[*path, key]
                raise SourceError(
                    f"the key is given twice, first on line {first}; keep one of them", line, (*path, key)
                )
            self.source.lines[*path, key] = line
            found[key] = self.value(value_node, (*path, key))
        return {**brought, **found}
