"""Upper bounds on the cost of judging arguments by a schema, estimated before they are judged.

A schema of two kilobytes whose references double at each step, or a pattern that looks around itself in a long text,
costs minutes and gigabytes. So every check is estimated first, from above: how often a schema is applied to a value
(:data:`STEP_NS` each), and what each pattern costs on each text (linear in the text where an automaton can match it,
quadratic where only backtracking can). What exceeds a bound is not judged, with the reason. Estimating costs no more
than the number of pairs of a schema and a value that meet, and ends at :data:`MAX_PAIRS`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import msgspec

from vendor_verifier.suites.schema_dialect import REFERENCES, Node, applied_here, applied_inside, subschemas
from vendor_verifier.wire.gemini.schema import pointed_at

MAX_NODES = 20_000
MAX_DEPTH = 120
MAX_PAIRS = 200_000
MAX_NS = 1_000_000_000
STEP_NS = 400
# Beyond so many steps the library's list of violations takes far longer and more memory than its verdict.
MAX_EXPLAINED_NS = 20_000 * STEP_NS
# Steps back that a pattern may take in one text, before the library gives up.
MAX_BACKTRACKS = 50_000
_LINEAR_NS = 15
_QUADRATIC_NS = 5
# Parts of a pattern that the engine tries at once.
_PARTS_AT_ONCE = 50
_UNKNOWN_STEPS = 200


class OverBoundError(Exception):
    """Judging would exceed a bound; the message says which."""


class Pattern(msgspec.Struct, frozen=True):
    """The size of a pattern in single characters once its counts are spelled out; ``is_linear``: see above."""

    size: int
    is_linear: bool

    def cost_ns(self, length: int) -> int:
        """The time for a text of ``length`` characters."""
        if self.is_linear:
            return length * self.size * _LINEAR_NS
        return length * length * (1 + self.size // _PARTS_AT_ONCE) * _QUADRATIC_NS


class _Facts(msgspec.Struct, frozen=True):
    """The costs of a schema that hold for any value: time, the targets of its references, its patterns."""

    own_ns: int
    tellings: int
    targets: tuple[Node, ...]
    text_patterns: tuple[Pattern, ...]
    name_patterns: tuple[Pattern, ...]


class SchemaBounds:
    """The bounds of one schema, ready to estimate arguments.

    Raises:
        OverBoundError: the schema itself is too large or refers too deeply to be compiled.
    """

    def __init__(self, root: Node) -> None:
        self.root = root
        self._anchors: dict[str, Node] = {}
        self._facts: dict[int, _Facts] = {}
        self._tree_ns = _Tree(self).cost_ns(root)

    def estimate_ns(self, arguments: object, written: int) -> int:
        """An upper bound on the time for judging ``arguments``, ``written`` as so many characters of JSON.

        Raises:
            OverBoundError: more than it may.
        """
        # Every schema of the tree meets every value and name at most once, and each of these takes two characters.
        roughly = None if self._tree_ns is None else self._tree_ns * (written // 2 + 1)
        if roughly is not None and roughly <= MAX_EXPLAINED_NS:
            return roughly
        return _Meeting(self).cost_ns(arguments)

    def facts(self, node: Node) -> _Facts:
        """The facts of a schema of this tree, computed once."""
        known = self._facts.get(id(node))
        if known is None:
            known = self._facts[id(node)] = self._facts_of(node)
        return known

    def _facts_of(self, node: Node) -> _Facts:
        references = [node[word] for word in REFERENCES if isinstance(node.get(word), str)]
        targets = [self._target(reference) for reference in references]
        values = node.get("enum")
        compared = sum(isinstance(one, (dict, list)) for one in values) if isinstance(values, list) else 0
        # A reference that leads out of this schema is to one of the library's own small schemas.
        unseen = targets.count(None) * _UNKNOWN_STEPS
        return _Facts(
            own_ns=STEP_NS * (1 + compared + unseen),
            # What stands below is looked at again to find out what was not evaluated.
            tellings=3 if "unevaluatedProperties" in node or "unevaluatedItems" in node else 1,
            targets=tuple(target for target in targets if target is not None),
            text_patterns=_patterns(node, "pattern"),
            name_patterns=_patterns(node, "patternProperties"),
        )

    def _target(self, reference: str) -> Node | None:
        own = self.root.get("$id")
        local = reference.removeprefix(own) if isinstance(own, str) and own else reference
        if local in ("", "#"):
            return self.root
        if local.startswith("#/"):
            return pointed_at(self.root, local)
        return self._anchors.get(local)

    def learn(self, node: Node) -> None:
        """Remember by which anchors ``node`` may be referred to."""
        for word, before in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", ""), ("id", "")):
            name = node.get(word)
            if isinstance(name, str):
                self._anchors.setdefault(before + name, node)


class _Tree:
    """An upper bound on the cost of any two characters of arguments, with every reference written out in its place."""

    def __init__(self, bounds: SchemaBounds) -> None:
        self._bounds = bounds
        self._known: dict[int, int | None] = {}
        self._inside: set[int] = set()
        self._count = 0

    def cost_ns(self, root: Node) -> int | None:
        """Nanoseconds for two characters, None where references form a circle or a text's length counts twice."""
        self._look(root, 0)
        return self._cost_ns(root, 0)

    def _look(self, node: Node, depth: int) -> None:
        self._count += 1 + sum(len(value) for value in node.values() if isinstance(value, list))
        if self._count > MAX_NODES:
            raise OverBoundError(f"a schema of more than {MAX_NODES:,} parts")
        _check_depth(depth)
        self._bounds.learn(node)
        for below in subschemas(node):
            self._look(below, depth + 1)

    def _cost_ns(self, node: Node, depth: int) -> int | None:
        _check_depth(depth)
        if id(node) in self._inside:
            return None
        if id(node) not in self._known:
            self._inside.add(id(node))
            self._known[id(node)] = self._node_ns(node, depth)
            self._inside.discard(id(node))
        return self._known[id(node)]

    def _node_ns(self, node: Node, depth: int) -> int | None:
        facts = self._bounds.facts(node)
        patterns = facts.text_patterns + facts.name_patterns
        cost = facts.own_ns + sum(pattern.cost_ns(2) for pattern in patterns)
        if not all(pattern.is_linear for pattern in patterns):
            return None
        for below in (*subschemas(node), *facts.targets):
            below_ns = self._cost_ns(below, depth + 1)
            if below_ns is None:
                return None
            cost += below_ns * facts.tellings
        return min(cost, MAX_NS)


