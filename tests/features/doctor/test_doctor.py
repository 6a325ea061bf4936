"""``doctor`` through the command line, on simulated vendors and on servers that answer what they should not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fault_server import DONE, END, FaultServer, Script, Seen, chunk, event, head, say, whole
from shared_vendors import OWN_COMMAND, OWN_START

from vendor_verifier.cli.main import run_app
from vendor_verifier.pipeline import simulated_vendors

KEY = "canary-key-0123456789abcdef"


def configure(folder: Path, **urls: str) -> Path:
    lines = ["simulated-model:", "  vendors:"]
    for number, (label, url) in enumerate(urls.items()):
        key = ", api_key: '${DOCTOR_KEY}', validator: openai" if url.startswith("http") else ""
        first = ", is_baseline: true" if not number else ""
        lines.append(f"    - {{name: simulated, label: {label}, model_id: simulated-model, url: '{url}'{key}{first}}}")
    path = folder / "config.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / ".env").write_text(f"DOCTOR_KEY={KEY}\n", encoding="utf-8")
    (folder / ".env").chmod(0o600)
    return path


@contextmanager
def serving(answer: Callable[[Seen], Script]) -> Iterator[FaultServer]:
    """A server in a thread of its own, because the command has its own event loop."""
    server = FaultServer(answer)
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            started.set()
            while not stop.is_set():
                await anyio.sleep(0.01)

    thread = threading.Thread(target=lambda: anyio.run(serve))
    thread.start()
    started.wait(5)
    try:
        yield server
    finally:
        stop.set()
        thread.join(5)


def good(
    seen: Seen, *, arguments: str = '{"city":"Paris"}', usage: bool = True, served: str = "simulated-model"
) -> Script:
    """A good vendor: a call when there is a tool, a text that really streams when not."""

    def piece(finish: str | None = None, **fields: Any) -> bytes:
        choices = [{"index": 0, "delta": fields, "finish_reason": finish}]
        return chunk(event({"id": "r", "model": served, "choices": choices}))

    counts = {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}
    end = chunk(event({"id": "r", "model": served, "choices": [], "usage": counts})) if usage else b""
    end += chunk(DONE) + END
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    if "tools" in seen.body:
        return say(head() + piece(tool_calls=[call]) + piece("tool_calls") + end)
    words = [(0.03, piece(content=f"number {number} ")) for number in range(8)]
    return Script([(0, head()), *words, (0.03, piece("stop") + end)], "keep")


def doctor(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = run_app(["doctor", "-c", str(folder / "config.yaml"), "--json", *words])
    return code, json.loads(capsys.readouterr().out)


def checks(found: dict[str, Any], label: str) -> dict[str, str]:
    vendor = next(vendor for vendor in found["vendors"] if vendor["label"] == label)
    return {check["name"]: check["status"] for check in vendor["checks"]}


def test_simulated_vendors_fail_the_check_of_their_defect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst vendor decides the exit code."""
    # Hurried, tokens lie so close together that a busy machine makes one burst of them.
    monkeypatch.setattr(simulated_vendors, "_command", OWN_COMMAND)
    monkeypatch.setattr(simulated_vendors, "_started", OWN_START)
    personas = ("faithful", "buffering", "substitute", "locked", "down")
    configure(tmp_path, **{name: f"sim://{name}" for name in personas})
    code, found = doctor(tmp_path, capsys)
    assert (code, found["exit_code"]) == (3, 3)
    assert {vendor["label"]: vendor["verdict"] for vendor in found["vendors"]} == {
        "faithful": "usable", "buffering": "usable_with_reservations", "substitute": "usable_with_reservations",
        "locked": "not_usable", "down": "not_usable",
    }  # fmt: skip
    assert checks(found, "buffering")["streaming"] == "failed"
    assert checks(found, "substitute")["served model"] == "failed"
    assert checks(found, "locked")["key"] == "failed"
    assert checks(found, "down")["answers"] == "failed"
    assert checks(found, "down")["key"] == "unknown"


