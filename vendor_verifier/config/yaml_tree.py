"""YAML text as nodes that know their line and what was literally written; everything risky is refused.

Risky is: tags, more than 100 aliases, aliases that blow up or loop, deep nesting, a key given twice, a file above 1 MB,
and values that YAML 1.1 reads as something else than meant (``0123``, ``12:30:00``, dates).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

Kind = Literal["text", "number", "true/false", "nothing", "misread"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value. ``raw`` is what stands in the file; ``misread`` values carry what YAML would make of it in ``why``."""

    line: int
    raw: str = field(repr=False)
    value: str | int | float | bool | None = field(repr=False)
    kind: Kind
    why: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A mapping: key → node, with the line of each key."""

    line: int
    items: Mapping[str, Node] = field(repr=False)
    key_lines: Mapping[str, int] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of nodes."""

    line: int
    items: tuple[Node, ...] = field(repr=False)


Node = Scalar | Table | Listing
Step = str | int
Path = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something refused at one place; reading goes on behind it. ``subject`` is text of the file, maybe a secret."""

    line: int
    path: Path
    message: str
    subject: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Written:
    """A scalar value as it is written: ``text[slice(*span)]`` is its source, with quotes and an anchor if it has them.

    ``key`` is what it is the value of, "" in a list; ``beside`` are the other scalar values of its mapping by key.
    """

    line: int
    span: tuple[int, int]
    key: str
    value: str = field(repr=False)
    beside: Mapping[str, str] = field(repr=False)


def plain(node: Node) -> Any:
    """The node as ordinary Python values; a misread value stays the text that was written."""
    if isinstance(node, Table):
        return {key: plain(value) for key, value in node.items.items()}
    if isinstance(node, Listing):
        return [plain(item) for item in node.items]
    return node.raw if node.kind == "misread" else node.value


def find(root: Node, path: Path) -> Node | None:
    """The node at ``path``, or ``None``."""
    node: Node | None = root
    for step in path:
        if isinstance(node, Table) and isinstance(step, str):
            node = node.items.get(step)
        elif isinstance(node, Listing) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
        else:
            return None
    return node


def line_of(root: Node, path: Path) -> int:
    """The line of the key at ``path``, or of its nearest ancestor that is in the file."""
    for length in range(len(path), 0, -1):
        parent, step = find(root, path[: length - 1]), path[length - 1]
        if isinstance(parent, Table) and isinstance(step, str) and step in parent.key_lines:
            return parent.key_lines[step]
        node = find(root, path[:length])
        if node is not None:
            return node.line
    return root.line


def walk(node: Node, path: Path = ()) -> Iterator[tuple[Path, Scalar]]:
    """Every scalar below ``node`` with its path."""
    if isinstance(node, Scalar):
        yield path, node
        return
    children = node.items.items() if isinstance(node, Table) else enumerate(node.items)
    for step, child in children:
        yield from walk(child, (*path, step))


MAX_BYTES = 1_000_000
MAX_ALIASES = 100
MAX_DEPTH = 40
MAX_NODES = 20_000

_TAG = "tag:yaml.org,2002:"
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")
_YAML_1_2_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")


class SourceError(Exception):
    """The text is not YAML that this product reads; ``line`` is 1-based, ``None`` when no line can be named."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _LineLoader(yaml.SafeLoader):
    """SafeLoader that stops at too many aliases or levels and notes tags; only its composing half is used."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.tagged: list[tuple[int, str]] = []
        self._aliases = 0
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            self._aliases += 1
            if self._aliases > MAX_ALIASES:
                raise SourceError(f"more than {MAX_ALIASES} aliases (`*name`); write the values out", line)
            if event.anchor not in self.anchors:
                raise SourceError(
                    "an alias (`*name`) without its anchor (`&name`); quote a value that starts with *", line
                )
        elif getattr(event, "tag", None) is not None:
            self.tagged.append((line, str(event.tag).replace(_TAG, "!!")))
        self._depth += 1
        self._nodes += 1
        if self._depth > MAX_DEPTH:
            raise SourceError(f"nested more than {MAX_DEPTH} levels deep", line)
        if self._nodes > MAX_NODES:
            raise SourceError(f"more than {MAX_NODES} values; this is surely not the file that was meant", line)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


def parse(text: str) -> tuple[Node | None, tuple[Flaw, ...]]:
    """Parse one document. Returns its root (``None`` when empty) and every flaw; raises SourceError."""
    root, tagged = _compose(text)
    if root is None:
        return None, ()
    builder = _Builder()
    node = builder.build(root, (), 0)
    tags = (Flaw(line, (), "YAML tags are not read; remove the tag and quote the value if text is meant", tag)
            for line, tag in tagged)  # fmt: skip
    return node, (*tags, *builder.flaws)


def scalars(text: str) -> Iterator[Written]:
    """Every scalar value of the document in the order of the file, keys given twice and anchors included.

    Raises:
        SourceError: the text cannot be parsed.
    """
    root, _ = _compose(text)
    seen: set[int] = set()
    pending: list[tuple[yaml.Node, yaml.MappingNode | None, str]] = [] if root is None else [(root, None, "")]
    found: list[Written] = []
    while pending:
        node, table, key = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            pending += ((value, node, str(name.value)) for name, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            pending += ((item, None, "") for item in node.value)
        else:
            beside = {} if table is None else {str(a.value): str(b.value) for a, b in table.value if _is_scalar(a, b)}
            span = node.start_mark.index, node.end_mark.index
            found.append(Written(node.start_mark.line + 1, span, key, str(node.value), beside))
    yield from sorted(found, key=lambda each: each.span)


def _is_scalar(*nodes: yaml.Node) -> bool:
    return all(isinstance(node, yaml.ScalarNode) for node in nodes)


def _compose(text: str) -> tuple[yaml.Node | None, list[tuple[int, str]]]:
    """The root of one document (``None`` when empty), and the line and text of every tag; raises SourceError."""
    try:
        loader = _LineLoader(text)
        return loader.get_single_node(), loader.tagged
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise SourceError(_syntax_message(error), mark.line + 1 if mark else None) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character)
        raise SourceError(f"a character that YAML does not allow (U+{code:04X}); remove it", line) from None
    except (ValueError, OverflowError):
        # The scanner itself fails on an escape beyond the last character; its mark is lost by then.
        raise SourceError('an escape in double quotes ("\\U…") that stands for no character') from None


def _syntax_message(error: yaml.MarkedYAMLError) -> str:
    """The parser's message without the longer pieces of text it quotes, which may be a key."""
    message = ": ".join(part for part in (error.context, error.problem) if part) or "it cannot be parsed"
    brief = _QUOTED.sub(lambda match: match[0] if len(match[0]) < 6 or match[0][1] == "<" else "…", message)
    return f"not valid YAML: {brief}"


