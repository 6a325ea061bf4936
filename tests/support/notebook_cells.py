"""Runs the code cells of a notebook as a notebook does, in one event loop, with the standard library alone.

python notebook_cells.py FILE    in the working directory; prints what each cell shows
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import sys
from pathlib import Path
from typing import Any


def code_cells(file: Path) -> list[str]:
    """The sources of the code cells, in order."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cells(file: Path) -> list[Any]:
    """The values that the cells show: that of a last expression; None where there is none, or ``;`` hides it."""

    async def run() -> list[Any]:
        names: dict[str, Any] = {}
        return [await _shown(source, names) for source in code_cells(file)]

    return asyncio.run(run())


async def _shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell, whose top level may await."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    found = await _evaluated(tree, "exec", names)
    if isinstance(last, ast.Expr):
        found = await _evaluated(ast.Expression(last.value), "eval", names)
    return None if last is None or source.rstrip().endswith(";") else found


async def _evaluated(tree: ast.Module | ast.Expression, mode: str, names: dict[str, Any]) -> Any:
    found = eval(compile(tree, "cell", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    return await found if inspect.iscoroutine(found) else found


if __name__ == "__main__":
    for shown in run_cells(Path(sys.argv[1])):
        sys.stdout.write(f"{shown}\n\n" if shown is not None else "")
