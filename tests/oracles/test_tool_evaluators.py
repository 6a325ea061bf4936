"""ToolBench, MCPToolBench++ and Tool Correctness give the originals' results on the rows on which page and code agree.

A row of class ``crash`` makes the original raise. Ours is unresolved with a reason.
"""

from __future__ import annotations

import json

import pytest
from adapters import rows, tool_score

ROWS = rows("tool_evaluators.jsonl")


@pytest.mark.parametrize("tool", ["toolbench", "mcptoolbench", "tool_correctness", "evaluate"])
def test_contract_rows_give_the_original_result(tool: str) -> None:
    """Every field of the original; ours may have more."""
    wrong = []
    for row in ROWS:
        if (row["tool"], row["class"]) == (tool, "contract"):
            found = tool_score(row)
            read = {key: found.get(key) for key in row["result"]}
            if read != row["result"]:
                wrong.append(json.dumps({**row, "read": read}, ensure_ascii=False))
    assert wrong == []


@pytest.mark.parametrize("row", [row for row in ROWS if row["class"] == "crash"], ids=lambda row: str(row)[:50])
def test_rows_that_crash_the_original_are_unresolved(row: dict[str, object]) -> None:
    """Nothing is raised, and the result gives a reason."""
    found = tool_score(row)
    assert found.get("resolved", found.get("success")) is False
    assert found.get("error") or found.get("details")
