"""No test may depend on how busy the machine is: this reads the tests for the ways in which they would."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
CLOCKS = {"monotonic", "perf_counter", "perf_counter_ns", "process_time", "thread_time", "current_time", "time_ns"}
# A limit of these ends a hang. As a number of its own it would be somebody's guess of how fast a machine is.
GUARDS = {"fail_after": 0, "wait_for": 1}


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_span(node: ast.expr) -> bool:
    """Whether an expression is what a clock says less what it said."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Call)
        and name_of(node.left.func) in CLOCKS
    )


def hasty(tree: ast.AST) -> Iterator[int]:
    """Lines on which a span of time must be shorter than a number, or a wait for something ends after one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, sign, right in zip(sides, node.ops, sides[1:], strict=False):
                shorter, longer = (left, right) if isinstance(sign, ast.Lt | ast.LtE) else (right, left)
                if is_span(shorter) and isinstance(longer, ast.Constant) and not isinstance(sign, ast.Eq):
                    yield node.lineno
        if isinstance(node, ast.Call) and name_of(node.func) in GUARDS:
            place = GUARDS[name_of(node.func)]
            if len(node.args) > place and isinstance(node.args[place], ast.Constant):
                yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        "assert time.monotonic() - start < 8",
        "assert 8 > time.perf_counter() - start",
        "assert 0.5 <= time.process_time() - start < 2",
        "with anyio.fail_after(2): pass",
        "asyncio.wait_for(heard, 0.1)",
    ],
)
def test_a_hasty_line_is_found(line: str) -> None:
    """Each way to ask for a fast machine is one that the next test sees."""
    assert list(hasty(ast.parse(line))) == [1]


def test_no_test_asks_for_a_fast_machine() -> None:
    """Costs are compared with those of twice the work (costs.assert_linear), and waits end after costs.PATIENCE_S."""
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in hasty(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
