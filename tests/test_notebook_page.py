"""The example notebook: its cells run as a notebook runs them, in one event loop, and it is kept without outputs."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from vendor_verifier.pipeline.run import RunOutcome

FILE = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
NOTEBOOK = json.loads(FILE.read_text(encoding="utf-8"))
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


async def _shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell whose top level may await, and give the value that the notebook would show under it."""
    tree = ast.parse(source)
    hidden = source.rstrip().endswith(";")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) and not hidden else None
    found = None
    for part in (tree, None if last is None else ast.Expression(last.value)):  # type: ignore[attr-defined]
        if part is not None:
            mode = "exec" if part is tree else "eval"
            found = eval(compile(part, FILE.name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
            found = await found if inspect.iscoroutine(found) else found
    return None if last is None else found


def test_every_cell_runs_and_shows_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, in an empty folder, with no key and no network; what is shown draws itself."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)

    async def run() -> list[Any]:
        names: dict[str, Any] = {}
        return [await _shown(source, names) for source in CELLS]

    shown = asyncio.run(run())
    outcome = next(each for each in shown if isinstance(each, RunOutcome))
    assert "quantised" in outcome._repr_html_()
    frames = [each for each in shown if isinstance(each, pd.DataFrame)]
    assert len(frames) == len(CELLS) - 2
    assert all(len(frame) for frame in frames), "a cell shows an empty table"
    assert set(frames[0].label) == {"official", "honest", "quantised", "cutter"}


def test_it_is_kept_small_and_without_outputs() -> None:
    """A notebook of format 4.5 whose cells were never run, each with an id of its own."""
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    assert FILE.stat().st_size < 10_000
    for cell in NOTEBOOK["cells"]:
        assert {"cell_type", "id", "metadata", "source"} <= set(cell)
        assert (cell.get("outputs", []), cell.get("execution_count")) == ([], None)
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])


def test_pages_lead_to_it() -> None:
    """The site has it as a file to download."""
    for name in ("data.md", "api.md"):
        assert re.search(r"\]\(notebook\.ipynb\)", (FILE.parent / name).read_text(encoding="utf-8")), name
