"""``doctor`` through the command line, on simulated vendors and on servers that answer what they should not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fault_server import DONE, END, Script, Seen, chunk, event, head, say, serving, whole
from shared_vendors import OWN_COMMAND, OWN_START
from workbench import Bench

from vendor_verifier.pipeline import simulated_vendors

KEY = "canary-key-0123456789abcdef"


def doctor(bench: Bench, *words: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = bench("doctor", "-c", bench.folder / "config.yaml", "--json", *words)
    return code, json.loads(out)


def configure(bench: Bench, *vendors: str) -> None:
    bench.configure(*vendors, api_key="${DOCTOR_KEY}")
    bench.write(".env", f"DOCTOR_KEY={KEY}\n").chmod(0o600)


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


def checks(found: dict[str, Any], label: str) -> dict[str, str]:
    vendor = next(vendor for vendor in found["vendors"] if vendor["label"] == label)
    return {check["name"]: check["status"] for check in vendor["checks"]}


def test_simulated_vendors_fail_the_check_of_their_defect(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst vendor decides the exit code."""
    # Hurried, tokens lie so close together that a busy machine makes one burst of them.
    monkeypatch.setattr(simulated_vendors, "_command", OWN_COMMAND)
    monkeypatch.setattr(simulated_vendors, "_started", OWN_START)
    personas = ("faithful", "buffering", "substitute", "locked", "down")
    bench.configure(*(f"{name}: {name}" for name in personas))
    code, found = doctor(bench)
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


def test_good_server_passes_all_seven_checks(bench: Bench) -> None:
    """Two requests and exit 0; no run folder is left where the command was typed."""
    with serving(lambda _server, seen: good(seen)) as server:
        configure(bench, f"good: {server.url()}")
        code, found = doctor(bench)
    assert code == 0
    names = ["key", "model", "answers", "tools", "streaming", "usage", "served model"]
    assert checks(found, "good") == dict.fromkeys(names, "ok")
    assert found["vendors"][0]["first_token_ms"] > 0
    assert len(server.seen) == 2
    assert {path.name for path in bench.folder.iterdir()} == {"config.yaml", ".env"}


@pytest.mark.parametrize(
    ("change", "check", "status"),
    [
        ({"usage": False}, "usage", "warning"),
        ({"served": "other-model"}, "served model", "failed"),
        ({"arguments": "{city"}, "tools", "warning"),
    ],
)
def test_departures_are_reservations(bench: Bench, change: dict[str, Any], check: str, status: str) -> None:
    """Exit 1, and only the check of the departure is not ok."""
    with serving(lambda _server, seen: good(seen, **change)) as server:
        configure(bench, f"odd: {server.url()}")
        code, found = doctor(bench)
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
def test_vendor_that_refuses_everything_is_not_usable(bench: Bench, status: int, message: str, failed: str) -> None:
    """Exit 3; the check that the refusal is about fails, with the vendor's words."""
    with serving(lambda _server, _seen: say(whole({"error": {"message": message}}, status))) as server:
        configure(bench, f"shut: {server.url()}/v1")
        code, found = doctor(bench)
    assert code == 3
    assert checks(found, "shut")[failed] == "failed"
    assert {"answers", failed} == {name for name, each in checks(found, "shut").items() if each == "failed"}
    reason = next(check["reason"] for check in found["vendors"][0]["checks"] if check["name"] == failed)
    assert message in reason


@pytest.mark.parametrize("words", [("--verbose",), ("--json",)])
def test_key_and_control_characters_are_never_printed(bench: Bench, words: tuple[str, ...]) -> None:
    """A vendor that echoes the key in a hostile body: scrubbed, escaped and capped."""
    body = {"error": {"message": f"bad key {KEY}\x1b[31m ::error:: " + "x" * 5000}}
    with serving(lambda _server, _seen: say(whole(body, 401))) as server:
        configure(bench, f"echo: {server.url()}")
        code, out, err = bench("doctor", "-c", bench.folder / "config.yaml", *words)
    assert code == 3
    assert KEY in {seen.key for seen in server.seen}
    assert KEY not in out + err
    assert "[secret]" in out
    assert "\x1b" not in out
    assert len(out) < 20_000
    assert "::error" not in out or words == ("--json",)
