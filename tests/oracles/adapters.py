"""The only file of this folder that knows how the package is called; where its inside changes, one function changes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import vendor_verifier
from vendor_verifier import EvalTestCase, ToolCorrectnessMetric, VerifierError
from vendor_verifier.suites import bfcl, mcp_toolbench, tool_correctness, toolbench

HERE = Path(__file__).parent


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a JSONL file of this folder."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def tool_score(row: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool evaluator for a row of ``tool_evaluators.jsonl``."""
    if row["tool"] == "toolbench":
        return toolbench.evaluate(row["task"], row["solution"])
    if row["tool"] == "mcptoolbench":
        return mcp_toolbench.evaluate(row["task"], row["solution"])
    if row["tool"] == "tool_correctness":
        result = tool_correctness.score(row["expected"], row["called"], **row["options"])
        return {"score": result.score, "success": result.success, "error": result.reason}
    cases, metrics = [EvalTestCase(**row["case"])], [ToolCorrectnessMetric(**row["options"])]
    (result,) = asyncio.run(vendor_verifier.evaluate(cases, metrics))[0].results
    return {"score": result.score, "success": result.success}


def bfcl_verdict(row: dict[str, Any], calls: list[Any]) -> str | None:
    """The error type, None where the calls are right, ``crash`` where the row itself cannot be checked."""
    options = {key: row[key] for key in ("category", "language", "underscore_to_dot") if key in row}
    try:
        verdict = bfcl.check(row["functions"], calls, row["answer"], **options)
    except VerifierError:
        return "crash"
    assert verdict.valid == (verdict.error_type is None)
    return verdict.error_type
