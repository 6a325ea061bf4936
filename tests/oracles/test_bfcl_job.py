"""The two jobs of the BFCL page, on a simulated vendor that answers what the rows expect."""

from __future__ import annotations

from typing import Any

import pytest
from adapters import job
from workbench import Bench

ANSWER = [{"name": "book_table", "args": {"people": 2, "time": "7pm"}}]
ROW = {
    "messages": [
        {"role": "user", "content": "Book a table for 2 at 7pm."},
        {"role": "assistant", "content": "Booking a table...", "tool_calls": ANSWER},
    ],
    "tool_calls": ANSWER,
}
CUSTOM = {"dataset": {"format": "native", "files_url": "rows.jsonl"}}


@pytest.mark.parametrize(
    ("name", "task", "values"),
    [
        ("academic", {}, {"Rank": 1.0, "Overall Acc": 1.23, "Python Simple AST": 100.0}),
        ("custom", CUSTOM, {"tool-calling-accuracy": 1.0}),
    ],
)
def test_result_page_of_a_job(name: str, task: dict[str, Any], values: dict[str, float], bench: Bench) -> None:
    """The names, the layout and the values of the page; latencies are there where it shows them."""
    bench.configure("official: faithful")
    bench.write("rows.jsonl", [ROW])
    content = {
        "type": "bfcl", "name": f"my-bfcl-{name}-config-1", "namespace": "my-organization",
        "params": {"limit_samples": 5}, "tasks": {"task1": {"type": "simple", **task}},
    }  # fmt: skip
    code, page = job(bench.write("job.json", content), bench.folder)
    metrics = page["tasks"]["task1"]["metrics"]
    found = {key: metric["scores"][key]["value"] for key, metric in metrics.items()}
    assert code == 0
    assert {key: found[key] for key in values} == values
    latencies = {f"Latency {kind} (s)" for kind in ("Mean", "Standard Deviation", "95th Percentile")}
    assert name == "custom" or latencies <= found.keys()
