"""YAML text as plain values with the line of each key; everything risky is refused.

Risky are tags, aliases that blow up or loop, deep nesting, a key given twice and large files. Numbers are read as YAML
1.2 has them, so dates, ``0123`` and ``12:30`` are text.
"""

from __future__ import annotations

import math
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
    """The text is not YAML that this product reads; ``line`` is 1-based, ``None`` when no line can be named."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something refused at one place; reading goes on behind it."""

    path: Path
    line: int
    message: str


@dataclass(slots=True)
class Source:
    """A document: its values, the line of each key and list item by path, and its flaws."""

    content: Any = field(default=None, repr=False)
    lines: dict[Path, int] = field(default_factory=dict)
    flaws: list[Flaw] = field(default_factory=list)

    def line(self, path: Path) -> int | None:
        """The line of ``path``, or of its nearest ancestor in the file."""
        return next((self.lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.lines), None)


class _Loader(yaml.SafeLoader):
    """SafeLoader with the numbers of YAML 1.2, bounded in depth and number of nodes."""

    # No resolvers of SafeLoader, which reads dates and octal numbers; those wanted follow.
    yaml_implicit_resolvers = {}  # noqa: RUF012
    depth = nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        self.depth, self.nodes = self.depth + 1, self.nodes + 1
        if self.depth > MAX_DEPTH:
            raise SourceError(f"nested more than {MAX_DEPTH} levels deep", line)
        if self.nodes > MAX_NODES:
            raise SourceError(f"more than {MAX_NODES} values; this is surely not the file that was meant", line)
        if isinstance(event, yaml.AliasEvent) and event.anchor not in self.anchors:
            raise SourceError("an alias (`*name`) without its anchor (`&name`); quote a value that starts with *", line)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


_Loader.add_implicit_resolver(_TAG + "merge", re.compile("^<<$"), ["<"])
_Loader.add_implicit_resolver(_TAG + "null", re.compile("^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(
    _TAG + "bool", re.compile("^(?:yes|no|true|false|on|off)$", re.IGNORECASE), list("yYnNtTfFoO")
)
_Loader.add_implicit_resolver(_TAG + "float", re.compile(r"^[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)$"), list("-+."))
_Loader.add_implicit_resolver(_TAG + "int", re.compile(r"^[-+]?(?:0|[1-9][0-9_]*)$"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _TAG + "float",
    re.compile(r"^[-+]?(?:(?:0|[1-9][0-9_]*)\.[0-9]*|\.[0-9]+|(?:0|[1-9][0-9]*)(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_CONSTRUCTED: Mapping[str, Callable[[str], Any]] = {
    "null": lambda _text: None,
    "bool": lambda text: text.lower() in ("yes", "true", "on"),
    "int": lambda text: int(text.replace("_", "")),
    "float": lambda text: float(text.replace("_", "")),
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
        code = error.character if isinstance(error.character, int) else ord(error.character)
        raise SourceError(f"a character that YAML does not allow (U+{code:04X}); remove it", line) from None
    except (ValueError, OverflowError):
        # The scanner itself fails on an escape beyond the last character; its mark is lost by then.
        raise SourceError('an escape in double quotes ("\\U…") that is no character') from None


def read_yaml(text: str) -> Source:
    """Read one document.

    Raises:
        SourceError: it is not YAML, or too deep or too large, also once its aliases are written out.
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
        kind = str(node.tag).removeprefix(_TAG)
        if kind not in _CONSTRUCTED:
            self._flaw(path, line, "YAML tags are not read; remove the tag and quote the value")
            return None
        try:
            value = _CONSTRUCTED[kind](node.value)
        except ValueError:
            value = math.inf
        if isinstance(value, (int, float)) and abs(value) > 2**63:
            self._flaw(path, line, "no number that can be sent; quote it if text is meant")
            return None
        if isinstance(value, str) and _SURROGATE.search(value):
            self._flaw(path, line, "half a character (a lone surrogate); remove it")
            return None
        return value

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        brought: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _TAG + "merge":
                brought = {**brought, **self._merged(value_node, path)}
                continue
            key = self.value(key_node, (*path, "")) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str) or not key:
                self._flaw(path, line, "a key must be text; put this one in quotes")
            elif key in found:
                first = self.source.lines[*path, key]
                self._flaw((*path, key), line, f"the key is given twice, first on line {first}; keep one of them")
            else:
                self.source.lines[*path, key] = line
                found[key] = self.value(value_node, (*path, key))
        return {**brought, **found}

    def _merged(self, node: yaml.Node, path: Path) -> dict[str, Any]:
        """The items that ``<<:`` brings in; the first of several sources wins."""
        value = self.value(node, path)
        items: dict[str, Any] = {}
        for each in reversed(value if isinstance(value, list) else [value]):
            if isinstance(each, dict):
                items |= each
            else:
                self._flaw(path, node.start_mark.line + 1, "`<<` takes a mapping or a list of mappings")
        return items

    def _flaw(self, path: Path, line: int, message: str) -> None:
        self.source.flaws.append(Flaw(path, line, message))
