"""An MCP server of others: a vendor's model calls its tools, and solves rows that were written for it."""

from __future__ import annotations

import json

import pytest
from workbench import Bench
from world_servers import installed

pytestmark = pytest.mark.world

TIME = {"source_timezone": "Europe/Oslo", "time": "16:30", "target_timezone": "Asia/Tokyo"}
CALLS = {
    "What time is it in Tokyo (Asia/Tokyo)?": {"name": "get_current_time", "parameters": {"timezone": "Asia/Tokyo"}},
    "It is 16:30 in Oslo (Europe/Oslo). When is that in Tokyo?": {"name": "convert_time", "parameters": TIME},
}


def test_real_tools(bench: Bench) -> None:
    """A faithful model solves the rows with mcp-server-time of PyPI: tools are listed, called and answer."""
    rows = [
        {"uuid": query, "call_type": "multi", "query": query, "tools": [call["name"]], "function_call_label": [call]}
        for query, call in CALLS.items()
    ]
    bench.write("rows.jsonl", rows)
    command = [str(installed("mcp", "mcp-server-time")), "--local-timezone", "Europe/Oslo"]
    options = {"server": command, "allow": [call["name"] for call in CALLS.values()], "test_file_path": "rows.jsonl"}
    bench.configure("vendor: faithful", extra=f"suites:\n  mcp_live: {json.dumps(options)}\n")
    assert bench("run", "-c", "config.yaml", "--suite", "mcp_live", "-o", "run", "-q")[0] == 0
    results = [
        result for record in bench.records() for turn in record["turns"] for result in turn.get("tool_results", ())
    ]
    assert bench.vendors()["vendor"]["suites"]["mcp_live"]["values"]["resolved"] == 1.0
    assert len(results) == len(rows)
