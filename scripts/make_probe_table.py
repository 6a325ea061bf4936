"""Write the tables of docs/judgement.md that say which other model `--suite probes` shows how often.

The toy world below was written down, with these parameters, before anything was measured in it, and none of them was
changed since. It owes nothing to the simulated vendors or to the test's own tuning:

- A probe has 100 possible answers whose probabilities follow Zipf's law, p proportional to rank to the power -s, with s
  such that the entropy is drawn evenly from 1 to 5 bits.
- Ordinary text is mostly certain: half of its tokens have an entropy below 0.01 nats and a fifth above 0.672 (as
  arXiv 2506.01939 found of reasoning texts); here the upper fifth is 0.672 and an exponential of mean 0.5, those
  between are even. Each is Zipf's law over 1,000 tokens.
- A perturbed model, as of other precision, has independent Gaussian noise on every logit, of the size that gives a
  Kullback-Leibler divergence of 0.03, 0.01 or 0.002 per token of that ordinary text, on the average.
- Log-probabilities are stated for the 5 likeliest answers beside the first 5 answers to each probe, each a little off,
  as batching makes them: normal with a standard deviation of 0.05 nats.
- A mixture sends every request with a chance of 20 % or 5 % to another model: Zipf's law with an entropy of its own
  over the same answers in an order of its own.

python scripts/make_probe_table.py                     write the tables (some 20 minutes)
python scripts/make_probe_table.py --only logprobs     write that of log-probabilities
python scripts/make_probe_table.py --runs 20           print them from so few runs, and write nothing
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vendor_verifier.stats.intervals import wilson
from vendor_verifier.stats.logprob_test import LEAST_SHIFT, StatedLogprobs, shift, tabled
from vendor_verifier.stats.probe_test import ProbeCounts, seen_mixture, unlikeness

TARGET = Path(__file__).resolve().parent.parent / "docs" / "judgement.md"
# None below this was looked at while the test was made.
FIRST_SEED = 50_000
RUNS, NULL_RUNS = 200, 1_000
LEVEL = 0.01
WITH_LOGPROBS, LISTED = 5, 5
# Fewer than the product draws: enough for a decision at this level, and no easier.
DRAWS = 1_000
ANSWERS, LEAST_BITS, MOST_BITS = 100, 1.0, 5.0
TEXT_TOKENS, TEXT_PLACES = 1_000, 4_000
JITTER = 0.05
CERTAIN_SHARE, LOW_SHARE, LOW_NATS, HIGH_NATS, HIGH_MEAN = 0.5, 0.3, 0.01, 0.672, 0.5

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """How many probes are asked how often."""

    probes: int
    asked: int


class Defect(NamedTuple):
    """The vendor's model: divergence per token of ordinary text from the baseline's, and the share of another model."""

    what: str
    divergence: float = 0.0
    mixed: float = 0.0


SIZES = (Size(60, 20), Size(100, 50))
DEFECTS = (
    Defect("divergence 0.03 per token, as of 4 bits", divergence=0.03),
    Defect("divergence 0.01 per token", divergence=0.01),
    Defect("divergence 0.002 per token, as of 8 bits", divergence=0.002),
    Defect("20 % of the requests to another model", mixed=0.2),
    Defect("5 % of the requests to another model", mixed=0.05),
)
TWIN = Defect("the same model")


def shares(logits: Floats) -> Floats:
    """Probabilities of logits, row by row."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return found


def zipf_logits(nats: Floats, tokens: int) -> Floats:
    """Logits of Zipf's law over so many tokens with these entropies, a row each, found by bisection."""
    ranks = np.log(np.arange(1, tokens + 1))
    low, high = np.zeros(len(nats)), np.full(len(nats), 40.0)
    for _ in range(50):
        middle = (low + high) / 2
        p = shares(-middle[:, None] * ranks)
        entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1)
        low, high = np.where(entropy > nats, middle, low), np.where(entropy > nats, high, middle)
    found: Floats = -low[:, None] * ranks
    return found


