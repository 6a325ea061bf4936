"""Do requests of a Poisson load arrive as they were due? By the server's own stamps, from one process and from several.

For every run: p of a Kolmogorov–Smirnov test of the gaps against the exponential distribution of that rate, of the
moments that were due and of those at which requests arrived; and how late they arrived, against the least late, in ms.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cost
import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest
from serving import NoCompiler, mock_server

_SERVER = ("--ttft-ms", "100", "--itl-ms", "10", "--chunks", "6", "--tool-chunks", "0", "--stamp-content")
_SHOWN = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Seconds in the order of the schedule: ``due`` after its start, ``came`` on the server's clock; CPU of the run."""

    due: NDArray[np.float64]
    came: NDArray[np.float64]
    cpu_s: float

    def late_ms(self) -> NDArray[np.float64]:
        """How late each arrived, against the one that was least late."""
        late = 1000 * (self.came - self.due)
        return late - late.min()


def ask(port: int, rate: float, seconds: float, seed: int, workers: int) -> Arrivals:
    """One run of the whole product."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost.write_job(folder, port, 200)
        command = [
            sys.executable,
            "-P",
            "-m",
            "vendor_verifier.cli.main",
            "--test-file-path",
            "samples.jsonl",
            "-o",
            "run",
        ]
        command += ["--quiet", "--no-history", "--arrival", "poisson", "--warmup", "20"]
        command += [
            "--request-rate",
            str(rate),
            "--duration",
            str(seconds),
            "--seed",
            str(seed),
            "--workers",
            str(workers),
        ]
        used = cost.measured(command, folder, core=None)
        lines = (folder / "run" / "records.jsonl").read_bytes().splitlines()
        found = sorted(_due_and_came(json.loads(line)) for line in lines)
        return Arrivals(*np.array(found).T, used.cpu_s)


def _due_and_came(record: dict) -> tuple[float, float]:
    answer = record["turns"][0]["attempts"][-1]["response"]
    return record["offered_s"], int(answer["request_id"].rpartition("-")[2]) / 1e9


def p_of(moments: NDArray[np.float64], rate: float) -> float:
    """How likely gaps that differ so much are, were they those of a Poisson process."""
    return float(kstest(np.diff(np.sort(moments)) * rate, "expon").pvalue)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=120.0)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14, 15])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    print("| seed | processes | requests | p of due | p of arrivals | late p50 | p90 | p99 | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|")
    try:
        with mock_server(*_SERVER) as port:
            for seed in options.seeds:
                for workers in options.workers:
                    seen = ask(port, options.rate, options.seconds, seed, workers)
                    late = " | ".join(f"{np.percentile(seen.late_ms(), share):.2f}" for share in _SHOWN)
                    told = f"{p_of(seen.due, options.rate):.3f} | {p_of(seen.came, options.rate):.3f} | {late}"
                    print(f"| {seed} | {workers} | {len(seen.due)} | {told} | {seen.cpu_s:.2f} |", flush=True)
    except NoCompiler as reason:
        print(f"skipped: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
