"""A whole run with real tools: simulated vendors, the server that ships, and everything a user sees of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from benches import Bench

from vendor_verifier.resources import shipped

TOOLS = [
    *("get_weather", "get_forecast", "get_stock_price", "get_exchange_rate"),
    *("list_events", "create_event", "find_contact", "send_message", "today"),
]
LIVE = (
    "--suite", "mcp_live", "--suite-option", "mcp_live.server=demo",
    "--suite-option", f"mcp_live.allow={','.join(TOOLS)}", "--no-history",
)  # fmt: skip


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]


def processes(word: str) -> list[str]:
    """The processes of this machine whose command line has the word."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


def test_a_faithful_vendor_solves_every_row_and_a_worse_one_does_not(bench: Bench) -> None:
    """Tools answer, results come back, all rows resolve; what tools returned is kept, and no server is left running."""
    bench.configure("good: faithful", "bad: substitute")
    code, scores = bench.run(*LIVE)
    assert code == 0
    vendors = scores["models"]["simulated-model"]["vendors"]
    good, bad = (vendors[name]["suites"]["mcp_live"]["values"] for name in ("good", "bad"))
    assert good["resolved"] == good["tool_success"] == good["finished"] == 1.0
    assert bad["resolved"] < 0.8
    kept = records(bench.folder / "run")
    results = [result for record in kept for turn in record["turns"] for result in turn.get("tool_results", ())]
    assert any("degrees" in result["text"] for result in results)
    assert all(result["took_ns"] > 0 for result in results if result["outcome"] == "ok")
    assert not [line for line in processes("mcp_live") if str(os.getpid()) in line]


def test_it_is_scored_and_explained_again_without_a_server(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the folder alone, with no process started."""
    bench.configure("good: faithful")
    _, before = bench.run(*LIVE, "-n", "6")
    monkeypatch.setattr(subprocess, "Popen", _never)
    code, out, err = bench("score", bench.folder / "run", "--no-history", "--json")
    assert code == 0, err
    values = "models", "simulated-model", "vendors", "good", "suites", "mcp_live", "values"
    assert _at(json.loads(out), *values) == _at(before, *values)
    sample = next(r["sample"] for r in records(bench.folder / "run") if "tool_results" in r["turns"][0])
    code, out, err = bench("explain", bench.folder / "run", "--vendor", "good", "--sample", sample)
    assert code == 0, err
    assert "in no figure of the vendor): " in out


def test_a_plan_and_a_dry_run_start_no_server(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """They say so, name the tools, and count a request for each expected call and one for the end."""
    bench.configure("good: faithful")
    monkeypatch.setattr(subprocess, "Popen", _never)
    config = ("--config-file-path", bench.folder / "config.yaml", *LIVE)
    code, out, err = bench("run", "--dry-run", *config)
    assert code == 0, err
    assert "no plan starts the server (demo)" in out
    code, out, err = bench("plan", *[word for word in config if word != "--no-history"], "--json")
    assert code == 0, err
    assert "no plan starts the server (demo)" in err
    rows = [json.loads(line) for line in shipped("datasets/mcp_live.jsonl").read_text().splitlines()]
    assert json.loads(out)["requests"] == sum(len(row["function_call_label"]) + 1 for row in rows)


def test_without_allowed_tools_nothing_runs_and_the_message_lists_them(bench: Bench) -> None:
    """Nothing is sent, and the line to write stands in the message."""
    bench.configure("good: faithful")
    paths = ("--config-file-path", bench.folder / "config.yaml", "-o", bench.folder / "run")
    code, _, err = bench(*paths, "--suite", "mcp_live", "--suite-option", "mcp_live.server=demo")
    assert code == 2
    assert "demo 1.0 offers get_weather, get_forecast" in err
    assert "--suite-option mcp_live.allow=get_weather,get_forecast,get_stock_price" in err
    assert not (bench.folder / "run").exists()


@pytest.mark.slow
def test_a_failed_server_charges_nobody_and_the_run_goes_on_later(bench: Bench) -> None:
    """The samples are ours, not the vendor's; with the server mended `--incremental` asks exactly those."""
    broken, server = bench.folder / "broken", bench.folder / "server.py"
    server.write_text(_FRAGILE.format(broken=str(broken)))
    bench.configure("good: faithful")
    broken.touch()
    live = [word.replace("server=demo", f"server={sys.executable} {server}") for word in LIVE]
    _, scores = bench.run(*live, "--suite-option", "mcp_live.max_restarts=0")
    vendor = scores["models"]["simulated-model"]["vendors"]["good"]
    # Whoever had its answers before the first failure has solved its row; nobody else counts.
    assert vendor["suites"]["mcp_live"]["values"].get("resolved", 1.0) == 1.0
    assert set(vendor["failures"]) == {"tool_server"}
    kept = records(bench.folder / "run")
    assert len(kept) == 24
    broken.unlink()
    _, scores = bench.run(*live, "--suite-option", "mcp_live.max_restarts=0", "--incremental")
    vendor = scores["models"]["simulated-model"]["vendors"]["good"]
    assert vendor["suites"]["mcp_live"]["values"]["resolved"] == 1.0
    assert not vendor["failures"]


@pytest.mark.parametrize("flags", [("--workers", "2"), ("--executor", "dask", "--dask-local", "2")])
def test_several_processes_are_refused_in_a_sentence(bench: Bench, flags: tuple[str, ...]) -> None:
    """There is one server for one sending process."""
    bench.configure("good: faithful")
    code, _, err = bench("--config-file-path", bench.folder / "config.yaml", *LIVE, *flags)
    assert code == 2
    assert "one MCP server for one sending process" in err


@pytest.mark.slow
def test_ctrl_c_ends_the_server_with_all_it_started(bench: Bench, tmp_path: Path) -> None:
    """Also one that hangs at a call, ignores SIGTERM and has a child of its own."""
    server = tmp_path / "stubborn.py"
    server.write_text(_STUBBORN)
    bench.configure("good: faithful")
    live = [word.replace("server=demo", f"server={sys.executable} {server}") for word in LIVE]
    command = [sys.executable, "-m", "vendor_verifier", "--config-file-path", "config.yaml", "-o", "run", "-q", *live]
    with subprocess.Popen(command, cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not (tmp_path / "hanging").exists():
            assert process.poll() is None
            time.sleep(0.02)
        assert len(processes(str(server))) >= 2
        process.send_signal(signal.SIGINT)
        process.wait()
    assert process.returncode == 128 + signal.SIGINT
    assert processes(str(server)) == []


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value[key]
    return value


def _never(*_: object, **__: object) -> None:
    raise AssertionError("a process was started")


_FRAGILE = """
import os, sys
from vendor_verifier.features.mcp_live import demo_server
if os.path.exists({broken!r}):
    def break_down(*_):
        os._exit(3)
    demo_server._known = demo_server._day = break_down
demo_server.main()
"""

_STUBBORN = """
import pathlib, signal, subprocess, sys, time
from vendor_verifier.features.mcp_live import demo_server
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) > 1:
    time.sleep(600)
subprocess.Popen([sys.executable, __file__, "child"], stdout=subprocess.DEVNULL)
def hang(*_):
    pathlib.Path(__file__).with_name("hanging").touch()
    time.sleep(600)
demo_server._known = demo_server._day = hang
demo_server.main()
"""
