"""Pairs rows with columns one to one for the greatest total weight; it does not know what the rows stand for.

Theory of operation: the Hungarian method with potentials and shortest augmenting paths (Kuhn 1955, Munkres 1957, in
the form of Jonker and Volgenant 1987), O(rows² · columns) after turning the matrix so that rows are the shorter side.
Weights are integers, so that equal totals are equal and no rounding decides a pairing.
"""

from __future__ import annotations

from collections.abc import Sequence


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