class _Builder:
    """Turns composed YAML nodes into ours; state: flaws so far and the number of nodes built."""

    def __init__(self) -> None:
        self.flaws: list[Flaw] = []
        self._nodes = 0

    def build(self, node: yaml.Node, path: Path, depth: int) -> Node:
        line = node.start_mark.line + 1
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            raise SourceError("aliases that expand without end, or a file far too large; write the values out", line)
        if isinstance(node, yaml.MappingNode):
            return self._table(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return Listing(line, tuple(self.build(item, (*path, i), depth + 1) for i, item in enumerate(node.value)))
        assert isinstance(node, yaml.ScalarNode)
        scalar = _scalar(node, line)
        if scalar.kind == "misread":
            self.flaws.append(Flaw(line, path, scalar.why, scalar.raw))
        return scalar

    def _table(self, node: yaml.MappingNode, path: Path, depth: int) -> Table:
        items: dict[str, Node] = {}
        lines: dict[str, int] = {}
        merged: dict[str, Node] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == _TAG + "merge":
                merged = {**self._merge(value_node, path, depth + 1), **merged}
                continue
            key = self._key(key_node, path, line)
            if key is None:
                continue
            if key in items:
                message = f"the key is given twice, first on line {lines[key]}; keep one of them"
                self.flaws.append(Flaw(line, (*path, key), message))
                continue
            items[key] = self.build(value_node, (*path, key), depth + 1)
            lines[key] = line
        return Table(node.start_mark.line + 1, {**merged, **items}, lines)

    def _key(self, node: yaml.Node, path: Path, line: int) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self.flaws.append(Flaw(line, path, "a key must be text, this one is a list or a mapping"))
            return None
        key = _scalar(node, line)
        if key.kind != "text" or not key.raw:
            self.flaws.append(Flaw(line, path, f"a key must be text, this one reads as {key.kind}; quote it", key.raw))
            return None
        return key.raw

    def _merge(self, node: yaml.Node, path: Path, depth: int) -> dict[str, Node]:
        """Items that ``<<:`` brings in; the first of several sources wins."""
        built = self.build(node, path, depth)
        sources = built.items if isinstance(built, Listing) else (built,)
        items: dict[str, Node] = {}
        for source in sources:
            if isinstance(source, Table):
                items = {**source.items, **items}
            else:
                self.flaws.append(Flaw(source.line, path, "`<<` takes a mapping or a list of mappings"))
        return items


def _scalar(node: yaml.ScalarNode, line: int) -> Scalar:
    raw, tag = str(node.value), str(node.tag).removeprefix(_TAG)
    if _SURROGATE.search(raw):
        # Written out: text with half a character in it cannot be encoded by whoever reads it next.
        written = raw.encode(errors="backslashreplace").decode()
        return Scalar(line, written, written, "misread", "half a character (a lone surrogate); remove it")
    if node.style is not None or tag == "null":
        return Scalar(line, raw, None, "nothing") if node.style is None else Scalar(line, raw, raw, "text")
    if tag == "bool":
        return Scalar(line, raw, raw.lower() in ("yes", "true", "on"), "true/false")
    if tag == "timestamp":
        return Scalar(line, raw, raw, "misread", "YAML reads this as a date; quote it")
    if _LEADING_ZERO.fullmatch(raw):
        return Scalar(line, raw, raw, "misread", "YAML reads a leading zero as octal; quote it, or drop the zero")
    if tag in ("int", "float") and ":" in raw:
        return Scalar(line, raw, raw, "misread", "YAML reads this as a base-60 number; quote it")
    if tag in ("int", "float") or _YAML_1_2_FLOAT.fullmatch(raw):
        return _number(raw, line, whole=tag == "int")
    return Scalar(line, raw, raw, "text")


def _number(raw: str, line: int, *, whole: bool) -> Scalar:
    digits = raw.replace("_", "")
    try:
        value: int | float = int(digits, 0) if whole else float(re.sub(r"\.(?=inf|nan)", "", digits.lower()))
    except ValueError:
        return Scalar(line, raw, raw, "misread", "this looks like a number and is none; quote it")
    if not math.isfinite(value) if isinstance(value, float) else abs(value) > 2**63:
        return Scalar(line, raw, raw, "misread", "no number that can be sent; quote it if text is meant")
    return Scalar(line, raw, value, "number")
