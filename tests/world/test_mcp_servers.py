"""MCP servers of others: a vendor's model calls their tools, and solves rows that were written for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from world_runs import Place
from world_servers import installed, node_command

from vendor_verifier.cli.main import run_app

pytestmark = pytest.mark.world

TIME = {"source_timezone": "Europe/Oslo", "time": "16:30", "target_timezone": "Asia/Tokyo"}


def row(number: int, query: str, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    label = [{"name": name, "parameters": parameters} for name, parameters in calls]
    tools = [name for name, _ in calls]
    return {"uuid": f"w-{number}", "call_type": "multi", "query": query, "tools": tools, "function_call_label": label}


def of_python() -> tuple[Sequence[str], Sequence[str], list[dict[str, Any]]]:
    """mcp-server-time of PyPI: its command, the allowed tools and rows."""
    command = [str(installed("mcp", "mcp-server-time")), "--local-timezone", "Europe/Oslo"]
    rows = [
        row(1, "What time is it in Tokyo (Asia/Tokyo)?", ("get_current_time", {"timezone": "Asia/Tokyo"})),
        row(2, "It is 16:30 in Oslo (Europe/Oslo). What time is that in Tokyo (Asia/Tokyo)?", ("convert_time", TIME)),
    ]
    return command, ["get_current_time", "convert_time"], rows


def of_node() -> tuple[Sequence[str], Sequence[str], list[dict[str, Any]]]:
    """server-everything of npm, the reference of the protocol's own authors."""
    command = [str(node_command("mcp-server-everything"))]
    rows = [
        row(1, 'Have "hello" echoed.', ("echo", {"message": "hello"})),
        row(2, 'Have "hi" echoed, then add 2 and 3.', ("echo", {"message": "hi"}), ("get-sum", {"a": 2, "b": 3})),
    ]
    return command, ["echo", "get-sum"], rows


@pytest.mark.parametrize("server", [of_python, of_node], ids=["Python", "Node"])
def test_real_tools(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    server: Callable[[], Any],
) -> None:
    """A faithful model solves the rows with an MCP server of others: tools are listed, called and answer."""
    command, allowed, rows = server()
    (place.folder / "rows.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    options = json.dumps({"server": command, "allow": allowed, "test_file_path": "rows.jsonl", "tool_timeout": 120})
    (place.folder / "config.yaml").write_text(
        "simulated-model:\n  vendors:\n    - name: simulated\n      label: vendor\n      url: sim://faithful\n"
        f"      validator: openai\n      is_baseline: true\nsuites:\n  mcp_live: {options}\n"
    )
    monkeypatch.chdir(place.folder)
    code = run_app(
        ["run", "--config-file-path", "config.yaml", "--suite", "mcp_live", "-o", "run", "-q", "--history", "none"]
    )
    assert code == 0
    results = [
        result for record in place.records() for turn in record["turns"] for result in turn.get("tool_results", ())
    ]
    values = place.vendors()["vendor"]["suites"]["mcp_live"]["values"]
    assert values["resolved"] == 1.0
    assert len(results) == sum(len(each["function_call_label"]) for each in rows)
