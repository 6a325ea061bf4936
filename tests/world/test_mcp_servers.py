"""An MCP server of others: a vendor's model calls its tools, and solves rows that were written for it."""

from __future__ import annotations

import json

import pytest
from world_runs import Place
from world_servers import installed

from vendor_verifier.cli.main import run_app

pytestmark = pytest.mark.world

TIME = {"source_timezone": "Europe/Oslo", "time": "16:30", "target_timezone": "Asia/Tokyo"}
CALLS = {
    "What time is it in Tokyo (Asia/Tokyo)?": {"name": "get_current_time", "parameters": {"timezone": "Asia/Tokyo"}},
    "It is 16:30 in Oslo (Europe/Oslo). When is that in Tokyo?": {"name": "convert_time", "parameters": TIME},
}


def test_real_tools(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A faithful model solves the rows with mcp-server-time of PyPI: tools are listed, called and answer."""
    rows = [
        {"uuid": query, "call_type": "multi", "query": query, "tools": [call["name"]], "function_call_label": [call]}
        for query, call in CALLS.items()
    ]
    (place.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [str(installed("mcp", "mcp-server-time")), "--local-timezone", "Europe/Oslo"]
    options = {"server": command, "allow": [call["name"] for call in CALLS.values()], "test_file_path": "rows.jsonl"}
    (place.folder / "config.yaml").write_text(
        "simulated-model:\n  vendors:\n    - name: simulated\n      label: vendor\n      url: sim://faithful\n"
        f"      validator: openai\n      is_baseline: true\nsuites:\n  mcp_live: {json.dumps(options)}\n"
    )
    monkeypatch.chdir(place.folder)
    assert run_app("run -c config.yaml --suite mcp_live -o run -q --history none".split()) == 0
    results = [
        result for record in place.records() for turn in record["turns"] for result in turn.get("tool_results", ())
    ]
    assert place.vendors()["vendor"]["suites"]["mcp_live"]["values"]["resolved"] == 1.0
    assert len(results) == len(rows)