@cache
def _text() -> tuple[Floats, Floats, Floats]:
    """Logits of ordinary text, noise of standard deviation 1 for them, and their probabilities."""
    rng = np.random.default_rng(0)
    kind = rng.random(TEXT_PLACES)
    nats = np.where(kind < CERTAIN_SHARE, rng.uniform(0, LOW_NATS, TEXT_PLACES), 0.0)
    middle = (kind >= CERTAIN_SHARE) & (kind < CERTAIN_SHARE + LOW_SHARE)
    nats = np.where(middle, rng.uniform(LOW_NATS, HIGH_NATS, TEXT_PLACES), nats)
    nats = np.where(kind >= CERTAIN_SHARE + LOW_SHARE, HIGH_NATS + rng.exponential(HIGH_MEAN, TEXT_PLACES), nats)
    logits = zipf_logits(nats, TEXT_TOKENS)
    return logits, rng.normal(size=logits.shape), shares(logits)


@cache
def noise_of(divergence: float) -> float:
    """The standard deviation of noise on logits that gives this divergence (nats) per token of ordinary text."""
    logits, noise, own = _text()
    low, high = 0.0, 5.0
    for _ in range(25):
        width = (low + high) / 2
        other = shares(logits + width * noise)
        mean = float((own * np.log(np.maximum(own, 1e-300) / np.maximum(other, 1e-300))).sum(axis=1).mean())
        low, high = (width, high) if mean < divergence else (low, width)
    return low


def world(rng: np.random.Generator, size: Size, defect: Defect, repeats: int) -> list[ProbeCounts]:
    """The counts of every probe, of a vendor with the defect and of a baseline that is asked ``repeats`` times."""
    logits = _probe_logits(rng, size.probes)
    noise = noise_of(defect.divergence) * rng.normal(size=logits.shape) if defect.divergence else 0.0
    own = shares(logits + noise)
    if defect.mixed:
        own = (1 - defect.mixed) * own + defect.mixed * shares(_probe_logits(rng, size.probes))
    vendor = rng.multinomial(size.asked, own)
    baseline = rng.multinomial(size.asked * repeats, shares(logits))
    seen = (vendor + baseline) > 0
    return [ProbeCounts(mine[kept], theirs[kept]) for mine, theirs, kept in zip(vendor, baseline, seen, strict=True)]


def stated(rng: np.random.Generator, probes: int, defect: Defect, repeats: int = 2) -> list[StatedLogprobs]:
    """The log-probabilities beside the answers of a vendor with the defect and of a baseline, probe by probe."""
    logits = _probe_logits(rng, probes)
    noise = noise_of(defect.divergence) * rng.normal(size=logits.shape) if defect.divergence else 0.0
    other = np.log(shares(_probe_logits(rng, probes) if defect.mixed else logits))
    sides: list[dict[str, list[dict[str, float]]]] = []
    for own, times in ((logits + noise, WITH_LOGPROBS), (logits, WITH_LOGPROBS * repeats)):
        is_other = rng.random((probes, times, 1)) < (defect.mixed if not sides else 0.0)
        told = np.where(is_other, other[:, None], np.log(shares(own))[:, None])
        told = told + JITTER * rng.normal(size=told.shape)
        best = np.argsort(-told, axis=2)[:, :, :LISTED]
        listed = np.take_along_axis(told, best, axis=2)
        pairs = zip(best.tolist(), listed.tolist(), strict=True)
        sides.append(
            {str(probe): [_listed(*each) for each in zip(*both, strict=True)] for probe, both in enumerate(pairs)}
        )
    return tabled(*sides)


def _listed(tokens: Sequence[int], numbers: Sequence[float]) -> dict[str, float]:
    return dict(zip(map(str, tokens), numbers, strict=True))


def _probe_logits(rng: np.random.Generator, probes: int) -> Floats:
    nats = rng.uniform(LEAST_BITS, MOST_BITS, probes) * np.log(2)
    return rng.permuted(zipf_logits(nats, ANSWERS), axis=1)


def found(size: Size, defect: Defect, runs: int, *, repeats: int = 2, first_seed: int = FIRST_SEED) -> int:
    """In how many of the runs the test finds the vendor unlike its baseline at the level of one vendor."""
    return sum(_is_found(size, defect, repeats, seed) for seed in range(first_seed, first_seed + runs))


def _is_found(size: Size, defect: Defect, repeats: int, seed: int) -> bool:
    rng = np.random.default_rng((seed, *size, round(1e4 * defect.divergence), round(1e4 * defect.mixed), repeats))
    test = unlikeness(world(rng, size, defect, repeats), rng, DRAWS)
    return test is not None and test.p_value <= LEVEL


