"""A call written in Java or JavaScript source, read by tree-sitter's grammars as the leaderboard reads it.

A text holds one call at the most. Values come out as source text, a string literal without its quotes; what else they
mean, :mod:`vendor_verifier.suites.bfcl.literals` reads. The grammars are the optional extra ``bfcl``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from vendor_verifier.errors import DataError, install_line
from vendor_verifier.suites.bfcl.literals import Undecodable
from vendor_verifier.suites.bfcl.verdict import uncheckable

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

MAX_SOURCE = 20_000
_MOST_LEVELS = 200
# Of the parser, about ten thousand a second: sources of 20,000 characters without a mistake take a tenth of that.
_MOST_STEPS = 5_000
_QUOTED = ("string_literal", "character_literal")
_KEPT_WHOLE = ("identifier", "class_literal", "type_identifier", "method_invocation")


def missing_grammars() -> str | None:
    """The sentence that says what reading Java and JavaScript lacks here, or None."""
    try:
        _parser("java")
        _parser("javascript")
    except DataError as error:
        return error.problems[0].message
    return None


@cache
def _parser(language: str) -> Parser:
    try:
        import tree_sitter_java
        import tree_sitter_javascript
        from tree_sitter import Language, Parser
    except ImportError:
        words = "calls written in Java or JavaScript are read by tree-sitter's grammars"
        raise uncheckable(f"{words}: {install_line('bfcl')}") from None
    grammar = tree_sitter_java if language == "java" else tree_sitter_javascript
    return Parser(Language(grammar.language()))


def _root(source: str, language: str) -> Node:
    if len(source) > MAX_SOURCE:
        raise Undecodable(f"{len(source)} characters of {language}, read are {MAX_SOURCE} at the most")
    root = _tree(source.encode(), language).root_node
    # A node that is only missing is no error to the leaderboard.
    if root.has_error and any(node.is_error for node in _walk(root)):
        raise Undecodable(f"no {language} source")
    return root


def _tree(source: bytes, language: str) -> Tree:
    """The tree of a source. Mending a wrong one may cost the cube of its length, so its steps are counted."""
    steps, parser = count(), _parser(language)
    try:
        tree = parser.parse(
            lambda place, _point: source[place:], progress_callback=lambda _place, _has_error: next(steps) > _MOST_STEPS
        )
    except ValueError:
        # It would go on with this source at the next one.
        parser.reset()
        raise Undecodable(f"no {language} source within {_MOST_STEPS} steps") from None
    assert tree is not None
    return tree


def _walk(root: Node) -> Iterator[Node]:
    """Every node, parents first, without recursion."""
    left = [root]
    while left:
        node = left.pop()
        yield node
        left += reversed(node.children)


def java_calls(source: str) -> Any:
    """``[{name: {parameter: source text}}]`` of the first method call, or ``{}`` where there is none.

    The leaderboard counts in bytes and cuts characters, so beyond ASCII its texts are shifted; so are these.

    Raises:
        Undecodable: no Java, or a parameter twice.
        DataError: the grammar is not installed.
    """
    invoked = next((node for node in _walk(_root(source, "java")) if node.type == "method_invocation"), None)
    if invoked is None:
        return {}
    java = _Java(source)
    name, owner = invoked.child_by_field_name("name"), invoked.child_by_field_name("object")
    arguments = invoked.child_by_field_name("arguments")
    assert name is not None
    called = f"{java.text(owner)}.{java.text(name)}" if owner is not None else java.text(name)
    return [{called: _once(java.arguments(arguments))}] if arguments is not None else {}


def javascript_calls(source: str) -> Any:
    """``[{name: {parameter: source text}}]`` of the first call that is a statement, or None where there is none.

    Raises:
        Undecodable: no JavaScript, or a parameter twice.
        DataError: the grammar is not installed.
    """
    root = _root(source, "javascript")
    statements = (child for child in root.children if child.type == "expression_statement")
    called = (child for statement in statements for child in statement.children if child.type == "call_expression")
    found = next(called, None)
    if found is None:
        return None
    name, arguments = found.children[0], found.children[1]
    return [{_whole(name): _once(_javascript_arguments(arguments))}]


def _once(pairs: Iterator[tuple[str | None, str]]) -> dict[str | None, str]:
    found: dict[str | None, str] = {}
    for name, value in pairs:
        if name in found:
            raise Undecodable(f"{name!r} is given twice")
        found[name] = value
    return found


def _whole(node: Node) -> str:
    return (node.text or b"").decode()


def _javascript_arguments(node: Node) -> Iterator[tuple[str | None, str]]:
    for child in node.children:
        if child.type == "assignment_expression":
            value = _whole(child.children[2])
            is_quoted = any(value.startswith(quote) and value.endswith(quote) for quote in "\"'")
            yield _whole(child.children[0]), value[1:-1] if is_quoted else value
        elif child.type in ("identifier", "true"):
            yield None, _whole(child)


class _Java:
    """The texts of a tree of Java ``source``."""

    def __init__(self, source: str) -> None:
        self._source = source

    def text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte]

    def arguments(self, node: Node) -> Iterator[tuple[str | None, str]]:
        for child in node.children:
            if child.type == "assignment_expression":
                yield self.text(child.children[0]), self.value(child.children[2])
            elif child.type in ("identifier", "class_literal", "set"):
                yield None, self.value(child)

    def value(self, node: Node | None, level: int = 0) -> str:
        """The source of a value without white space between its parts; a literal that is the whole loses its quotes."""
        if node is None:
            raise Undecodable("an expression without its type or its value")
        if level > _MOST_LEVELS:
            raise Undecodable(f"more than {_MOST_LEVELS} levels")
        if node.type in _QUOTED:
            return self.text(node) if level else self.text(node)[1:-1]
        written = self._WRITTEN.get(node.type)
        if written is not None:
            return written(self, node, level)
        if node.type in _KEPT_WHOLE or not node.child_count:
            return self.text(node)
        return "".join(self.value(child, level + 1) for child in node.children)

    def _array(self, node: Node, level: int) -> str:
        kind, held = (self.value(node.child_by_field_name(name), level + 1) for name in ("type", "value"))
        return f"new {kind}[]{held}"

    def _object(self, node: Node, level: int) -> str:
        kind = self.value(node.child_by_field_name("type"), level + 1)
        held = node.child_by_field_name("arguments")
        parts = [child for child in held.children if child.type not in (",", "(", ")")] if held is not None else []
        return f"new {kind}({', '.join(self.value(child, level + 1) for child in parts)})"

    _WRITTEN: dict[str, Callable[[_Java, Node, int], str]] = {  # noqa: RUF012 - never changed
        "array_creation_expression": _array,
        "object_creation_expression": _object,
    }
