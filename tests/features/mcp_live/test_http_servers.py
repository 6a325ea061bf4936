"""MCP servers over streamable HTTP: they answer, get their headers, and what is no answer of a tool is our failure."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from benches import Bench
from http_mcp import WebServer, web_server

from vendor_verifier.features.mcp_live.access import Access
from vendor_verifier.features.mcp_live.server import LiveServer
from vendor_verifier.values.tool_use import ToolRequest, ToolRun

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def ran(server: WebServer) -> ToolRun:
    """One call, of the one tool, with a header."""
    headers = {"Authorization": "Bearer secret"}
    access = Access(("echo",), start_s=60, call_s=60, result_bytes=1_000, restarts=0, url=server.url, headers=headers)
    with LiveServer(access, ENVIRONMENT) as live:
        assert live.listing().server == "web 1"

        async def ask() -> ToolRun:
            return await live.run([ToolRequest("echo", {})])

        return anyio.run(ask)


def test_a_tool_answers_and_its_server_gets_the_headers() -> None:
    """With every request, and no packed answer is asked for."""
    with web_server() as server:
        run = ran(server)
    assert [(result.outcome, result.text) for result in run.results] == [("ok", "z")]
    assert {seen["authorization"] for seen in server.seen} == {"Bearer secret"}
    assert {seen["accept-encoding"] for seen in server.seen} == {"identity"}


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("die", "Server disconnected"),
        ("500", "it answered HTTP 500"),
        pytest.param("404", "it answered HTTP 404", marks=pytest.mark.slow),
        pytest.param("page", "it answered HTTP 200 with text/html", marks=pytest.mark.slow),
        pytest.param("huge", "more than 16 MiB between two calls", marks=pytest.mark.slow),
        ("packed", "it packed its answer"),
    ],
)
def test_what_is_no_answer_of_a_tool_is_told_in_words(way: str, words: str) -> None:
    """A door's or server's word is no error of a tool that a model could do anything about."""
    with web_server(way) as server:
        run = ran(server)
    assert run.failure is not None
    assert words in run.failure


@pytest.fixture
def demo_url() -> Iterator[str]:
    """The demo server over streamable HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    command = [sys.executable, "-m", "vendor_verifier.features.mcp_live.demo_server", "--http", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def test_a_whole_run_over_http_with_a_token_from_env(bench: Bench, demo_url: str) -> None:
    """Configured in a file; the token is in no artefact."""
    (bench.folder / ".env").write_text("MCP_TOKEN=sk-CANARY-0123456789abcdef\n")
    extra = f"""
suites:
  mcp_live:
    url: {demo_url}
    allow: [get_weather, get_forecast, get_stock_price, get_exchange_rate, list_events, find_contact, today]
    headers:
      Authorization: Bearer ${{MCP_TOKEN}}
    filter_category: [weather, finance]
    start_timeout: 60
"""
    bench.configure("good: faithful", extra=extra)
    _, scores = bench.run("--suite", "mcp_live", "--no-history")
    vendor = scores["models"]["simulated-model"]["vendors"]["good"]
    assert vendor["suites"]["mcp_live"]["values"]["resolved"] == 1.0
    written = [path.read_bytes() for path in Path(bench.folder / "run").rglob("*") if path.is_file()]
    assert not any(b"CANARY" in data for data in written)
