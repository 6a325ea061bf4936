"""``capacity`` through the command line, on simulated vendors and on servers that answer as a script says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fault_server import DONE, FaultServer, Script, Seen, delta, say, serving, stream, text, whole

from vendor_verifier.cli.main import run_app

CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLED = stream(delta(tool_calls=[CALL]), delta("tool_calls"), DONE)
SAID = stream(text("no"), DONE)


def configure(folder: Path, **urls: str) -> Path:
    lines = ["simulated-model:", "  vendors:"]
    for number, (label, url) in enumerate(urls.items()):
        price = "price: {input: 1000000, output: 0}"
        entry = f"{{name: simulated, label: {label}, model_id: simulated-model, url: '{url}', {price}"
        lines.append(f"    - {entry}, validator: openai{', is_baseline: true' if not number else ''}}}")
    path = folder / "config.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    rows = [{"messages": [{"role": "user", "content": f"look at {n}"}], "tools": [tool]} for n in range(12)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def calling(_server: FaultServer, _seen: Seen) -> Script:
    return Script([(0.08, CALLED)], "keep")


def capacity(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and capacity.json; twelve samples of the test's own."""
    out = folder / "out"
    own = ["--config-file-path", str(folder / "config.yaml"), "--test-file-path", str(folder / "rows.jsonl")]
    code = run_app(["capacity", *own, "-q", "-o", str(out), *words])
    file = out / "capacity.json"
    return code, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def ends(found: dict[str, Any]) -> dict[str, tuple[float | None, str]]:
    return {vendor["label"]: (vendor["holds"], vendor["ended_by"]) for vendor in found["vendors"]}


def test_simulated_vendors_give_way_where_they_should(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Crowded loses F1, throttled refuses; the table has a row a level, the folder a run a level."""
    configure(tmp_path, crowded="sim://crowded", throttled="sim://throttled")
    out = tmp_path / "out"
    words = ["-c", str(tmp_path / "config.yaml"), "-n", "24", "--sweep", "1,16", "-o", str(out), "-q"]
    assert run_app(["capacity", *words]) == 0
    shown = capsys.readouterr().out
    found = json.loads((out / "capacity.json").read_text(encoding="utf-8"))
    assert ends(found) == {"crowded": (1, "missed"), "throttled": (1, "missed")}
    misses = [vendor["levels"][-1]["misses"] for vendor in found["vendors"]]
    assert misses[0][0].startswith("F1 ")
    assert misses[1][0].startswith("success_rate >= 0.99")
    assert [level["level"] for level in found["vendors"][0]["levels"]] == [1, 16]
    assert (out / "01-crowded" / "level-16" / "report.html").is_file()
    assert len(shown.splitlines()) == 1 + 4 + 1 + 2


def test_no_level_is_sent_twice(tmp_path: Path) -> None:
    """Level 1 is the reference and a level of the sweep at once: two passes of it, and each other level once."""
    with serving(calling) as server:
        configure(tmp_path, good=server.url())
        code, found = capacity(tmp_path, "--sweep", "2,1,2")
    assert code == 0
    assert [level["requests"] for level in found["vendors"][0]["levels"]] == [24, 12]
    assert len(server.seen) == 36
    assert server.most_in_flight["v"] == 2


@pytest.mark.parametrize(("at_least", "code"), [("1", 0), ("2", 1)])
def test_exit_code_follows_at_least(tmp_path: Path, at_least: str, code: int) -> None:
    """A vendor that refuses everything beyond one request holds 1."""

    def one_at_a_time(server: FaultServer, _seen: Seen) -> Script:
        return Script([(0.08, CALLED)], "keep") if server.in_flight["v"] < 2 else say(whole({"error": {}}, 500))

    with serving(one_at_a_time) as server:
        configure(tmp_path, single=server.url())
        found = capacity(tmp_path, "--sweep", "1,2", "--at-least", at_least)
    assert found[0] == code
    assert ends(found[1]) == {"single": (1, "missed")}


def test_level_that_was_not_reached_does_not_hold(tmp_path: Path) -> None:
    """A vendor whose 429s lower our concurrency was not under the level, however lenient its success limit."""
    limited = {"error": {"message": "slow down"}}

    def limiting(server: FaultServer, _seen: Seen) -> Script:
        return Script([(0.08, CALLED)], "keep") if server.in_flight["v"] < 5 else say(whole(limited, 429))

    with serving(limiting) as server:
        configure(tmp_path, limited=server.url())
        code, found = capacity(tmp_path, "--sweep", "2,10", "--slo", "success_rate >= 0.01", "--at-least", "10")
    assert ends(found) == {"limited": (2, "not_reached")}
    assert code == 3
    assert found["vendors"][0]["levels"][-1]["in_flight"] < 9


def test_cost_limit_ends_a_sweep_with_exit_3(tmp_path: Path) -> None:
    """What was known by then stays; no level after the budget's end counts."""
    with serving(calling) as server:
        configure(tmp_path, dear=server.url())
        code, found = capacity(tmp_path, "--sweep", "2,4", "--max-cost", "0.001")
    assert code == 3
    assert found["vendors"][0]["ended_by"] == "budget"
    assert len(server.seen) <= 30


def test_refused_key_is_no_question_of_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A vendor that stops at level 1 was not measured: exit 3; its own words are shown without control characters."""
    with serving(lambda _server, _seen: say(whole({"error": {"message": "bad key\x1b[31m"}}, 401))) as server:
        configure(tmp_path, locked=server.url())
        code, found = capacity(tmp_path)
    assert code == 3
    assert ends(found) == {"locked": (None, "stopped")}
    assert "\x1b" not in capsys.readouterr().out
