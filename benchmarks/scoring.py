"""What scoring costs: draws the records of three vendors, a baseline that is asked twice and two resellers, and prints
CPU a record and peak memory of ``score`` on them. ``--records 20000`` is a try; a million take some minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cost

from vendor_verifier.record_files import PACKED, RECORDS, zstd_module
from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder, encode_record

# Label → how often it is asked, and its share of failures, retries and calls with wrong arguments.
VENDORS = {"official": (2, 0.001, 0.0, 0.0), "reseller": (1, 0.01, 0.02, 0.03), "cheap": (1, 0.05, 0.05, 0.1)}
MODEL, REPEAT = "model", 10


def samples(count: int) -> list[Sample]:
    """Questions with one tool."""
    return [
        Sample(f"{number:016x}-1", Turn(({"role": "user", "content": f"Weather on day {number}?"},), (cost._TOOL,)))
        for number in range(count)
    ]


def draw(count: int) -> Iterator[Record]:
    """The records of a run over that many samples, in the order of sending."""
    dice = random.Random(1)  # noqa: S311
    at = 0
    for repetition in range(max(repeat for repeat, *_ in VENDORS.values()) * REPEAT):
        for number in range(count):
            for label, (repeat, *shares) in VENDORS.items():
                if repetition < repeat * REPEAT:
                    at += 1
                    attempts = _attempts(dice, at, shares)
                    yield Record(
                        "million", MODEL, label, label, "trigger", f"{number:016x}-1", repetition,
                        (TurnRecord(attempts),), block=number // 25,
                    )  # fmt: skip


def _attempts(dice: random.Random, at: int, shares: list[float]) -> tuple[Attempt, ...]:
    failing, retrying, breaking = shares
    first_ns = round(dice.lognormvariate(18.5, 0.4))
    gaps = tuple(dice.randrange(5_000_000, 15_000_000) for _ in range(7))
    sent = f"2026-11-24T{at // 3600000 % 24:02}:{at // 60000 % 60:02}:{at // 1000 % 60:02}.{at % 1000:03}+00:00"
    timing = Timing(
        sent_at=sent, end_ns=first_ns + sum(gaps) + 300_000, scheduled_ns=-40_000, headers_ns=first_ns - 1_000_000,
        first_event_ns=first_ns - 900_000, first_token_ns=first_ns, first_answer_ns=first_ns,
        last_token_ns=first_ns + sum(gaps), gaps_ns=gaps, first_chunk_share=dice.random() / 4, connection_reused=True,
        our_lateness_ns=dice.randrange(2_000_000),
    )  # fmt: skip
    failure = Failure.of("overloaded", "no room", 503)
    if dice.random() < failing:
        return tuple(Attempt(number, timing, None, failure) for number in (1, 2, 3))
    calls = dice.random() < 0.7
    days = "many" if dice.random() < breaking else dice.randrange(1, 9)
    arguments = json.dumps({"location": f"City {dice.randrange(1000)}", "days": days})
    text = "" if calls else " ".join(dice.choices(("the", "sun", "will", "rain", "shine", "on", "you"), k=25))
    response = Response(
        text=text,
        tool_calls=(ToolCall("get_weather", arguments, f"call_{at:x}"),) if calls else (),
        finish_reason="tool_calls" if calls else "stop",
        usage=Usage(dice.randrange(90, 120), dice.randrange(20, 60), 0, 0),
        served_model=MODEL,
        fingerprint="fp_1",
        request_id=f"chatcmpl-{at:x}",
    )
    before = (Attempt(1, timing, None, failure),) if dice.random() < retrying else ()
    return (*before, Attempt(len(before) + 1, timing, response))


def write_run(folder: Path, records: int) -> int:
    """Write a run folder with about that many records, and return how many there are."""
    count = records // (REPEAT * sum(repeat for repeat, *_ in VENDORS.values()))
    run = RunFolder(folder)
    run.create()
    run.write_samples("trigger", samples(count))
    with (folder / (RECORDS + PACKED)).open("wb") as raw, zstd_module().open(raw, "wb", level=3) as packed:
        for record in draw(count):
            packed.write(encode_record(record))
    entries = [
        {
            "model": MODEL, "label": label, "vendor": label, "model_id": MODEL, "url": "http://127.0.0.1/v1",
            "is_baseline": label == "official", "repeat": repeat * REPEAT, "listed_price": None,
        }
        for label, (repeat, *_) in VENDORS.items()
    ]  # fmt: skip
    task = {"suite": "trigger", "options": {}, "skipped": [], "defects": [], "count": count}
    manifest = {
        "schema": 1, "run": "million", "created_at": "2026-11-24T00:00:00+00:00", "status": "finished",
        "entries": entries, "tasks": [task], "settings": {"repeat": REPEAT, "seed": 1}, "score": {},
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return count * REPEAT * sum(repeat for repeat, *_ in VENDORS.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="keep the run in this folder, and score it again where it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name) / "run"
        if not (folder / "manifest.json").exists():
            write_run(folder, options.records)
        program = str(Path(sys.executable).with_name("agent-vendor-verifier"))
        start = cost.measured([program, "--version"], folder.parent)
        found = cost.measured([program, "score", str(folder), "--no-history"], folder.parent, longest_s=3600)
        print(f"{1e6 * (found.cpu_s - start.cpu_s) / options.records:.1f} µs CPU a record, {found.peak_mb:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
