"""A long run on simulated vendors: `make soak`. Records are as many as planned, memory is flat, no descriptor leaks."""

# ruff: noqa: T201 a script says what it found
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PERSONAS = ("faithful", "quantised", "bursty", "cutter")
# Growth from a fifth of the run to its end.
ALLOWED_MB = 50.0


def _prepare(folder: Path, requests: int) -> int:
    """Config and samples for about ``requests`` records; how many it will be."""
    lines = ["simulated-model:", "  vendors:"]
    lines += [
        f"    - {{name: {name}, model_id: simulated-model, url: 'sim://{name}', validator: openai, concurrency: 50"
        + (", is_baseline: true}" if name == "faithful" else "}")
        for name in PERSONAS
    ]
    (folder / "config.yaml").write_text("\n".join(lines) + "\n")
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}
    count = requests // len(PERSONAS)
    with (folder / "samples.jsonl").open("w") as out:
        for number in range(count):
            row = {"messages": [{"role": "user", "content": f"Please look up record {number}."}], "tools": [tool]}
            out.write(json.dumps(row) + "\n")
    return count * len(PERSONAS)


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _watch(process: subprocess.Popen[bytes], records: Path, planned: int) -> list[tuple[float, float, int]]:
    """(share of the run, MB, open descriptors) every quarter of a second while requests are sent."""
    seen: list[tuple[float, float, int]] = []
    size = done = 0
    while process.poll() is None and done < planned:
        time.sleep(0.25)
        if not records.exists():
            continue
        with records.open("rb") as source:
            source.seek(size)
            new = source.read()
        size += len(new)
        done += new.count(b"\n")
        try:
            open_files = sum(1 for _ in Path(f"/proc/{process.pid}/fd").iterdir())
            seen.append((done / planned, _resident_mb(process.pid), open_files))
        except (OSError, IndexError):
            break
    return seen


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        planned = _prepare(folder, requests)
        started = time.monotonic()
        command = [
            sys.executable, "-m", "vendor_verifier.cli.main", "--config-file-path", str(folder / "config.yaml"),
            "--test-file-path", str(folder / "samples.jsonl"), "-o", str(folder / "run"), "--quiet", "--history=none",
            "--baseline-repeats", "1",
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            seen = _watch(process, folder / "run" / "records.jsonl", planned)
            code = process.wait()
        keys = set()
        with (folder / "run" / "records.jsonl").open("rb") as source:
            for line in source:
                record = json.loads(line)
                keys.add((record["label"], record["sample"], record["repetition"]))
        early = [row for row in seen if row[0] >= 0.2]
        growth = max(mb for _, mb, _ in early) - early[0][1]
        files = max(count for _, _, count in early)
        seconds = time.monotonic() - started
        print(
            f"soak: {len(keys)} of {planned} records in {seconds:.0f} s, {growth:+.1f} MB, {files} descriptors, "
            f"exit code {code}"
        )
        assert code in (0, 3)
        assert len(keys) == planned
        assert growth < ALLOWED_MB
        assert files < 50 * len(PERSONAS) + 96


if __name__ == "__main__":
    main()
