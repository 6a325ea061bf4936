"""Servers that hang, die, flood, lie or babble: each call ends within its limits and in words, and no run is ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import hostile_mcp
import pytest
from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.features.mcp_live import server as server_module
from vendor_verifier.features.mcp_live.access import Access
from vendor_verifier.features.mcp_live.hooks import refuse_unusable
from vendor_verifier.features.mcp_live.server import LiveServer, ServerProblem
from vendor_verifier.values.tool_use import ToolRequest, ToolRun

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
# No test waits for a limit unless it is about it; what does, waits for the smallest that a busy machine never meets.
ACCESS = Access(("echo",), start_s=60, call_s=60, result_bytes=16_384, restarts=3, environment=ENVIRONMENT)


def access(way: str, *more: str, allowed: Sequence[str] = ("echo",), **limits: float) -> Access:
    command = (sys.executable, hostile_mcp.__file__, way, *more)
    return structs.replace(ACCESS, command=command, allowed=tuple(allowed), **limits)


def ran(reached: Access, *calls: ToolRequest, times: int = 1) -> list[ToolRun]:
    """The outcome of the same step, asked so many times of one server."""

    async def ask() -> list[ToolRun]:
        return [await server.run(calls) for _ in range(times)]

    with LiveServer(reached, ENVIRONMENT) as server:
        assert server.listing().problem is None
        return anyio.run(ask)


CALL = ToolRequest("echo", {"x": 1})


def test_a_good_server_answers() -> None:
    """So that what follows is the misbehaviour's doing."""
    (run,) = ran(access("good"), CALL, ToolRequest("echo", {"x": 2}))
    assert run.failure is None
    assert [(result.outcome, result.text) for result in run.results] == [("ok", "1"), ("ok", "2")]


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("die_at_call", "it ended with exit code 7"),
        pytest.param("huge_message", "a message of more than 4 MiB", marks=pytest.mark.slow),
        pytest.param("flood", "more than 16 MiB between two calls", marks=pytest.mark.slow),
        ("garbage_at_call", "more than 1000 lines to stdout that are no messages"),
        ("no_result", "echo: what it returned is no result of a tool"),
    ],
)
def test_a_server_that_fails_at_a_call_fails_that_call_in_words(way: str, words: str) -> None:
    """Each call in a sentence; started again so often, and then given up."""
    runs = ran(access(way, restarts=1), CALL, times=4)
    assert all(run.failure is not None and words in run.failure and not run.results for run in runs)
    given_up = [str(run.failure).startswith("the MCP server was started 2 times") for run in runs]
    assert given_up == [False, False, True, True]


def test_a_call_that_hangs_ends_with_its_time() -> None:
    """And the server with it, which could not be asked again."""
    (run,) = ran(access("hang_at_call", call_s=0.3), CALL)
    assert run.failure is not None
    assert "echo did not return within 0.3 s" in run.failure


