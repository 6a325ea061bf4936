"""The rows that ship fit the server that ships."""

from __future__ import annotations

import json
import os
import sys

import anyio

from vendor_verifier.features.mcp_live.access import Access
from vendor_verifier.features.mcp_live.server import LiveServer
from vendor_verifier.loaders.tool_rows import call_defects
from vendor_verifier.resources import shipped
from vendor_verifier.values.tool_use import ToolRequest, ToolRun

ROWS = [json.loads(line) for line in shipped("datasets/mcp_live.jsonl").read_text("utf-8").splitlines()]


def test_every_expected_call_is_valid_and_answered_and_leads_to_the_next() -> None:
    """By the server's own schemas; what a later call needs stands in an earlier result or in the question."""
    names = tuple(ROWS[0]["tools"])
    command = (sys.executable, "-P", "-m", "vendor_verifier.features.mcp_live.demo_server")
    environment = {"PATH": os.environ["PATH"]}
    access = Access(names, 60, 60, 16_384, 0, command=command, environment=environment)
    with LiveServer(access, environment) as server:
        listing = server.listing()

        async def ask() -> list[ToolRun]:
            return [
                await server.run([ToolRequest(call["name"], call["parameters"]) for call in row["function_call_label"]])
                for row in ROWS
            ]

        runs = anyio.run(ask)
    tools = [listing.declared[name] for name in names]
    assert sorted(listing.names) == sorted(names)
    for row, run in zip(ROWS, runs, strict=True):
        calls = row["function_call_label"]
        assert call_defects(tools, calls) == []
        assert [result.outcome for result in run.results] == ["ok"] * len(calls)
        known = row["query"]
        for call, result in zip(calls, run.results, strict=True):
            values = [str(value) for key, value in call["parameters"].items() if key not in LOOSE]
            assert all(value.casefold() in known.casefold() for value in values)
            known += result.text


# Said in other words than the value, such as "euros" or the name of a unit.
LOOSE = {"unit", "from_currency", "to_currency"}


def test_rows_have_ids_and_both_kinds() -> None:
    """Twenty-four, single and multi."""
    assert len({row["uuid"] for row in ROWS}) == 24
    assert {row["call_type"] for row in ROWS} == {"single", "multi"}
