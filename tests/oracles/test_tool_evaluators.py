"""ToolBench, MCPToolBench++ and Tool Correctness give the originals' results on the rows on which page and code agree.

A row of class ``crash`` makes the original raise. Ours is unresolved with a reason.
"""

from __future__ import annotations

import pytest
from adapters import rows, tool_score

ROWS = rows("tool_evaluators.jsonl")


@pytest.mark.parametrize("tool", ["toolbench", "mcptoolbench", "tool_correctness", "evaluate"])
def test_contract_rows_give_the_original_result(tool: str) -> None:
    """Every field of the original; ours may have more."""
    rows = [row for row in ROWS if (row["tool"], row["class"]) == (tool, "contract")]
    found = [(row, tool_score(row)) for row in rows]
    read = [(row, {key: score.get(key) for key in row["result"]}) for row, score in found]
    assert rows
    assert [(row, result) for row, result in read if result != row["result"]] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row["class"] == "crash"], ids=lambda row: str(row)[:50])
def test_rows_that_crash_the_original_are_unresolved(row: dict[str, object]) -> None:
    """Nothing is raised, and the result gives a reason."""
    found = tool_score(row)
    assert found.get("resolved", found.get("success")) is False
    assert found.get("error") or found.get("details")
