"""``doctor`` through the command line, on servers that answer as they should, and as they should not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fault_server import DONE, END, Script, Seen, chunk, event, head, say, serving, whole
from workbench import Bench

KEY = "canary-key-0123456789abcdef"
# Settings of runs that say nothing of a vendor.
OF_RUNS = """\
run: {redact_content: true, max_requests: 1, repeat: 2, suite: [bfcl], filter_category: [none], request_rate: 1}
suites: {trigger: {sample_size: 1}}
"""


def doctor(bench: Bench, *words: str) -> tuple[int, dict[str, Any]]:
    code, out, err = bench("doctor", "-c", bench.folder / "config.yaml", "--json", *words)
    assert "warning" not in err
    return code, json.loads(out)


def configure(bench: Bench, *vendors: str, extra: str = "") -> None:
    bench.configure(*vendors, extra=extra, api_key="${DOCTOR_KEY}")
    bench.write(".env", f"DOCTOR_KEY={KEY}\n").chmod(0o600)


def good(
    seen: Seen,
    arguments: str = '{"city":"Paris"}',
    served: str = "simulated-model",
    tokens: int | None = 80,
    gap_s: float = 0.03,
) -> Script:
    """A good vendor: a call when there is a tool, a text that really streams when not."""

    def piece(finish: str | None = None, **fields: Any) -> bytes:
        choices = [{"index": 0, "delta": fields, "finish_reason": finish}]
        return chunk(event({"id": "r", "model": served, "choices": choices}))

    counts = {"prompt_tokens": 9, "completion_tokens": tokens}
    end = chunk(event({"id": "r", "choices": [], "usage": counts})) if tokens else b""
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    if "tools" in seen.body:
        return say(head() + piece(tool_calls=[call]) + piece("tool_calls") + end + chunk(DONE) + END)
    pieces = [*(piece(content=f"number {number} ") for number in range(8)), piece("stop") + end + chunk(DONE) + END]
    steps = [(0, head()), *((gap_s, each) for each in pieces)] if gap_s else [(0, head() + b"".join(pieces))]
    return Script(steps, "keep")


def checks(found: dict[str, Any], label: str) -> dict[str, str]:
    vendor = next(vendor for vendor in found["vendors"] if vendor["label"] == label)
    return {check["name"]: check["status"] for check in vendor["checks"]}


@pytest.mark.parametrize("extra", ["", OF_RUNS])
def test_good_server_passes_all_seven_checks(bench: Bench, extra: str) -> None:
    """Two requests and exit 0, however runs are configured; no folder is left where the command was typed."""
    with serving(lambda _server, seen: good(seen)) as server:
        configure(bench, f"good: {server.url()}", extra=extra)
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
        ({"tokens": None}, "usage", "warning"),
        ({"gap_s": 0.0}, "streaming", "failed"),
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
    ("status", "message", "failed", "path"),
    [
        (401, "bad key", "key", "/v1"),
        (404, "no such model", "model", "/v1"),
        (404, "set url to ", "model", ""),
        (400, "unknown model simulated-model", "model", "/v1"),
        (500, "oops", "answers", "/v1"),
    ],
)
def test_vendor_that_refuses_everything_is_not_usable(
    bench: Bench, status: int, message: str, failed: str, path: str
) -> None:
    """Exit 3; the check that the refusal is about fails, with the vendor's words and what may mend a url."""
    body = {"error": {"message": message if path else "not found"}}
    with serving(lambda _server, _seen: say(whole(body, status))) as server:
        configure(bench, f"shut: {server.url()}{path}")
        code, found = doctor(bench)
    assert code == 3
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
    assert [KEY in out + err, "[secret]" in out, "\x1b" in out, len(out) < 20_000] == [False, True, False, True]
    assert "::error" not in out or words == ("--json",)
