"""``doctor`` through the command line, on simulated vendors and on servers that answer what they should not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fault_server import DONE, END, Script, Seen, chunk, event, head, say, serving, whole
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
    with serving(lambda _server, seen: good(seen)) as server:
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
    ],
)
def test_departures_are_reservations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], check: str, status: str
) -> None:
    """Exit 1, and only the check of the departure is not ok."""
    with serving(lambda _server, seen: good(seen, **change)) as server:
        configure(tmp_path, odd=server.url())
        code, found = doctor(tmp_path, capsys)
    assert code == 1
    assert {name: each for name, each in checks(found, "odd").items() if each != "ok"} == {check: status}


@pytest.mark.parametrize(
    ("status", "message", "failed"),
    [
        (401, "bad key", "key"),
        (404, "no such model", "model"),
        (400, "unknown model simulated-model", "model"),
        (500, "oops", "answers"),
    ],
)
def test_vendor_that_refuses_everything_is_not_usable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], status: int, message: str, failed: str
) -> None:
    """Exit 3; the check that the refusal is about fails, with the vendor's words."""
    with serving(lambda _server, _seen: say(whole({"error": {"message": message}}, status))) as server:
        configure(tmp_path, shut=f"{server.url()}/v1")
        code, found = doctor(tmp_path, capsys)
    assert code == 3
    assert checks(found, "shut")[failed] == "failed"
    assert {"answers", failed} == {name for name, each in checks(found, "shut").items() if each == "failed"}
    reason = next(check["reason"] for check in found["vendors"][0]["checks"] if check["name"] == failed)
    assert message in reason


@pytest.mark.parametrize("words", [("--verbose",), ("--json",)])
def test_key_and_control_characters_are_never_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """A vendor that echoes the key in a hostile body: scrubbed, escaped and capped."""
    body = {"error": {"message": f"bad key {KEY}\x1b[31m ::error:: " + "x" * 5000}}
    with serving(lambda _server, _seen: say(whole(body, 401))) as server:
        configure(tmp_path, echo=server.url())
        assert run_app(["doctor", "-c", str(tmp_path / "config.yaml"), *words]) == 3
    shown = capsys.readouterr()
    assert KEY in {seen.key for seen in server.seen}
    assert KEY not in shown.out + shown.err
    assert "[secret]" in shown.out
    assert "\x1b" not in shown.out
    assert len(shown.out) < 20_000
    assert "::error" not in shown.out or words == ("--json",)
