"""The example notebook: its cells run as a notebook runs them, in one event loop, and it is kept without outputs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from notebook_cells import code_cells, run_cells

from vendor_verifier.pipeline.run import RunOutcome

FILE = Path(__file__).parents[1] / "docs" / "notebook.ipynb"
NOTEBOOK = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_cell_runs_and_shows_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, in an empty folder, with no key and no network; what is shown draws itself."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)

    shown = run_cells(FILE)
    outcome = next(each for each in shown if isinstance(each, RunOutcome))
    assert "quantised" in outcome._repr_html_()
    frames = [each for each in shown if isinstance(each, pd.DataFrame)]
    assert len(frames) == len(code_cells(FILE)) - 2
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
