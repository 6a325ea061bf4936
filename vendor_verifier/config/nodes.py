"""What config.yaml says, as nodes that know their line and what was literally written; they do no parsing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
