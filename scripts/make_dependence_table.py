"""Write the tables of docs/judgement.md that say how often a run is wrong where requests are not independent.

Equal vendors drift, come in slow spells or are out for twenty requests in a row; how often they are called different,
or a gate passes or fails that should do neither, stands beside what the same run sees of a real difference. All goes
through the product's own intervals and is a function of the seeds.

python scripts/make_dependence_table.py              write the tables (some 20 minutes)
python scripts/make_dependence_table.py --runs 50    print them from so few runs, and write nothing
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from vendor_verifier.gates.judge import decide
from vendor_verifier.scoring.row_keys import Units
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.few_stretches import few_stretches
from vendor_verifier.stats.intervals import estimates_of, percentile_interval
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import RatioColumn, Trials
from vendor_verifier.values.judgement import Percentile, Threshold

TARGET = Path(__file__).resolve().parent.parent / "docs" / "judgement.md"
BEGIN, END = "<!-- dependence: begin -->\n", "<!-- dependence: end -->\n"
RUNS = 200
# So many times as few where seven vendors are compared, which costs twenty times as much.
_FEWER = 6
# None from here on was looked at while the intervals were made.
FIRST_SEED = 70_000
_RESAMPLES = 500
_TTFT_MS = 400.0
# Of a single request's time, on a logarithmic scale: its own luck, and what drifts.
_LUCK, _DRIFT = 0.35, 0.12
LENGTH = 40
OUTAGE = SPELL = 20
# What the power is stated at: a vendor so many times as slow, and limits so many times off the truth.
SLOWER, OFF = 1.25, 1.5
_Series = NDArray[np.float64]


def drift(rng: np.random.Generator, n: int, length: float = LENGTH) -> _Series:
    """An autoregression with this correlation length and a deviation of ``_DRIFT``."""
    keeps = float(np.exp(-1 / length))
    noise = rng.normal(size=n) * np.sqrt(1 - keeps**2)
    noise[0] = rng.normal()
    return _DRIFT * np.asarray(lfilter([1.0], [1.0, -keeps], noise), dtype=np.float64)


def spells(rng: np.random.Generator, n: int, share: float, length: float) -> NDArray[np.bool_]:
    """Which of ``n`` requests fall into spells of this mean length, that last this share of the time."""
    is_in = np.zeros(n, dtype=bool)
    at, inside = 0, bool(rng.random() < share)
    while at < n:
        lasts = int(rng.geometric(1 / (length if inside else length * (1 - share) / share)))
        is_in[at : at + lasts] = inside
        at, inside = at + lasts, not inside
    return is_in


def answered(rng: np.random.Generator, n: int, failing: float) -> NDArray[np.bool_]:
    """Which of ``n`` requests are answered by a vendor that fails in outages of ``OUTAGE`` in a row, this share."""
    begins = np.flatnonzero(rng.random(n + OUTAGE) < -np.log1p(-failing) / OUTAGE)
    out = np.zeros(n + 2 * OUTAGE, dtype=bool)
    for begin in begins:
        out[begin : begin + OUTAGE] = True
    return ~out[OUTAGE : OUTAGE + n]


@dataclass(frozen=True, slots=True)
class World:
    """How equal vendors' times hang together; ``own`` and ``shared`` are correlation lengths of a drift, 0 for none.

    ``pace``: how many times as long the second vendor takes over its requests.
    """

    name: str
    own: float = 0
    shared: float = 0
    pace: float = 1.0
    vendors: int = 2
    whole: bool = False


WORLDS = (
    World("independent requests, one comparison"),
    World("own drift, one comparison", own=LENGTH),
    World("shared drift, one comparison", shared=LENGTH),
    World("shared drift, the second vendor at two thirds of the pace", shared=LENGTH, pace=1.5),
    World("independent requests, seven vendors and six metrics", vendors=7, whole=True),
    World("own drift, seven vendors and six metrics", own=LENGTH, vendors=7, whole=True),
)
SIZES = (300, 500, 800, 2_000, 8_000)


def vendors(rng: np.random.Generator, world: World, n: int, slower: float) -> list[Trials]:
    """The vendors of a world after ``n`` samples; the last one takes ``slower`` times as long to its first token."""
    units = Units.of((f"s{place}", 0) for place in range(n))
    horizon = int(n * world.pace) + 1
    shared = drift(rng, horizon, world.shared) if world.shared else np.zeros(horizon)
    size = np.exp(rng.normal(7, 0.4, n))
    call = rng.random(n) < 0.5
    made = []
    for number in range(world.vendors):
        pace = world.pace if number == 1 else 1.0
        moments = (np.arange(n) + rng.random(n)) * pace
        slow = shared[moments.astype(int)] + (drift(rng, n, world.own) if world.own else 0.0)
        times = slower if number == world.vendors - 1 else 1.0
        ttft = times * _TTFT_MS * np.exp(rng.normal(0, _LUCK, n) + slow)
        whole = partial(RatioColumn, units, range(n))
        ratios = {"avg_ttft_ms": whole(ttft)}
        if world.whole:
            tokens = rng.poisson(150, n) + 1.0
            ratios |= {
                "success_rate": whole((rng.random(n) < 0.99) * 1.0),
                "schema_accuracy": whole((call & (rng.random(n) < 0.97)) * 1.0, call * 1.0),
                "avg_tokens": whole(size + tokens),
                "tps": whole(tokens, tokens / 80 * np.exp(rng.normal(0, 0.2, n) + slow)),
                "avg_e2e_ms": whole(ttft + 12.5 * tokens * np.exp(rng.normal(0, 0.2, n) + slow)),
            }
        made.append(Trials(f"v{number}", (), ratios, whole(moments)))
    return made


def compared(world: World, n: int, seed: int) -> NDArray[np.float64]:
    """Whether equal vendors differ in anything, whether too few stretches are named, whether a slower one is seen."""
    names = [f"s{place}" for place in range(n)]
    found = []
    for slower in (1.0, SLOWER):
        rng = np.random.default_rng([seed, n])
        trials = vendors(rng, world, n, slower)
        metrics = tuple(trials[0].ratios)
        judged = judge_ranking(trials, names, rng, metrics=metrics, resamples=_RESAMPLES)
        pairs = [each for each in judged.differences if each.differs]
        ends = {"v0", f"v{world.vendors - 1}"}
        few = few_stretches(build_panel(trials, names, metrics=metrics), judged.differences)
        seen = any({each.first, each.second} == ends and each.metric == "avg_ttft_ms" for each in pairs)
        found += [bool(pairs), any(few)] if slower == 1.0 else [seen]
    return np.array(found, dtype=np.float64)


def percentile_gate(percentile: Percentile, n: int, seed: int) -> NDArray[np.float64]:
    """Whether a spell shows; and if so, a limit at the true percentile passed or failed, and two limits rightly so."""
    rng = np.random.default_rng([seed, n])
    slow = spells(rng, n, 0.1, SPELL)
    if not slow.any():
        return np.array([0.0, *[np.nan] * 4])
    values = np.exp(rng.normal(0, _LUCK, n) + np.log(3.0) * slow)
    found = percentile_interval(values.tolist(), float(percentile[1:]), in_order=True)
    truth = _truth(percentile)
    limits = (truth, truth, truth * OFF, truth / OFF)
    outcomes = [decide(Threshold("ttft_ms", "<=", limit, percentile), found) for limit in limits]
    right = [o == w for o, w in zip(outcomes, ("PASS", "FAIL", "PASS", "FAIL"), strict=True)]
    return np.array([1.0, *right], dtype=np.float64)


_TRUTHS: dict[str, float] = {}


def _truth(percentile: Percentile) -> float:
    """The true percentile of times in spells, by 20 million draws of single requests."""
    if percentile not in _TRUTHS:
        rng = np.random.default_rng(0)
        draws = np.exp(rng.normal(0, _LUCK, 20_000_000) + np.log(3.0) * (rng.random(20_000_000) < 0.1))
        _TRUTHS[percentile] = float(np.percentile(draws, float(percentile[1:])))
    return _TRUTHS[percentile]


def success_gate(failing: float, n: int, seed: int) -> NDArray[np.float64]:
    """Whether an outage shows; and if so, a limit at the true rate passed or failed, and two limits rightly so.

    The rightly passed one permits five times the failures, the rightly failed one a fifth of them.
    """
    rng = np.random.default_rng([seed, n])
    is_answered = answered(rng, n, failing)
    if is_answered.all():
        return np.array([0.0, *[np.nan] * 4])
    units = Units.of((f"s{place}", 0) for place in range(n))
    column = RatioColumn(units, range(n), is_answered * 1.0)
    trials = [Trials("v", (), {"success_rate": column}, RatioColumn(units, range(n), np.arange(n, dtype=np.float64)))]
    panel = build_panel(trials, units.samples, metrics=("success_rate",))
    found = estimates_of(panel, bootstrap(panel, rng, resamples=_RESAMPLES), exact=True)["v"]["success_rate"]
    limits = [1 - failing, 1 - failing, 1 - 5 * failing, 1 - failing / 5]
    outcomes = [decide(Threshold("success_rate", ">=", limit), found) for limit in limits]
    right = [o == w for o, w in zip(outcomes, ("PASS", "FAIL", "PASS", "FAIL"), strict=True)]
    return np.array([1.0, *right], dtype=np.float64)


def shares(of: Callable[[int], NDArray[np.float64]], runs: int, first: int, pool: ProcessPoolExecutor) -> list[float]:
    """The share of runs with each outcome, over those that have it."""
    found = np.array(list(pool.map(of, range(first, first + runs), chunksize=max(1, runs // 20))))
    return [float(each) for each in np.nanmean(found, axis=0)]


def measured(
    runs: int, first: int, jobs: int | None = None, sizes: Sequence[int] = SIZES
) -> Mapping[tuple[str, str, int], list[float]]:
    """The shares by table, row and number of samples."""
    found: dict[tuple[str, str, int], list[float]] = {}
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        for n in sizes:
            for world in WORLDS:
                some = max(1, runs // _FEWER) if world.whole else runs
                found["compared", world.name, n] = shares(partial(compared, world, n), some, first, pool)
            for percentile in ("p50", "p95"):
                found["percentile", percentile, n] = shares(partial(percentile_gate, percentile, n), runs, first, pool)
            for failing in (0.01, 0.05):
                row = f"{failing:.0%}"
                found["success", row, n] = shares(partial(success_gate, failing, n), runs, first, pool)
    return found


_HEADS = {
    "compared": ("Times", "equal vendors “different”", "too few stretches", f"{SLOWER:g} times as slow, seen"),
    "percentile": ("Slow spells", "one shows", "then false PASS", "false FAIL", "right PASS", "right FAIL"),
    "success": ("Failing", "an outage shows", "then false PASS", "false FAIL", "right PASS", "right FAIL"),
}


def tables(found: Mapping[tuple[str, str, int], Sequence[float]], runs: int) -> Iterator[str]:
    """The lines of the three tables."""
    for name, heads in _HEADS.items():
        yield "| " + " | ".join((heads[0], "samples", *heads[1:])) + " |"
        yield "|---" * (len(heads) + 1) + "|"
        own = [(row, n, values) for (table, row, n), values in found.items() if table == name]
        for row, n, values in sorted(own, key=lambda each: [row for row, _, _ in own].index(each[0])):
            yield f"| {row} | {n:,} | " + " | ".join(map(_percent, values)) + " |"
        yield ""
    yield f"{runs:,} runs each, {runs // _FEWER:,} with seven vendors; seeds from {FIRST_SEED:,} on. A drift has a"
    yield f"deviation of {_DRIFT:.0%} and a correlation length of {LENGTH} requests, beside {_LUCK:.0%} of luck."
    yield f"Spells of {SPELL} requests on average are three times as slow, a tenth of the time. Outages last {OUTAGE}"
    yield "requests. A false PASS or FAIL is of a limit exactly at the true figure; the right ones are of limits"
    yield f"{OFF:g} times off, and of five times or a fifth of the failures."


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, help="print the tables from so many runs, instead of writing them")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--jobs", type=int, help="processes (default: one for each core)")
    said = parser.parse_args()
    runs = said.runs or RUNS
    made = "\n".join(tables(measured(runs, said.first, said.jobs), runs)) + "\n"
    if said.runs is not None:
        sys.stdout.write(made)
        return 0
    before, _, rest = TARGET.read_text(encoding="utf-8").partition(BEGIN)
    TARGET.write_text(f"{before}{BEGIN}{made}{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
