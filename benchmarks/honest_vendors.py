"""Counts what is said of honest vendors: runs in which every vendor serves the model that it sells.

Rows are drawn as scoring would have made them (``tests/support/null_worlds.py``), without a socket. Figures
and verdict are the product's own. Everything is a function of the seeds.

python benchmarks/honest_vendors.py               print the table of a thousand runs (half an hour on two cores)
python benchmarks/honest_vendors.py --runs 2      of two runs of each kind
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from null_worlds import Twin, advice, model  # noqa: E402

# By number of vendors: a run of nine judges as many twins as nine of one.
RUNS = {1: 84, 3: 36, 9: 6}
# None below this was looked at while the verdict was made.
FIRST_SEED = 60_000


class Kind(NamedTuple):
    """What a run is like: ``sure`` is the chance of the model's likeliest answer to a question."""

    n: int
    vendors: int
    sure: float
    beside: tuple[str, ...]


KINDS = tuple(
    Kind(n, vendors, sure, beside)
    for n, vendors, sure, beside in itertools.product((100, 300), (1, 3, 9), (0.5, 0.97), ((), ("toolbench",)))
)


def run(kind: Kind, seed: int) -> Counter[str]:
    """The verdicts on the twins of one run, by status."""
    rng = np.random.default_rng([seed, *kind[:2], round(100 * kind.sure), len(kind.beside)])
    played = model(rng, "trigger", kind.n, beside=kind.beside, sure=kind.sure)
    told = advice(rng, played, [Twin(f"v{number}") for number in range(kind.vendors)])
    return Counter(each.status for each in told.vendors.values() if not each.is_reference)


def measured(runs: int | None = None, jobs: int = 1) -> dict[Kind, list[Counter[str]]]:
    """The verdicts of so many runs of every kind, else of as many as ``RUNS`` says."""
    jobs_of = [(kind, FIRST_SEED + seed) for kind in KINDS for seed in range(runs or RUNS[kind.vendors])]
    with ProcessPoolExecutor(jobs) as pool:
        told = list(pool.map(run, *zip(*jobs_of, strict=True), chunksize=4))
    found: dict[Kind, list[Counter[str]]] = {}
    for (kind, _), each in zip(jobs_of, told, strict=True):
        found.setdefault(kind, []).append(each)
    return found


def table(found: dict[Kind, list[Counter[str]]]) -> Iterator[str]:
    """The lines of the table in Markdown, and what they rest on."""
    yield "| Samples | Vendors | Model | Asked | Runs | Twins as sold | doubtful | too little | worse |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for kind, runs in found.items():
        all_of = sum(runs, Counter[str]())
        cells = [
            f"{100 * all_of[status] / all_of.total():.1f} %"
            for status in ("as_sold", "doubtful", "too_little_evidence")
        ]
        nature = "temperature 1" if kind.sure == 0.5 else "nearly deterministic"
        asked = " + ".join(("trigger", *kind.beside))
        bad = all_of["not_as_sold"] + all_of["unusable"]
        yield f"| {kind.n} | {kind.vendors} | {nature} | {asked} | {len(runs)} | {' | '.join(cells)} | {bad} |"
    every = [each for runs in found.values() for each in runs]
    twins = sum(every, Counter[str]())
    doubted = sum(each["doubtful"] > 0 for each in every)
    yield ""
    yield f"{datetime.now(UTC):%Y-%m-%d}, seeds from {FIRST_SEED:,}: of {twins.total():,} twins in {len(every):,} runs"
    yield f"{twins['not_as_sold']} were not as sold, {twins['unusable']} unusable and {twins['doubtful']} doubtful"
    share, of_runs = 100 * twins["doubtful"] / twins.total(), 100 * doubted / len(every)
    yield f"({share:.2f} %); {doubted} runs ({of_runs:.1f} %) had a doubtful twin."


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help="Runs of each kind.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Processes at once.")
    said = parser.parse_args()
    for line in table(measured(said.runs, said.jobs)):
        print(line.rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
