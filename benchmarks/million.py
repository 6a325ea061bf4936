"""A million records, end to end: a run against the mock server with compressed records in files of a bounded size, and
what is done with them afterwards. Prints CPU, memory and disk of every step as a page; ``--records 20000`` is a try.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import cost
from serving import NoCompiler, mock_server
from summary import table

from vendor_verifier.record_files import lines_in
from vendor_verifier.store import RunFolder

_LONGEST_S = 4 * 3600.0
_STEPS = {
    "score": ("score", "run", "--no-history"),
    "report": ("report", "run", "--format", "html", "-o", "out"),
    "records as Parquet": ("report", "run", "--table", "records", "--format", "parquet", "-o", "out/records.parquet"),
}


def steps(folder: Path, port: int, samples: int, repeat: int) -> Iterator[tuple[str, cost.Cost]]:
    """Every step with its cost; the first is the run."""
    cost.write_job(folder, port, samples)
    program = str(Path(sys.executable).with_name("agent-vendor-verifier"))
    run = (
        *("run", "--test-file-path", "samples.jsonl", "--repeat", str(repeat), "--request-concurrency", "100", "-q"),
        *("--compress", "--no-history", "-o", "run"),
    )
    (folder / "out").mkdir()
    for name, words in {"run, with its scoring and report": run, **_STEPS}.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        yield name, cost.measured([program, *words], folder, longest_s=_LONGEST_S)


def disk(folder: Path) -> list[tuple[str, int]]:
    """What lies on the disk afterwards, in bytes."""
    run = RunFolder(folder / "run")
    plain = sum(len(line.text) for line in lines_in(run.records_file))
    found = [("records, if they were plain", plain), ("records, compressed", run.records_file.stat().st_size)]
    names = ("scores.json", "failed_samples.jsonl", "report.html")
    found += [(name, (run.path / name).stat().st_size) for name in names]
    found.append(("Parquet", (folder / "out" / "records.parquet").stat().st_size))
    return found


def page(records: int, costs: Sequence[tuple[str, cost.Cost]], sizes: Sequence[tuple[str, int]]) -> str:
    """The figures as Markdown."""
    steps_table = table(
        ["step", "CPU s", "CPU µs a record", "wall s", "peak MB"],
        [
            [
                name,
                f"{one.cpu_s:,.1f}",
                f"{1e6 * one.cpu_s / records:,.1f}",
                f"{one.wall_s:,.1f}",
                f"{one.peak_mb:,.0f}",
            ]
            for name, one in costs
        ],
    )
    plain = sizes[0][1]
    sizes_table = table(
        ["on disk", "MB", "bytes a record", "of plain records"],
        [[name, f"{size / 1e6:,.2f}", f"{size / records:,.1f}", f"{size / plain:.1%}"] for name, size in sizes],
    )
    told = f"{records:,} records, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {os.cpu_count()} cores"
    return f"{told}, load {os.getloadavg()[1]:.1f} over the last minutes.\n\n{steps_table}\n\n{sizes_table}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=50, help="how often each sample is asked")
    parser.add_argument("--folder", type=Path, help="make everything in this folder and keep it")
    options = parser.parse_args()
    if find_spec("pyarrow") is None:
        parser.error("the export needs pyarrow: pip install '.[fast,export]' beside this Python")
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        folder.mkdir(exist_ok=True)
        try:
            with mock_server() as port:
                costs = list(steps(folder, port, options.records // options.repeat, options.repeat))
        except NoCompiler as reason:
            print(f"skipped: {reason}")
            return 0
        print(page(options.records // options.repeat * options.repeat, costs, disk(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
