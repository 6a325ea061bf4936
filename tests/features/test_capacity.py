"""``capacity`` through the command line, on simulated vendors and on servers that answer as a script says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fault_server import DONE, FaultServer, Script, Seen, delta, say, serving, stream, whole
from workbench import Bench

CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 1}'}}
CALLED = stream(delta(tool_calls=[CALL]), delta("tool_calls"), DONE)
# What a sweep decides itself, or does not look at.
OF_RUNS = "run: {workers: 2, suite: [bfcl], repeat: 3, request_rate: 1, warmup: 2, gate: [f1 >= 1]}\n"
PRICE = {"input": 1000000, "output": 0}


def calling(_server: FaultServer, _seen: Seen) -> Script:
    return Script([(0.08, CALLED)], "keep")


def capacity(bench: Bench, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and capacity.json; twelve samples of the test's own."""
    bench.samples(12)
    code, _, _ = bench("capacity", *bench.words("out", *words))
    file = bench.folder / "out" / "capacity.json"
    return code, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def ends(found: dict[str, Any]) -> dict[str, tuple[float | None, str]]:
    return {vendor["label"]: (vendor["holds"], vendor["ended_by"]) for vendor in found["vendors"]}


def test_simulated_vendors_give_way_where_they_should(bench: Bench) -> None:
    """Crowded loses F1, throttled refuses; the table has a row a level, the folder a run a level."""
    path = bench.configure("crowded: crowded", "throttled: throttled")
    path.write_text(path.read_text().replace("      is_baseline: true\n", ""))
    code, shown, said = bench("capacity", *bench.words("out", "-n", "24", "--sweep", "1,16"))
    assert "baseline" not in said
    found = json.loads((bench.folder / "out" / "capacity.json").read_text(encoding="utf-8"))
    assert code == 0
    assert ends(found) == {"crowded": (1, "missed"), "throttled": (1, "missed")}
    misses = [vendor["levels"][-1]["misses"] for vendor in found["vendors"]]
    assert misses[0][0].startswith("F1 ")
    assert misses[1][0].startswith("success_rate >= 0.99")
    assert [level["level"] for level in found["vendors"][0]["levels"]] == [1, 16]
    assert (bench.folder / "out" / "01-crowded" / "level-16" / "scores.json").is_file()
    assert len(shown.splitlines()) == 1 + 4 + 1 + 2


def test_no_level_is_sent_twice(bench: Bench) -> None:
    """Level 1 is the reference and a level of the sweep at once: two passes of it, and each other level once."""
    with serving(calling) as server:
        bench.configure(f"good: {server.url()}", extra=OF_RUNS)
        code, found = capacity(bench, "--sweep", "2,1,2")
    assert code == 0
    assert [level["requests"] for level in found["vendors"][0]["levels"]] == [24, 12]
    assert len(server.seen) == 36
    assert server.most_in_flight["v"] == 2


@pytest.mark.parametrize(("at_least", "code"), [("1", 0), ("2", 1)])
def test_exit_code_follows_at_least(bench: Bench, at_least: str, code: int) -> None:
    """A vendor that refuses everything beyond one request holds 1."""

    def one_at_a_time(server: FaultServer, seen: Seen) -> Script:
        return calling(server, seen) if server.in_flight["v"] < 2 else say(whole({"error": {}}, 500))

    with serving(one_at_a_time) as server:
        bench.configure(f"single: {server.url()}")
        found = capacity(bench, "--sweep", "1,2", "--at-least", at_least)
    assert (found[0], ends(found[1])) == (code, {"single": (1, "missed")})


def test_speed_limit_judges_the_speed_of_the_table(bench: Bench) -> None:
    """Tokens a second of all answers together, not the mean of each answer's own."""
    bench.configure("plain: faithful")
    _, found = capacity(bench, "--sweep", "1", "--slo", "tps >= 1000000")
    (level,) = found["vendors"][0]["levels"]
    assert f"tps >= 1000000 ({level['tps']:.4g})" in level["misses"]


def test_level_that_was_not_reached_does_not_hold(bench: Bench) -> None:
    """A vendor whose 429s lower our concurrency was not under the level, however lenient its success limit."""

    def limiting(server: FaultServer, seen: Seen) -> Script:
        return calling(server, seen) if server.in_flight["v"] < 5 else say(whole({"error": {"message": "slow"}}, 429))

    with serving(limiting) as server:
        bench.configure(f"limited: {server.url()}")
        code, found = capacity(bench, "--sweep", "2,10", "--slo", "success_rate >= 0.01", "--at-least", "10")
    assert (code, ends(found)) == (3, {"limited": (2, "not_reached")})
    assert found["vendors"][0]["levels"][-1]["in_flight"] < 9


def test_refused_key_is_no_question_of_load(bench: Bench) -> None:
    """A vendor that stops at level 1 was not measured: exit 3; its own words are shown without control characters."""
    with serving(lambda _server, _seen: say(whole({"error": {"message": "bad key\x1b[31m"}}, 401))) as server:
        bench.configure(f"locked: {server.url()}")
        code, shown, _ = bench("capacity", *bench.words("out"))
    assert code == 3
    assert "holds no level; the vendor was stopped" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(("words", "extra"), [(("--max-cost", "5000"), ""), ((), "run: {max_cost: 5000}\n")])
def test_levels_share_one_cost_limit(bench: Bench, words: tuple[str, ...], extra: str) -> None:
    """Prompts count where a vendor reports no usage: what a level cost is missing from those after it. What was known
    by then stays, and the folder is not used twice."""
    with serving(calling) as server:
        bench.configure(f"dear: {server.url()}", price=PRICE, extra=extra)
        code, found = capacity(bench, "--sweep", "1,2,4", *words)
        assert capacity(bench, "--sweep", "1,2")[0] == 2
    assert (code, found["vendors"][0]["ended_by"], found["vendors"][0]["holds"]) == (3, "budget", 2)
