"""Measures how often the verdict accuses honest vendors and misses bad ones, in the worlds of ``verdict_worlds.py``.

python benchmarks/verdict_rates.py                    print the tables (some 20 minutes of one core)
python benchmarks/verdict_rates.py --write            also put them into docs/verdict.md
python benchmarks/verdict_rates.py --share 0.01       a hundredth of the runs
python benchmarks/verdict_rates.py --accused          also list every accused honest vendor with its run
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy import stats
from verdict_worlds import BASELINE, FAMILIES, HONEST, REAL, Vice, draw_run, draw_world, results

from vendor_verifier.findings.verdict import judge
from vendor_verifier.records.results import Choice, Verdict

PAGE = Path(__file__).resolve().parents[1] / "docs" / "verdict.md"
BEGIN, END = "<!-- error rates -->", "<!-- end of error rates -->"
SEED = 31
SIZES = (60, 150, 400)
# Runs of each family and size by the number of vendors: 2,025 vendors a family.
HONEST_RUNS = {1: 60, 4: 30, 9: 55}
DEFAULT, RIVALS, VICE_RUNS = 315, 4, 13
VICES = (
    HONEST,
    Vice("another model", other=1),
    Vice("9 in 10 arguments rewritten", rewrites=0.9),
    Vice("cut prompts", ceiling=350),
    Vice("6 % of answers cut off", cuts=0.06),
    Vice("8 % of requests failing", fails=0.08),
    Vice("1.6 times slower", slower=1.6),
    Vice("a faked stream", faked_stream=True),
    Vice("10 % of calls break the schema", breaks=0.10),
    Vice("30 % routed to a cheaper model", other=0.3),
    Vice("12 % of calls missed", misses=0.12),
    Vice("8 % more prompt tokens", prompt_tokens=1.08),
    Vice("8 % more output tokens", output_tokens=1.08),
    Vice("slow under load", crowded=0.25),
    Vice("10 % routed to a cheaper model", other=0.1),
    Vice("light quantisation", duller=0.15, misses=0.01, breaks=0.01),
)
FOUND = ("check", "differs", "down")


@dataclass
class Counts:
    """Verdicts on vendors of one kind by status, and in how many runs the vendor was recommended."""

    statuses: Counter[str] = field(default_factory=Counter)
    recommended: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.statuses + other.statuses, self.recommended + other.recommended)

    @property
    def total(self) -> int:
        return self.statuses.total()

    def share(self, *statuses: str) -> str:
        """The share of some verdicts in per cent, with its 95 % interval (Clopper and Pearson 1934)."""
        hits = sum(self.statuses[status] for status in statuses)
        interval = stats.binomtest(hits, self.total).proportion_ci()
        shares = [100 * each for each in (hits / self.total, *interval)]
        return "{} ({}–{})".format(*(f"{each:.2g}" if each < 10 else f"{each:.0f}" for each in shares))

    def percent(self, *statuses: str) -> str:
        return f"{100 * sum(self.statuses[status] for status in statuses) / self.total:.0f}"


# By family, and the number of samples or the vendor's vice.
Found = dict[tuple[str, int | str], Counts]


def run(family: str, n: int, vices: Sequence[Vice], seed: Sequence[int]) -> tuple[dict[str, Verdict], Choice]:
    """The verdicts of one run by label, and the choice."""
    rng = np.random.default_rng([SEED, *seed, FAMILIES.index(family), n, len(vices)])
    drawn = draw_run(rng, draw_world(rng, family, n), vices)
    judged = judge(drawn, results(drawn))
    return {label: each for label, each in judged.verdicts.items() if label != BASELINE}, judged.choice


def measured(families: Sequence[str], share: float, *, accused: bool) -> Found:
    """The verdicts on honest vendors by size of the run, and on bad ones by vice; ``accused`` prints the first."""
    found: Found = {}
    for family in families:
        for n, (vendors, runs) in itertools.product(SIZES, HONEST_RUNS.items()):
            for number in range(round(runs * share) or 1):
                verdicts, _ = run(family, n, [HONEST] * vendors, [0, number])
                _count_honest(found, family, n, verdicts, f"{vendors} vendors, seed [0, {number}]", accused)
        for place, vice in enumerate(VICES):
            counts = found.setdefault((family, vice.name), Counts())
            for number in range(round(VICE_RUNS * share) or 1):
                verdicts, choice = run(family, DEFAULT, [*[HONEST] * RIVALS, vice], [1, place, number])
                bad = f"v{RIVALS}"
                counts.recommended += choice.kind == "recommended" and bad in choice.labels
                counts.statuses[verdicts.pop(bad).status] += 1
                _count_honest(found, family, DEFAULT, verdicts, f"vice {place}, seed [1, {place}, {number}]", accused)
    return found


def _count_honest(
    found: Found, family: str, n: int, verdicts: Mapping[str, Verdict], where: str, accused: bool
) -> None:
    counts = found.setdefault((family, n), Counts())
    for label, verdict in verdicts.items():
        counts.statuses[verdict.status] += 1
        if accused and verdict.status in FOUND:
            print(f"{family}, {n} samples, {where}: {label} {verdict.status}: {verdict.reason}", file=sys.stderr)


def tables(found: Found, families: Sequence[str]) -> Iterator[str]:
    """The lines of the page."""
    sizes = sorted((*SIZES, DEFAULT))
    yield "Honest vendors, with 95 % intervals; the share that matches by number of samples:"
    yield from (
        "",
        f"| World | Vendors | check | differs | down | {' | '.join(map(str, sizes))} |",
        f"|---|{'--:|' * 8}",
    )
    for family in families:
        whole = sum((found[family, n] for n in sizes), Counts())
        cells = [*(whole.share(status) for status in FOUND), *(found[family, n].percent("matches") for n in sizes)]
        yield f"| {family} | {whole.total:,} | {' | '.join(cells)} |"
    where = f"One bad vendor among {RIVALS} honest ones at {DEFAULT} samples"
    yield from ("", f"{where}: runs in which it is *check* or worse, in per cent:", "")
    yield f"| Vendor | {' | '.join(families)} | all | differs | recommended |"
    yield f"|---|{'--:|' * (len(families) + 3)}"
    for vice in VICES:
        each = [found[family, vice.name] for family in families]
        whole = sum(each, Counts())
        cells = [counts.percent(*FOUND) for counts in each]
        cells += [whole.share(*FOUND), whole.percent("differs"), f"{100 * whole.recommended / whole.total:.0f}"]
        yield f"| {vice.name} | {' | '.join(cells)} |"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1, help="Share of the runs.")
    parser.add_argument("--family", choices=FAMILIES, help="One family of worlds only.")
    parser.add_argument("--accused", action="store_true", help="List the accused honest vendors.")
    parser.add_argument("--write", action="store_true", help=f"Write the tables into {PAGE.name}.")
    chosen = parser.parse_args()
    families = [each for each in FAMILIES if each == (chosen.family or each) and (each != "real" or REAL.is_dir())]
    lines = list(tables(measured(families, chosen.share, accused=chosen.accused), families))
    print("\n".join(lines))
    if chosen.write:
        before, rest = PAGE.read_text("utf-8").split(BEGIN)
        PAGE.write_text("\n".join([before + BEGIN, *lines, END + rest.split(END)[1]]), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