def test_good_server_passes_all_seven_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two requests and exit 0; no run folder is left where the command was typed."""
    with serving(good) as server:
        configure(tmp_path, good=server.url())
        code, found = doctor(tmp_path, capsys)
    assert code == 0
    names = ["key", "model", "answers", "tools", "streaming", "usage", "served model"]
    assert checks(found, "good") == dict.fromkeys(names, "ok")
    assert found["vendors"][0]["first_token_ms"] > 0
    assert len(server.seen) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml", ".env"}


@pytest.mark.parametrize(
    ("change", "check", "status"),
    [
        ({"usage": False}, "usage", "warning"),
        ({"served": "other-model"}, "served model", "failed"),
        ({"arguments": "{city"}, "tools", "warning"),
        ({"arguments": '{"town": "Paris"}'}, "tools", "warning"),
    ],
)
def test_departures_are_reservations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], check: str, status: str
) -> None:
    """Exit 1, and only the check of the departure is not ok."""
    with serving(lambda seen: good(seen, **change)) as server:
        configure(tmp_path, odd=server.url())
        code, found = doctor(tmp_path, capsys)
    assert code == 1
    assert {name: each for name, each in checks(found, "odd").items() if each != "ok"} == {check: status}


def test_refused_tools_are_told_from_a_refused_vendor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text alone is answered: the tools check fails, the key is good."""

    def no_tools(seen: Seen) -> Script:
        return say(whole({"error": {"message": "tools?"}}, 400)) if "tools" in seen.body else good(seen)

    with serving(no_tools) as server:
        configure(tmp_path, plain=server.url())
        code, found = doctor(tmp_path, capsys)
    found_checks = checks(found, "plain")
    assert code == 1
    assert (found_checks["tools"], found_checks["answers"], found_checks["key"]) == ("failed", "warning", "ok")


@pytest.mark.parametrize(
    ("status", "message", "failed"),
    [
        (401, "bad key", "key"),
        (402, "no credit", "key"),
        (404, "no such model", "model"),
        (400, "unknown model simulated-model", "model"),
        (500, "oops", "answers"),
    ],
)
def test_vendor_that_refuses_everything_is_not_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], status: int, message: str, failed: str
) -> None:
    """Exit 3; the check that the refusal is about fails, with the vendor's words."""
    with serving(lambda _seen: say(whole({"error": {"message": message}}, status))) as server:
        configure(tmp_path, shut=f"{server.url()}/v1")
        code, found = doctor(tmp_path, capsys)
    assert code == 3
    assert checks(found, "shut")[failed] == "failed"
    assert {"answers", failed} == {name for name, each in checks(found, "shut").items() if each == "failed"}
    reason = next(check["reason"] for check in found["vendors"][0]["checks"] if check["name"] == failed)
    assert message in reason
    assert found["vendors"][0]["hints"] == []


@pytest.mark.parametrize("answer", [(404, "not found"), (200, "<html>a website</html>")])
def test_missing_v1_gets_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: tuple[int, str]) -> None:
    """An address that is no API and has no version in its path: the hint writes the url to try."""
    body = f"HTTP/1.1 {answer[0]} x\r\ncontent-length: {len(answer[1])}\r\ncontent-type: text/html\r\n\r\n{answer[1]}"

    with serving(lambda _seen: say(body.encode())) as server:
        address = server.url()
        configure(tmp_path, elsewhere=address)
        code, found = doctor(tmp_path, capsys)
    assert code == 3
    (hint,) = found["vendors"][0]["hints"]
    assert f"{address}/v1" in hint


def test_nobody_at_the_address(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A closed port shows nothing of key or model."""
    configure(tmp_path, gone="http://127.0.0.1:9/v1")
    code, found = doctor(tmp_path, capsys)
    assert code == 3
    assert {name for name, each in checks(found, "gone").items() if each != "unknown"} == {"answers"}


@pytest.mark.parametrize("words", [(), ("--verbose",), ("--json",)])
def test_key_and_control_characters_are_never_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """A vendor that echoes the key in a hostile body: scrubbed, escaped and capped."""
    body = {"error": {"message": f"bad key {KEY}\x1b[31m ::error:: " + "x" * 5000}}
    with serving(lambda _seen: say(whole(body, 401))) as server:
        configure(tmp_path, echo=server.url())
        assert run_app(["doctor", "-c", str(tmp_path / "config.yaml"), *words]) == 3
    shown = capsys.readouterr()
    assert KEY in {seen.key for seen in server.seen}
    assert KEY not in shown.out + shown.err
    assert "[secret]" in shown.out
    assert "\x1b" not in shown.out
    assert len(shown.out) < 20_000
    assert "::error" not in shown.out or words == ("--json",)


def test_table_has_a_line_for_each_vendor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Filters choose who is asked; --verbose gives the reason of every check."""
    configure(tmp_path, one="sim://faithful", two="sim://faithful")
    words = ["doctor", "-c", str(tmp_path / "config.yaml")]
    run_app(words)
    table = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert len(table) == 3
    assert table[0].split()[:4] == ["vendor", "verdict", "key", "model"]
    run_app([*words, "--vendor", "two", "--verbose"])
    shown = capsys.readouterr().out
    assert "one" not in shown.split("\n\n")[0]
    assert sum(line.startswith("two: ") for line in shown.splitlines()) == 7


@pytest.mark.parametrize("words", [("-c", "missing.yaml"), ("--model", "other")])
def test_mistakes_of_the_config_are_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Nothing is sent."""
    configure(tmp_path, one="sim://faithful")
    monkeypatch.chdir(tmp_path)
    assert run_app(["doctor", *words]) == 2
