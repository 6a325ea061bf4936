"""Pairs expected calls with answered ones, one to one and best possible; it sets no thresholds.

Greedy pairing makes a score depend on the order of a list; here the pairing with the most right parameters is found
among calls of the same name, and on equal terms calls keep their order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vendor_verifier.suites.assignment import best_assignment
from vendor_verifier.suites.calls import Call
from vendor_verifier.suites.values_equal import same_value


@dataclass(frozen=True, slots=True)
class Pair:
    """Positions of an expected call and of the call that answers it, and how many of its parameters are right."""

    expected: int
    called: int
    right_parameters: int


def names_in_common(expected: Sequence[str], called: Sequence[str]) -> int:
    """How many of the expected names were called, a name expected twice being called twice."""
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