def test_a_server_that_died_once_is_started_again(tmp_path: Path) -> None:
    """The call at which it died is not repeated, for nobody knows what it did; the next one works."""
    first, second = ran(access("die_once", str(tmp_path / "died")), CALL, times=2)
    assert first.failure is not None
    assert second.failure is None
    assert second.results[0].text == "1"


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("die_at_start", r"exit code 5; its last words: no licence \\x1b\[31mfound"),
        ("bad_schema", "list of tools cannot be read: .*inputSchema"),
        pytest.param("no_object", "list of tools cannot be read: .*inputSchema", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_does_not_start_is_told_in_words(way: str, words: str) -> None:
    """With its last words, harmless to a terminal."""
    with LiveServer(access(way), ENVIRONMENT) as server, pytest.raises(ServerProblem, match=words):
        server.listing()


def test_a_server_that_hangs_at_start_is_ended_in_time() -> None:
    """By the limit of the start."""
    reached = access("hang_at_start", start_s=0.5)
    with LiveServer(reached, ENVIRONMENT) as server, pytest.raises(ServerProblem, match="not ready within"):
        server.listing()


def test_a_command_that_is_none_is_told_in_words() -> None:
    """No traceback for a misspelt word."""
    reached, words = structs.replace(ACCESS, command=("no-such-command",)), "'no-such-command' cannot be started"
    with LiveServer(reached, ENVIRONMENT) as server, pytest.raises(ServerProblem, match=words):
        server.listing()


@pytest.mark.parametrize("way", ["noisy", "asks_back", pytest.param("endless_pages", marks=pytest.mark.slow)])
def test_what_is_only_odd_is_borne(way: str) -> None:
    """A greeting on stdout, a megabyte of log, a wish for sampling, a list that never ends."""
    (run,) = ran(access(way), CALL)
    assert run.failure is None
    assert run.results[0].text == "1"


@pytest.mark.slow
def test_what_a_tool_says_of_itself_and_its_errors_are_results() -> None:
    """``isError`` and errors of the protocol go back to the model; a picture is named and not sent."""
    for way, outcome, text in (
        ("tool_error", "error", "1"),
        ("protocol_error", "error", "x is not to my taste"),
        ("picture", "ok", "[image, not shown]"),
    ):
        (run,) = ran(access(way), CALL)
        assert [(result.outcome, result.text) for result in run.results] == [(outcome, text)]


def test_a_long_result_is_cut_within_its_bytes() -> None:
    """In whole characters, with a note that the model reads."""
    (run,) = ran(access("large_result", result_bytes=1_001), CALL)
    (result,) = run.results
    assert result.text.startswith("ä" * 500 + "\n[199500 more characters are left out]")
    assert result.left_out == 199_500


def test_a_tool_that_is_not_allowed_never_reaches_the_server() -> None:
    """Whatever hint it claims: without ``echo`` among the allowed the server, which would die of it, sees no call."""
    (run,) = ran(access("die_at_call", allowed=["other"]), CALL)
    assert run.failure is None
    assert [result.outcome for result in run.results] == ["not_allowed"]


@pytest.mark.slow
def test_ten_thousand_tools_are_listed_and_a_few_named() -> None:
    """The allowed one works; the message that lists them stays short."""
    reached = access("many_tools")
    with LiveServer(reached, ENVIRONMENT) as server:
        listing = server.listing()
    assert len(listing.names) == 10_001
    with pytest.raises(UsageError, match=r"tool_00058 and 9941 more\.") as refused:
        refuse_unusable(listing, ())
    assert len(str(refused.value)) < 1_500


@pytest.mark.slow
def test_a_schema_that_is_too_long_is_refused() -> None:
    """If the tool is allowed: it would be paid for with every question."""
    with LiveServer(access("long_schema"), ENVIRONMENT) as server:
        listing = server.listing()
    with pytest.raises(UsageError, match="longer than 65536 characters"):
        refuse_unusable(listing, ("echo",))


@pytest.mark.slow
def test_a_long_description_is_cut() -> None:
    """Of a megabyte the model reads the beginning."""
    with LiveServer(access("long_description"), ENVIRONMENT) as server:
        listing = server.listing()
    assert len(listing.declared["echo"]["function"]["description"]) == 8_192


def test_the_server_has_only_the_variables_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ours, whoever started it."""
    monkeypatch.setenv("openrouter", "sk-CANARY-0123456789")
    (run,) = ran(structs.replace(access("environment"), environment={**ENVIRONMENT, "MINE": "1"}), CALL)
    seen = run.results[0].text
    assert "CANARY" not in seen
    # The interpreter adds its own on some platforms.
    assert {"PATH", "MINE"} <= set(json.loads(seen)) <= {"PATH", "MINE", "LC_CTYPE"}


def test_calls_of_many_samples_go_one_after_the_other_and_each_gets_its_own() -> None:
    """Asked at once, none gets another's result; who gives up waiting takes nobody along."""

    async def ask() -> list[ToolRun | None]:
        results: list[ToolRun | None] = [None] * 20

        async def one(number: int) -> None:
            with anyio.move_on_after(0 if number % 5 == 0 else 600):
                results[number] = await server.run([ToolRequest("echo", {"x": number})])

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)
        return results

    with LiveServer(access("good"), ENVIRONMENT) as server:
        server.listing()
        found = anyio.run(ask)
    texts = {number: run.results[0].text for number, run in enumerate(found) if run is not None}
    assert texts == {number: str(number) for number in range(20) if number % 5}


def test_a_process_between_that_ends_is_told_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as an SDK that is too old for us: the run says so and sends nothing."""
    monkeypatch.setattr(server_module, "_PROGRAM", "raise ImportError('no Client in mcp 1.9')")
    with LiveServer(access("good"), ENVIRONMENT) as server, pytest.raises(ServerProblem, match="no Client in mcp"):
        server.listing()


def test_arguments_of_any_kind_reach_the_server_or_hurt_nobody() -> None:
    """Numbers beyond 64 bits, half characters and depth are a model's to write; the calls after them go on."""
    deep: dict[str, object] = {}
    for _ in range(190):
        deep = {"x": deep}
    odd: list[dict[str, object]] = [{"x": 10**30}, {"x": "half \ud800"}, {"\udc00": 1}, deep]
    (run,) = ran(access("good"), *(ToolRequest("echo", each) for each in odd), CALL)
    assert run.failure is None
    assert [result.outcome for result in run.results] == ["ok"] * 5
    assert run.results[0].text == str(10**30)
    assert run.results[1].text == "half \ufffd"
    assert run.results[-1].text == "1"