class _Meeting:
    """The cost of judging one value: the sum over every pair of a schema and a value that it is applied to."""

    def __init__(self, bounds: SchemaBounds) -> None:
        self._bounds = bounds
        self._known: dict[tuple[int, int], int] = {}

    def cost_ns(self, arguments: object) -> int:
        return self._cost_ns(self._bounds.root, arguments, 0)

    def _cost_ns(self, node: Node, value: object, depth: int) -> int:
        key = (id(node), id(value))
        if key not in self._known:
            if len(self._known) >= MAX_PAIRS:
                raise OverBoundError(f"more than {MAX_PAIRS:,} places to judge")
            if depth > MAX_DEPTH:
                raise OverBoundError(f"references and values nested deeper than {MAX_DEPTH} levels")
            # A reference that comes back to the same value adds nothing: the library follows it once.
            self._known[key] = 0
            self._known[key] = self._pair_ns(node, value, depth)
        return self._known[key]

    def _pair_ns(self, node: Node, value: object, depth: int) -> int:
        facts = self._bounds.facts(node)
        cost = facts.own_ns
        if isinstance(value, str):
            cost += sum(pattern.cost_ns(len(value)) for pattern in facts.text_patterns)
        elif isinstance(value, dict):
            cost += sum(pattern.cost_ns(len(name)) for pattern in facts.name_patterns for name in value)
        below = sum(self._cost_ns(other, value, depth + 1) for other in (*applied_here(node), *facts.targets))
        below += sum(self._cost_ns(other, held, depth + 1) for other, held in applied_inside(node, value))
        cost += below * facts.tellings
        if cost > MAX_NS:
            raise OverBoundError("the schema's patterns and alternatives would take longer than a second")
        return cost


def _patterns(node: Node, word: str) -> tuple[Pattern, ...]:
    value = node.get(word)
    texts: list[Any] = list(value) if isinstance(value, Mapping) else [value]
    return tuple(pattern_of(text) for text in texts if isinstance(text, str))


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise OverBoundError(f"a schema whose parts and references are nested deeper than {MAX_DEPTH} levels")


@functools.lru_cache(maxsize=4096)
def pattern_of(text: str) -> Pattern:
    """The size and linearity of a pattern; one that no engine takes is refused when it is compiled."""
    try:
        jsonschema_rs.validator_for({"pattern": text}, pattern_options=jsonschema_rs.RegexOptions(), offline=True)
    except (jsonschema_rs.ValidationError, ValueError):
        return Pattern(_size(text), is_linear=False)
    return Pattern(_size(text), is_linear=True)


_PIECE = re.compile(r"\\[pP]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(,?)(\d*)\}|.", re.DOTALL)


def _size(text: str) -> int:
    """Characters and classes of a pattern, those inside a counted part as often as it may occur."""
    totals, last = [0], [0]
    for piece in _PIECE.finditer(text):
        if piece[1] is not None:
            times = max(int(piece[3] or 0), int(piece[1]), 1)
            totals[-1] += last[-1] * (times - 1)
            last[-1] *= times
        elif piece[0] == "(":
            totals.append(0)
            last.append(0)
        elif piece[0] == ")" and len(totals) > 1:
            last.pop()
            last[-1] = totals.pop()
            totals[-1] += last[-1]
        elif piece[0] not in "*+?|^$":
            totals[-1] += 1
            last[-1] = 1
    return max(1, sum(totals))
