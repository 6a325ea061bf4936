"""What options may say of a server, and who never starts one."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

import pytest
from benches import Bench

from vendor_verifier.features.mcp_live.hooks import McpLiveHooks
from vendor_verifier.suites.mcp_live import McpLiveSuite

KEY = "sk-" + "CANARY0123456789abcdef"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("allow: [a]", "no server is named"),
        (f"server: tool --key {KEY}", "looks like a key"),
        ("url: https://me:word@tools.example/mcp", "holds what looks like a secret"),
        ("url: ftp://tools.example", "expected an address such as"),
        ("server: demo\n    headers: {X: '${A}'}", "headers go to a server with a url"),
        ("url: http://tools.example/mcp\n    headers: {X: '${A}'}", "would go unencrypted"),
        ("url: https://tools.example/mcp\n    environment: [A]", "only a server that is started has an environment"),
        ("url: https://tools.example/mcp\n    headers: {X: abc}", "names no variable"),
        ("server: demo\n    allow: [nothing_like_it]", "no row of mcp_live.jsonl can be resolved"),
        ("server: demo\n    allowed: [a]", "unknown option"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_key(bench: Bench, options: str, words: str) -> None:
    """In words, and without the secret in them."""
    bench.configure("good: faithful", extra=f"suites:\n  mcp_live:\n    {options}\n")
    code, _, err = bench("--config-file-path", "config.yaml", "--suite", "mcp_live", "--dry-run")
    assert code == 2
    assert words in err
    assert "suites.mcp_live" in err
    assert KEY not in err


@pytest.mark.parametrize("option", [f"server=tool --key {KEY}", f"url=https://tools.example/mcp?key={KEY}"])
def test_a_literal_key_on_the_command_line_is_refused(bench: Bench, option: str) -> None:
    """It would stand in the manifest; the words do not repeat it."""
    bench.configure("good: faithful")
    words = ("--config-file-path", "config.yaml", "--suite", "mcp_live", "--suite-option", f"mcp_live.{option}")
    code, _, err = bench(*words)
    assert code == 2
    assert ".env" in err
    assert KEY not in err


def test_an_address_may_come_from_env_and_is_a_secret_then(bench: Bench) -> None:
    """Some hosts give each user a secret address."""
    (bench.folder / ".env").write_text(f"MCP_URL=ftp://tools.example/{KEY}\n")
    bench.configure("good: faithful", extra="suites:\n  mcp_live:\n    url: ${MCP_URL}\n    allow: [today]\n")
    paths = ("--config-file-path", "config.yaml", "--suite", "mcp_live", "-o", "run", "--no-history")
    assert bench(*paths, "--dry-run")[0] == 0
    code, _, err = bench(*paths)
    assert code == 2
    assert "expected an address" in err
    assert KEY not in err


def test_a_variable_with_a_vendors_key_goes_to_no_server(bench: Bench) -> None:
    """Nobody else pays for what a tool would do with it."""
    (bench.folder / ".env").write_text(f"simulated={KEY}\n")
    path = bench.configure(
        "good: faithful", extra="suites:\n  mcp_live:\n    server: demo\n    environment: [together]\n"
    )
    path.write_text(
        path.read_text().replace("url: sim://faithful", "url: https://v.example/v1\n      api_key_env: together")
    )
    code, _, err = bench("--config-file-path", "config.yaml", "--suite", "mcp_live", "--dry-run")
    assert code == 2
    assert "together holds the key of good, which no MCP server gets" in err


def test_a_missing_variable_stops_the_run_and_not_the_plan(bench: Bench) -> None:
    """As with a vendor's key."""
    extra = "suites:\n  mcp_live:\n    server: demo\n    allow: [today]\n    environment: [MY_MCP_THING]\n"
    bench.configure("good: faithful", extra=extra)
    paths = ("--config-file-path", "config.yaml", "--suite", "mcp_live", "-o", "run", "--no-history")
    assert bench(*paths, "--dry-run")[0] == 0
    code, _, err = bench(*paths)
    assert code == 2
    assert "names `MY_MCP_THING`, which hold no value" in err


def test_an_allowed_tool_that_the_server_lacks_is_refused(bench: Bench) -> None:
    """With the list of those it has."""
    bench.configure("good: faithful", extra="suites:\n  mcp_live:\n    server: demo\n    allow: [today, delete_all]\n")
    code, _, err = bench("--config-file-path", "config.yaml", "--suite", "mcp_live", "-o", "run", "--no-history")
    assert code == 2
    assert "delete_all is none of its tools; demo 1.0 offers get_weather" in err


@pytest.mark.parametrize("given", [{"openrouter": KEY, "PATH": "/bin", "SHLVL": "1"}, {}])
def test_the_environment_is_a_short_list(given: Mapping[str, str]) -> None:
    """Of the harmless variables those there are, and nothing else."""
    hooks = McpLiveHooks(McpLiveSuite(server="demo"), None, given)
    assert hooks.environment() == {name: value for name, value in given.items() if name == "PATH"}


@pytest.mark.parametrize(
    "job",
    [
        '{"type": "custom", "mcp_server": {"command": "touch", "args": ["started"]}}',
        "benchmark: mcptoolbench\nmcp_server:\n  command: touch\n  args: [started]\nmodel: sonnet\n",
    ],
)
def test_no_job_or_configuration_of_other_programs_starts_a_server(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    """A job of the leaderboard and a YAML of mcpbr name commands; neither is run, and both are refused."""
    monkeypatch.setattr(subprocess, "Popen", _never)
    bench.configure("good: faithful")
    (bench.folder / "job").write_text(job)
    for command in (("bfcl", "--job", "job"), ("run", "--config-file-path", "job", "--suite", "mcp_live")):
        code, _, err = bench(*command)
        assert code == 2, err
    assert not (bench.folder / "started").exists()


def test_without_the_sdk_a_sentence_says_how_to_get_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read or sent."""
    monkeypatch.setattr("vendor_verifier.features.mcp_live.hooks.find_spec", lambda _name: None)
    bench.configure("good: faithful", extra="suites:\n  mcp_live:\n    server: demo\n    allow: [today]\n")
    code, _, err = bench("--config-file-path", "config.yaml", "--suite", "mcp_live")
    assert code == 2
    assert "pip install '.[mcp]'" in err


def _never(*_: object, **__: object) -> None:
    raise AssertionError("a process was started")
