"""The search for capacity against simulated vendors that give way: edges, causes, budgets, and judging it again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.capacity import search
from vendor_verifier.features.capacity.search import CapacityOutcome, measure_capacity
from vendor_verifier.features.capacity.store import judge_again
from vendor_verifier.features.capacity.values import CapacityOptions
from vendor_verifier.pipeline.plan import prepare
from vendor_verifier.pipeline.simulated_vendors import READY_PREFIX
from vendor_verifier.run import event_loop_lag
from vendor_verifier.values.record import Record

SAMPLES, SPEED = 8, 4


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Simulated vendors in a process of their own, faster than life."""
    command = [sys.executable, "-m", "vendor_verifier.cli.main", "simulate", "--port", "0", "--speed", str(SPEED)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix(READY_PREFIX).strip()
        process.terminate()


@dataclass(frozen=True)
class Place:
    """A folder with a config for personas at ``address``."""

    folder: Path
    address: str

    def config(self, *personas: str, extra: str = "") -> Path:
        entries = "".join(
            f"    - {{name: simulated, label: {persona}, model_id: simulated-model, validator: openai, "
            f"url: '{self.address}/{persona}/v1', price: {{input: 10, output: 10}}{extra}}}\n"
            for persona in personas
        )
        path = self.folder / "config.yaml"
        path.write_text(f"simulated-model:\n  vendors:\n{entries}", encoding="utf-8")
        return path

    def measure(self, *personas: str, output: str = "out", on_record: Any = None, **settings: Any) -> CapacityOutcome:
        """Search, with few samples and few levels."""
        config, folder = self.config(*personas), self.folder / output
        options = CapacityOptions(config_file_path=config, limit=SAMPLES, output_dir=folder, **{"up_to": 8, **settings})
        seen = on_record or (lambda _record: None)
        return measure_capacity(options, prepare(options.of_run(), {}), on_record=seen)


@pytest.fixture
def place(tmp_path: Path, address: str) -> Place:
    return Place(tmp_path, address)


@pytest.mark.slow  # a whole search
def test_each_vendor_s_edge_and_its_cause_are_found_stored_and_found_again(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who has room for six bears six, quality or a rate limit is named as what gave way, and records say it again."""
    config, folder = place.config("crowded", "throttled"), place.folder / "out"
    arguments = ["capacity", "--config-file-path", config, "-n", SAMPLES, "--up-to", 8, "-o", folder]
    assert run_app([str(word) for word in arguments]) == 0
    told = capsys.readouterr().out
    vendors = json.loads((folder / "capacity.json").read_text())["capacity"]["vendors"]
    found = {one["label"]: (one["capacity"], one["broke_at"], one["gave_way"][0]["aspect"]) for one in vendors}
    assert found == {"crowded": (6, 7, "quality"), "throttled": (6, 7, "rate_limit")}
    assert [one["reason"] for one in vendors] == ["edge"] * 2
    assert "crowded: bears 6 in flight; at 7 in flight tool-call quality" in told
    assert "at 7 in flight the vendor's rate limit (429) gives way" in told
    assert "<svg" in (folder / "capacity.html").read_text(encoding="utf-8")
    assert run_app(["capacity", "--from", str(folder)]) == 0
    assert capsys.readouterr().out == told
    assert run_app(["report", str(folder)]) == 2
    assert f"capacity --from {folder}" in capsys.readouterr().err
    # Other limits on the same answers: what was measured at eight now holds for one, and for the other is too much.
    assert run_app(["capacity", "--from", str(folder), "--slo", "f1 >= 0.1", "--at-least", "7", "--json"]) == 1
    again = json.loads(capsys.readouterr().out)["capacity"]["vendors"]
    assert {one["label"]: one["capacity"] for one in again} == {"crowded": 8, "throttled": 6}


@pytest.mark.slow
def test_a_vendor_that_queues_gives_way_by_latency(place: Place) -> None:
    """At seven in flight one waits 100 ms; at 80 ms that is the edge, or lower where this machine is busy itself."""
    vendor = place.measure("queueing", slo=("avg_ttft_ms.p95 <= 80",)).report.vendors[0]
    assert vendor.reason in ("edge", "drifted")
    assert vendor.broke_at is not None
    assert vendor.broke_at <= 7
    assert vendor.gave_way[0].aspect == "latency"


@pytest.mark.slow
def test_a_refusing_vendor_gets_the_level_all_the_same(place: Place) -> None:
    """429 is neither retried nor given way to: at eight about two are refused, and every record has one attempt."""
    records: list[Record] = []
    outcome = place.measure("throttled", on_record=records.append)
    point = next(one for one in outcome.report.vendors[0].points if one.level == 8)
    assert point.rate_limited > point.requests / 10
    assert {len(turn.attempts) for record in records for turn in record.turns} == {1}


@pytest.mark.slow
def test_a_refusing_vendor_is_not_flooded_and_every_level_of_a_sweep_is_visited(place: Place) -> None:
    """Room for six of sixteen: about six in sixteen are answered, because a refused place comes back when a user would;
    filled again at once, nearly all of the level's requests would be refusals."""
    report = place.measure("throttled", sweep="2,8,16", step=0.1).report
    points = {one.level: one for one in report.vendors[0].points if one.stage == "level"}
    assert list(points) == [2, 8, 16]
    assert points[2].rate_limited == 0
    # Filled again at once it would be 6 of 64 at most. A busy machine answers late, and places come back before.
    assert points[16].succeeded >= points[16].requests / 8
    assert points[16].rate_limited > 0


def test_by_rate_requests_come_by_the_clock(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty a second are offered whatever happens: each counted request was due at a moment, and is timed from it."""
    monkeypatch.setitem(search.FILLED, "rate", 1)
    records: list[Record] = []
    # Nothing gives way, however busy this machine is.
    limits = ("ttft_from_schedule_ms.p95 <= 60000", "success_rate >= 0")
    found = place.measure("faithful", by="rate", up_to=40, slo=limits, on_record=records.append)
    vendor = found.report.vendors[0]
    unloaded, level = vendor.points[0], vendor.points[-1]
    assert (vendor.reason, vendor.capacity, level.level) == ("highest", 40, 40)
    due = sorted(record.offered_s for record in records if ":40:" in record.run and record.offered_s is not None)
    assert len(due) == level.requests == 40
    assert 0.5 < due[-1] - due[0] < 2.0
    assert unloaded.level < 40
    assert "ttft_from_schedule_ms.p95" in [limit.threshold.subject for limit in level.limits]


@pytest.mark.slow
def test_our_own_process_is_named_when_it_is_the_limit(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that stands still for 200 ms after every answer makes tokens late; the vendor is not charged."""
    monkeypatch.setattr(event_loop_lag, "MIN_WATCH_S", 0.1)

    def stand_still(record: Record) -> None:
        if ":2:" in record.run:
            time.sleep(0.2)

    outcome = place.measure("faithful", up_to=2, on_record=stand_still, slo=("ttft_ms.p95 <= 150",))
    vendor = outcome.report.vendors[0]
    assert (vendor.reason, vendor.capacity, vendor.broke_at) == ("client", 1, 2)
    assert vendor.points[-1].client_limited


def test_no_budget_is_passed(place: Place) -> None:
    """Requests, money and time each end a search; it says which, keeps what it knows, and sent no more than allowed."""
    least = 3 * SAMPLES + 2 + SAMPLES + 4
    few = place.measure("faithful", output="few", max_requests=least).report.vendors[0]
    assert (few.reason, few.capacity) == ("requests", 2)
    assert few.requests <= least
    poor = place.measure("faithful", "padded", output="poor", max_cost=0.02).report.vendors
    assert [one.reason for one in poor] == ["cost", "cost"]
    assert poor[1].points == () or poor[1].points[0].requests == 0
    late = place.measure("faithful", output="late", max_seconds=0.2).report.vendors[0]
    assert late.reason == "time"
    assert late.requests < 2 * SAMPLES


def test_an_interruption_ends_all_searches_and_keeps_what_was_answered(place: Place) -> None:
    """After Ctrl-C the vendor under way has what it answered, the next one nothing, and both say why."""
    records: list[Record] = []

    def interrupt(record: Record) -> None:
        records.append(record)
        if len(records) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    outcome = place.measure("faithful", "padded", on_record=interrupt)
    assert outcome.signal_number == signal.SIGINT
    assert [one.reason for one in outcome.report.vendors] == ["interrupted", "interrupted"]
    stored = judge_again(outcome.folder, ())
    assert stored.vendors[0].points[0].requests == len(records)


def test_a_locked_vendor_is_stopped_and_the_next_one_measured(place: Place) -> None:
    """A refused key ends one search with the vendor's words; the others are not held up."""
    locked, faithful = place.measure("locked", "faithful", up_to=2).report.vendors
    assert (locked.reason, locked.capacity) == ("stopped", None)
    assert "API key" in " ".join(locked.notes)
    assert (faithful.reason, faithful.capacity) == ("highest", 2)


def test_a_vendor_that_is_bad_without_load_gets_none(place: Place) -> None:
    """Who misses a limit unloaded is told so, at the price of the unloaded questions only, and the exit code is 1."""
    config = place.config("down")
    folder = place.folder / "out"
    arguments = ["capacity", "--config-file-path", config, "-n", SAMPLES, "-o", folder, "-q"]
    assert run_app([str(word) for word in arguments]) == 1
    vendor = json.loads((folder / "capacity.json").read_text())["capacity"]["vendors"][0]
    assert vendor["reason"] == "unloaded"
    assert vendor["requests"] == 2 * SAMPLES + 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--slo", "avg_ttft <= 3"], "unknown metric avg_ttft; did you mean avg_ttft_ms"),
        (["--slo", "cost_per_valid_call_usd <= 3"], "run --gate"),
        (["--max-requests", "20"], "8 samples need at least"),
        (["--arrival", "constant"], "--arrival: says how requests of a rate follow each other; add --by rate"),
        (["--up-to", "2.5"], "--up-to: read 2.5; requests in flight are whole"),
        (["--up-to", "inf", "--by", "rate"], "--up-to: read inf; expected a number from 1 on"),
        (["--at-least", "9", "--up-to", "8"], "--at-least: 9 lies above the highest level tried, 8; raise --up-to"),
        (["--sweep", "2,x"], "--sweep: read 'x'; expected numbers above 0, such as 1,2,4,8,16"),
        (["--sweep", "2,2.5"], "--sweep: read 2.5; requests in flight are whole"),
        (["--sweep", "2,4", "--up-to", "8"], "--up-to: --sweep names every level; leave it out"),
        (["--sweep", "2,4", "--at-least", "8"], "--at-least: 8 lies above the highest level tried, 4; raise --sweep"),
        (["--sweep", "2,4", "--max-requests", "40"], "twice unloaded, 2 levels, once afterwards"),
        (["--slo", "tps >= -2x"], "so many times the figure without load is a number above 0"),
        (["--from", "nowhere", "--sweep", "2"], "--sweep: --from judges a stored search again and sends nothing"),
        (["--from", "nowhere", "-q", "--vendor", "v"], "--vendor: --from judges a stored search again"),
        (["--from", "nowhere"], "is no folder of `capacity`"),
        (["--by", "feeling"], "feeling"),
        (["-o", "taken"], "already holds results"),
    ],
)
def test_mistakes_are_told_before_anything_is_sent(
    place: Place, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 and a sentence with what was read and what would do; no folder is made."""
    monkeypatch.chdir(place.folder)
    (place.folder / "taken").mkdir()
    (place.folder / "taken" / "capacity.json").write_text("{}")
    config = place.config("faithful")
    sending = [] if "--from" in arguments else ["--config-file-path", str(config), "-n", str(SAMPLES)]
    assert run_app(["capacity", *sending, *arguments]) == 2
    said = capsys.readouterr()
    assert words in " ".join((said.out + said.err).split())
    assert not (place.folder / "runs").exists()


@pytest.mark.parametrize(
    ("stated", "words"), [("ftp://127.0.0.1:1", "unknown kind"), ("http://127.0.0.1:x", "no proxy's address")]
)
def test_a_proxy_that_cannot_be_spoken_to_is_refused_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, stated: str, words: str
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", stated)
    monkeypatch.setenv("simulated", "a-key-of-the-test")
    config = Place(tmp_path, "https://vendor.invalid").config("v")
    assert run_app(["capacity", "--config-file-path", str(config), "-n", "2", "-o", str(tmp_path / "out"), "-q"]) == 2
    assert "HTTPS_PROXY" in (said := capsys.readouterr().err)
    assert words in said
    assert not (tmp_path / "out").exists()
