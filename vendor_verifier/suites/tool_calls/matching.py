"""Pairs expected calls with answered ones, one to one and best possible, and counts what they share.

Assignments are exact: weights are whole numbers of any size, and among equally good ones the choice is always the same.
``scipy.optimize.linear_sum_assignment`` is neither (it counts in floats and breaks ties otherwise), and takes most of a
second to load.

Greedy pairing makes a score depend on the order of a list; here the pairing with the most right parameters is found
among calls of the same name, and on equal terms calls keep their order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import msgspec

from vendor_verifier.suites.tool_calls.calls import Call


def best_assignment(weights: Sequence[Sequence[int]]) -> tuple[int | None, ...]:
    """For each row the column it is paired with, or None for the rows left over when there are more rows than columns.

    ``weights[row][column]`` are whole numbers of any sign; every row has the same length. As many pairs are made as the
    shorter side allows, also of weight 0: a caller for whom 0 means "not a pair" leaves those out.
    """
    rows = len(weights)
    columns = len(weights[0]) if rows else 0
    if rows <= columns:
        return _pair_rows([[-weight for weight in row] for row in weights], columns)
    turned = _pair_rows([[-weights[row][column] for row in range(rows)] for column in range(columns)], rows)
    paired: list[int | None] = [None] * rows
    for column, row in enumerate(turned):
        paired[row] = column
    return tuple(paired)


def _pair_rows(costs: list[list[int]], columns: int) -> tuple[int, ...]:
    """The cheapest pairing of every row, for at most as many rows as columns. Index 0 stands for "none" inside."""
    row_price = [0] * (len(costs) + 1)
    column_price = [0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for row in range(1, len(costs) + 1):
        row_of[0] = row
        came_from = _cheapest_path(costs, row_price, column_price, row_of)
        column = next(column for column in came_from if row_of[column] == 0)
        while column:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    pairs = sorted((row, column - 1) for column, row in enumerate(row_of) if row and column)
    return tuple(column for _, column in pairs)


def _cheapest_path(
    costs: list[list[int]], row_price: list[int], column_price: list[int], row_of: list[int]
) -> dict[int, int]:
    """Grow a tree of tight edges from ``row_of[0]`` to a free column; returns the column each one was reached from.

    The free column is the only one in the answer that has no row. Prices are changed in place.
    """
    open_columns = list(range(1, len(row_of)))
    slack: dict[int, int] = {}
    reached_from: dict[int, int] = {}
    tree: dict[int, int] = {}
    column = 0
    while True:
        row = row_of[column]
        if row == 0:
            return tree
        for other in open_columns:
            reduced = costs[row - 1][other - 1] - row_price[row] - column_price[other]
            if other not in slack or reduced < slack[other]:
                slack[other] = reduced
                reached_from[other] = column
        nearest = min(open_columns, key=slack.__getitem__)
        step = slack[nearest]
        for settled in (0, *tree):
            row_price[row_of[settled]] += step
            column_price[settled] -= step
        for other in open_columns:
            slack[other] -= step
        open_columns.remove(nearest)
        tree[nearest] = reached_from[nearest]
        column = nearest


def same_value(left: object, right: object) -> bool:
    """Deep equality of two JSON values, without recursion, so that depth costs no stack."""
    pending: list[tuple[object, object]] = [(left, right)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pending.extend((one[key], other[key]) for key in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pending.extend(zip(one, other, strict=True))
        elif not _same_scalar(one, other):
            return False
    return True


def _same_scalar(one: object, other: object) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    return type(one) is type(other) and one == other


class Pair(msgspec.Struct, frozen=True):
    """Positions of an expected call and of the call that answers it, and how many of its parameters are right."""

    expected: int
    called: int
    right_parameters: int


def names_in_common(expected: Sequence[str], called: Sequence[str]) -> int:
    """The number of expected names that were called; a name expected twice counts twice only if called twice."""
    return (Counter(expected) & Counter(called)).total()


def right_parameters(wanted: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    """Parameters whose name and value are right. An absent one is never right, also where null is expected."""
    return sum(key in given and same_value(value, given[key]) for key, value in wanted.items())


def likeness(wanted: Call, given: Call) -> Fraction:
    """Right parameters ÷ all parameter names on either side; 1 when neither has any or any will do, 0 for
    another tool."""
    if wanted.name != given.name or given.problem:
        return Fraction(0)
    if wanted.any_parameters:
        return Fraction(1)
    names = wanted.parameters.keys() | given.parameters.keys()
    return Fraction(right_parameters(wanted.parameters, given.parameters), len(names)) if names else Fraction(1)


def pair_calls(expected: Sequence[Call], called: Sequence[Call]) -> tuple[Pair, ...]:
    """Pair calls of the same name for the most right parameters, then the fewest superfluous ones. Malformed calls pair
    with nothing."""
    pairs: list[Pair] = []
    for name in dict.fromkeys(call.name for call in expected):
        wanted = [at for at, call in enumerate(expected) if call.name == name]
        given = [at for at, call in enumerate(called) if call.name == name and not call.problem]
        pairs.extend(_pair_same_name(expected, called, wanted, given))
    return tuple(sorted(pairs, key=lambda pair: pair.expected))


def _pair_same_name(
    expected: Sequence[Call], called: Sequence[Call], wanted: list[int], given: list[int]
) -> list[Pair]:
    if not given:
        return []
    right = [
        [right_parameters(expected[one].parameters, called[other].parameters) for other in given] for one in wanted
    ]
    # One right parameter outweighs any number of superfluous ones, and those outweigh the order.
    ranks = len(wanted) * len(given) + 1
    most_given = 1 + max(len(called[other].parameters) for other in given)
    one_right = ranks * most_given * (len(given) + 1)
    weights = [
        [
            right[row][column] * one_right - len(called[given[column]].parameters) * ranks - abs(row - column)
            for column in range(len(given))
        ]
        for row in range(len(wanted))
    ]
    return [
        Pair(wanted[row], given[column], right[row][column])
        for row, column in enumerate(best_assignment(weights))
        if column is not None
    ]


def total_likeness(expected: Sequence[Call], called: Sequence[Call]) -> Fraction:
    """The greatest sum of :func:`likeness` over one-to-one pairs."""
    total = Fraction(0)
    for name in dict.fromkeys(call.name for call in expected):
        table = [
            [likeness(one, other) for other in called if other.name == name] for one in expected if one.name == name
        ]
        total += _greatest_sum(table)
    return total


def _greatest_sum(table: list[list[Fraction]]) -> Fraction:
    scale = math.lcm(*(value.denominator for row in table for value in row))
    weights = [[int(value * scale) for value in row] for row in table]
    chosen = best_assignment(weights)
    return sum((table[row][column] for row, column in enumerate(chosen) if column is not None), Fraction(0))


Item = TypeVar("Item")


def longest_common(expected: Sequence[str], called: Sequence[str]) -> int:
    """Length of the longest common subsequence of two name lists."""
    return round(heaviest_common(expected, called, lambda one, other: float(one == other)))


def heaviest_common(expected: Sequence[Item], called: Sequence[Item], weight: Callable[[Item, Item], float]) -> float:
    """Greatest total weight of pairs (expected, called) that are in the same order on both sides.

    With weights 0 and 1 this is the length of the longest common subsequence (Wagner and Fischer 1974).
    """
    best = [0.0] * (len(called) + 1)
    for wanted in expected:
        above = best[:]
        for at, got in enumerate(called, 1):
            best[at] = max(above[at], best[at - 1], above[at - 1] + weight(wanted, got))
    return best[-1]