def found_by_logprobs(probes: int, defect: Defect, runs: int, *, repeats: int = 2, first_seed: int = FIRST_SEED) -> int:
    """In how many of the runs the stated log-probabilities are found unlike the baseline's, with one vendor."""
    count = 0
    for seed in range(first_seed, first_seed + runs):
        rng = np.random.default_rng(
            (seed, probes, round(1e4 * defect.divergence), round(1e4 * defect.mixed), repeats, 7)
        )
        test = shift(stated(rng, probes, defect, repeats), rng, DRAWS)
        count += test.p_value <= LEVEL and test.nats >= LEAST_SHIFT
    return count


class Said(NamedTuple):
    """The mixtures that runs of honest vendors say they would see in 8 of 10, and how many of as many were found."""

    found: int
    shares: list[float]


def said_and_found(runs: int, first_seed: int = FIRST_SEED) -> Said:
    """Each run says of an honest vendor what it would have seen; then one world of that mixture is made and tested."""
    count, shares_said = 0, []
    for seed in range(first_seed, first_seed + runs):
        rng = np.random.default_rng((seed, 8))
        share = seen_mixture(world(rng, SIZES[0], TWIN, 2), LEVEL, rng)
        assert share is not None, "60 probes asked 20 times show another model at the least"
        shares_said.append(share)
        count += _is_found(SIZES[0], Defect("", mixed=share), 2, seed)
    return Said(count, shares_said)


def table(runs: int, null_runs: int) -> Iterator[str]:
    """The lines of the table and what stands below it."""
    heads = [f"{size.probes} × {size.asked} = {size.probes * size.asked:,}" for size in SIZES]
    yield f"| The vendor's model | {' | '.join(heads)} | {heads[0]}, baseline asked once |"
    yield "|---|" + "---|" * (len(SIZES) + 1)
    for defect in (*DEFECTS, TWIN):
        many = null_runs if defect is TWIN else runs
        cells = [_share(found(size, defect, many), many) for size in SIZES]
        cells.append(_share(found(SIZES[0], defect, many, repeats=1), many))
        yield f"| {defect.what} | {' | '.join(cells)} |"
    yield ""
    yield (
        f"Level {LEVEL:.0%} with one vendor; {runs} runs a cell, {null_runs:,} of the same model; seeds from "
        f"{FIRST_SEED:,} on. In brackets the 95 % interval of the share found."
    )


def _share(count: int, runs: int) -> str:
    interval = wilson(count, runs)
    return f"{count / runs:.3g} ({interval.low:.2g}–{interval.high:.2g})"


def logprobs_table(runs: int, null_runs: int) -> Iterator[str]:
    """The lines of the table of log-probabilities and what stands below it; three tenths of the runs are enough."""
    probes, runs, null_runs = SIZES[0].probes, max(1, 3 * runs // 10), max(1, 3 * null_runs // 10)
    yield f"| The vendor's model | log-probabilities beside {probes * WITH_LOGPROBS} answers | Runs |"
    yield "|---|---|--:|"
    for defect in (*DEFECTS, TWIN):
        many = null_runs if defect is TWIN else runs
        yield f"| {defect.what} | {_share(found_by_logprobs(probes, defect, many), many)} | {many} |"
    yield ""
    yield f"Level {LEVEL:.0%} with one vendor; seeds from {FIRST_SEED:,} on. In brackets the 95 % interval of the share"
    yield "found."


TABLES: Mapping[str, Callable[[int, int], Iterator[str]]] = {"probes": table, "logprobs": logprobs_table}


def main(words: Sequence[str] | None = None) -> int:
    """Write the tables, or print them from fewer runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--only", choices=TABLES)
    said = parser.parse_args(words)
    for name, made in TABLES.items():
        if said.only not in (None, name):
            continue
        lines = "\n".join(made(said.runs or RUNS, said.runs or NULL_RUNS)) + "\n"
        if said.runs is not None:
            sys.stdout.write(lines)
            continue
        begin, end = (f"<!-- {name}: {place} -->\n" for place in ("begin", "end"))
        head, _, rest = TARGET.read_text(encoding="utf-8").partition(begin)
        TARGET.write_text(head + begin + lines + end + rest.partition(end)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
