"""Measures how often the verdict accuses honest vendors and misses bad ones, in the worlds of ``verdict_worlds.py``.

python benchmarks/verdict_rates.py                    print the tables (some 25 minutes of one core)
python benchmarks/verdict_rates.py --write            also put them into docs/verdict.md
python benchmarks/verdict_rates.py --share 0.01       a hundredth of the runs
python benchmarks/verdict_rates.py --accused          also list every accused honest vendor with its run
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
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
DEFAULT, RIVALS, VICE_RUNS = 315, 4, 17
VICES = (
    HONEST,
    Vice("another model", other=1),
    Vice("one character changed in 9 of 10 arguments", rewrites=0.9),
    Vice("cut prompts", ceiling=350),
    Vice("6 % of the answers cut off", cuts=0.06),
    Vice("8 % of the requests failing", fails=0.08),
    Vice("1.6 times slower", slower=1.6),
    Vice("a faked stream", faked_stream=True),
    Vice("10 % of the calls break the schema", breaks=0.10),
    Vice("30 % routed to a cheaper model", other=0.3),
    Vice("12 % of the calls missed", misses=0.12),
    Vice("8 % more prompt tokens billed", prompt_tokens=1.08),
    Vice("8 % more output tokens billed", output_tokens=1.08),
    Vice("slow under load", crowded=0.25),
    Vice("10 % routed to a cheaper model", other=0.1),
    Vice("light quantisation", duller=0.15, misses=0.01, breaks=0.01),
)
_ORDER = ("matches", "not_tested", "check", "differs", "down")
_FOUND = ("check", "differs", "down")


@dataclass
class Counts:
    """Verdicts by status, and in how many runs the vendor was named in the first line."""

    statuses: Counter[str] = field(default_factory=Counter)
    named: int = 0

    def add(self, other: Counts) -> Counts:
        return Counts(self.statuses + other.statuses, self.named + other.named)


def run(family: str, n: int, vices: Sequence[Vice], seed: Sequence[int]) -> tuple[dict[str, Verdict], Choice]:
    """The verdicts of one run by label, and the choice."""
    rng = np.random.default_rng([SEED, *seed, FAMILIES.index(family), n, len(vices)])
    drawn = draw_run(rng, draw_world(rng, family, n), vices)
    judged = judge(drawn, results(drawn))
    return {label: each for label, each in judged.verdicts.items() if label != BASELINE}, judged.choice


def honest_runs(families: Sequence[str], share: float, accused: bool) -> dict[tuple[str, int], Counts]:
    """The verdicts on honest vendors by family and size of the run."""
    found: dict[tuple[str, int], Counts] = {}
    for family in families:
        for n in SIZES:
            counts = found.setdefault((family, n), Counts())
            for vendors, runs in HONEST_RUNS.items():
                for number in range(round(runs * share) or 1):
                    verdicts, _ = run(family, n, [HONEST] * vendors, [0, number])
                    counts.statuses.update(each.status for each in verdicts.values())
                    if accused:
                        print_accused(f"{family} n={n} vendors={vendors} seed=[0, {number}]", verdicts)
    return found


def vice_runs(families: Sequence[str], share: float, accused: bool) -> dict[tuple[str, str], Counts]:
    """The verdicts on vendors with each vice, and on one more honest one, among four honest rivals."""
    found: dict[tuple[str, str], Counts] = {}
    for family in families:
        for place, vice in enumerate(VICES):
            counts = found.setdefault((family, vice.name), Counts())
            for number in range(round(VICE_RUNS * share) or 1):
                verdicts, choice = run(family, DEFAULT, [*[HONEST] * RIVALS, vice], [1, place, number])
                bad = f"v{RIVALS}"
                counts.statuses[verdicts[bad].status] += 1
                counts.named += choice.kind == "recommended" and bad in choice.labels
                if accused:
                    if vice is not HONEST:
                        del verdicts[bad]
                    print_accused(f"{family} vice {place} seed=[1, {place}, {number}]", verdicts)
    return found


def print_accused(where: str, verdicts: dict[str, Verdict]) -> None:
    """The honest vendors of a run that were accused, with the reasons."""
    for label, verdict in verdicts.items():
        for name, facet in verdict.facets.items():
            if facet.status in _FOUND:
                print(f"{where} {label} {name} {facet.status}: {facet.reason}", file=sys.stderr, flush=True)


def percent(count: int, of: int) -> str:
    """A share in per cent with its 95 % interval (Clopper and Pearson 1934)."""
    interval = stats.binomtest(count, of).proportion_ci()
    return f"{100 * count / of:.3g} % ({100 * interval.low:.2g}–{100 * interval.high:.2g})"


def tables(honest: dict[tuple[str, int], Counts], bad: dict[tuple[str, str], Counts]) -> Iterator[str]:
    """The lines of the page."""
    families = list(dict.fromkeys(family for family, _ in honest))
    yield "Honest vendors, of one template, sampling and failure process with their baseline; 95 % intervals in brackets:"
    yield ""
    yield "| World | Samples | Vendors | matches | check | differs | down |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    rows = [(family, str(n), honest[family, n]) for family in families for n in SIZES]
    for family in families:
        whole = sum((honest[family, n] for n in SIZES), start=Counts(), ) if False else None  # fmt: skip
        del whole
    for family, size, counts in rows:
        yield _honest_row(family, size, counts)
    for family in families:
        total = Counts()
        for n in SIZES:
            total = total.add(honest[family, n])
        yield _honest_row(family, "all", total)
    yield ""
    yield f"Bad vendors among {RIVALS} honest rivals at {DEFAULT} samples: found (*check* or worse), by world:"
    yield ""
    yield f"| Vendor | {' | '.join(families)} | all | differs or down | in the first line |"
    yield f"|---|{'--:|' * (len(families) + 3)}"
    for vice in VICES:
        total, cells = Counts(), []
        for family in families:
            counts = bad[family, vice.name]
            total = total.add(counts)
            cells.append(f"{100 * _found(counts) / counts.statuses.total():.0f} %")
        runs = total.statuses.total()
        worst = total.statuses["differs"] + total.statuses["down"]
        yield (
            f"| {vice.name} | {' | '.join(cells)} | {percent(_found(total), runs)} | {100 * worst / runs:.0f} % "
            f"| {100 * total.named / runs:.0f} % |"
        )


def _found(counts: Counts) -> int:
    return sum(counts.statuses[status] for status in _FOUND)


def _honest_row(family: str, size: str, counts: Counts) -> str:
    total, by_status = counts.statuses.total(), counts.statuses
    cells = [percent(by_status[status], total) for status in ("check", "differs", "down")]
    return f"| {family} | {size} | {total:,} | {100 * by_status['matches'] / total:.0f} % | {' | '.join(cells)} |"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1, help="Share of the runs.")
    parser.add_argument("--family", choices=FAMILIES, help="One family of worlds only.")
    parser.add_argument("--accused", action="store_true", help="List the accused honest vendors.")
    parser.add_argument("--write", action="store_true", help=f"Write the tables into {PAGE.name}.")
    chosen = parser.parse_args()
    families = [each for each in FAMILIES if each == (chosen.family or each) and (each != "real" or REAL.is_dir())]
    lines = list(
        tables(honest_runs(families, chosen.share, chosen.accused), vice_runs(families, chosen.share, chosen.accused))
    )
    print("\n".join(lines))
    if chosen.write:
        before, rest = PAGE.read_text("utf-8").split(BEGIN)
        PAGE.write_text("\n".join([before + BEGIN, *lines, END + rest.split(END)[1]]), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
