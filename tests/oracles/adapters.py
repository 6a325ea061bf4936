"""What these tests know of the package: where its inside changes, one function changes. And the files of a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench import Bench

import vendor_verifier
from vendor_verifier import EvalTestCase, ToolCorrectnessMetric, VerifierError
from vendor_verifier.suites import bfcl
from vendor_verifier.suites.toolbench import MCPToolBenchSuite, ToolBenchSuite, evaluate_text

HERE = Path(__file__).parent
RUN = ("run", "--config-file-path", "config.yaml", "--test-file-path", "samples.jsonl", "-q")


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a JSONL file of this folder."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def tool_score(row: dict[str, Any]) -> dict[str, Any]:
    """The result of a tool evaluator for a row of ``tool_evaluators.jsonl``."""
    if row["tool"] in ("toolbench", "mcptoolbench"):
        suite = ToolBenchSuite() if row["tool"] == "toolbench" else MCPToolBenchSuite()
        return evaluate_text(suite, row["task"], row["solution"])
    case = row.get("case") or {"tools_called": row["called"], "expected_tools": row["expected"]}
    try:
        metrics = [ToolCorrectnessMetric(**row["options"])]
        (result,) = asyncio.run(vendor_verifier.evaluate([EvalTestCase(**case)], metrics))[0].results
    except VerifierError as error:
        return {"success": False, "error": str(error)}
    return {"score": result.score, "success": result.success, "error": result.reason}


def bfcl_verdict(row: dict[str, Any], calls: list[Any]) -> str | None:
    """The error type, None where the calls are right, ``crash`` where the row itself cannot be checked."""
    try:
        verdict = bfcl.check(row["functions"], calls, row["answer"], row["category"])
    except VerifierError:
        return "crash"
    assert verdict.valid == (verdict.error_type is None)
    return verdict.error_type


def command(arguments: Sequence[str | Path], folder: Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command typed in ``folder``."""
    with contextlib.chdir(folder):
        return Bench(folder)(*arguments)


def figures(run: Path, *names: str) -> dict[str, dict[str, Any]]:
    """Label → name → the figure or the F1 count of that name, from the scores of a run of one model."""
    (model,) = json.loads((run / "scores.json").read_text(encoding="utf-8"))["models"].values()
    return {
        label: {name: {**vendor["counts"], **vendor}[name] for name in names}
        for label, vendor in model["vendors"].items()
    }


def defects(run: Path) -> list[int]:
    """The lines of the data set that the scores blame."""
    found = json.loads((run / "scores.json").read_text(encoding="utf-8"))["dataset"]
    return [int(text.split(":")[0].removeprefix("line ")) for text in found]


def answers(run: Path) -> dict[str, dict[str, Any]]:
    """Label → what was read from the last answer to the one sample of a run."""
    lines = (run / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["label"]: _answer(record["turns"][-1]["attempts"][-1]) for record in map(json.loads, lines)}


def _answer(attempt: dict[str, Any]) -> dict[str, Any]:
    found = {}
    if response := attempt["response"]:
        fields = (
            "text", "reasoning", "finish_reason", "finish_raw", "served_model", "fingerprint", "request_id", "streamed",
            "anomalies",
        )  # fmt: skip
        found = {name: response[name] for name in fields}
        found["usage"] = {
            name: (response["usage"] or {}).get(name) for name in ("input", "output", "cached", "reasoning")
        }
        found["tool_calls"] = [[call["name"], call["arguments"], call["id"]] for call in response["tool_calls"]]
    if failure := attempt["failure"]:
        found["failure"] = {name: failure[name] for name in ("kind", "status", "code", "retry_after_s")}
    return found


def job(file: Path, folder: Path) -> tuple[int, dict[str, Any]]:
    """Exit code of a BFCL job, and the result page of the vendor ``official``."""
    code, _, err = command(["run", "--job", file, "--config-file-path", "config.yaml", "-o", "run"], folder)
    assert code in (0, 1, 3), err
    return code, json.loads((folder / "run" / "bfcl" / "official.json").read_text(encoding="utf-8"))


def problems(said: str) -> list[tuple[str, int | None, str]]:
    """File, line and the rest of each line of stderr that names a file; the rest begins with the key."""
    found = []
    for line in said.splitlines():
        if match := re.match(r"(?:error: )?(?:\S*/)?([\w.]+\.\w+|\.env)(?::(\d+))?: (.*)", line):
            found.append((match[1], int(match[2]) if match[2] else None, match[3]))
    return found
