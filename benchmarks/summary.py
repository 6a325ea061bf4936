"""Observations into medians, ratios and Markdown tables; it measures nothing and opens nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from observing import Observation

QUIET_CORES = 0.15


def ratio(ours: Sequence[Observation], theirs: Sequence[Observation]) -> float:
    """How many times ``ours`` the CPU per request of ``theirs`` is: median of the rounds' ratios.

    Rounds are compared one by one, because what slows the machine for a while slows both of a round.
    """
    pairs = zip(ours, theirs, strict=True)
    return median(one.us_per_request / other.us_per_request for one, other in pairs)


def marginal_us(small: Sequence[Observation], large: Sequence[Observation]) -> float:
    """CPU (µs) of one more request between two sizes: median of the rounds' (large − small) ÷ (n_large − n_small)."""
    pairs = zip(small, large, strict=True)
    return median(
        1e6 * (big.cost.cpu_s - little.cost.cpu_s) / (big.requests - little.requests) for little, big in pairs
    )


def flatness(costs_us: Sequence[float]) -> str:
    """How flat costs are that should be equal; differences of two runs can drown in noise, and then this says so."""
    if min(costs_us) <= 0:
        return "Flatness could not be measured: the noise is larger than the cost of the requests."
    return f"Dearest ÷ cheapest: {max(costs_us) / min(costs_us):.2f} (at most 1.15 is wanted)."


def per_request(observations: Sequence[Observation]) -> str:
    """``412 (405–430)``: median and range of CPU per request in µs."""
    all_us = [one.us_per_request for one in observations]
    return f"{median(all_us):,.0f} ({min(all_us):,.0f}–{max(all_us):,.0f})"


def wall_s(observations: Sequence[Observation]) -> str:
    return f"{median(one.cost.wall_s for one in observations):.2f}"


def peak_mb(observations: Sequence[Observation]) -> str:
    return f"{max(one.cost.peak_mb for one in observations):,.0f}"


def elsewhere(observations: Iterable[Observation]) -> str:
    """One sentence about the other work on the machine, so that a noisy table cannot pass for a quiet one."""
    cores = sorted(one.elsewhere_cores for one in observations if one.elsewhere_cores is not None)
    if not cores:
        return "How much else the machine did meanwhile is not known."
    typical, most = median(cores), cores[-1]
    kind = "Quiet machine" if typical <= QUIET_CORES else "**Noisy machine: compare ratios, not microseconds**"
    return f"{kind}: other programs used {typical:.2f} cores in the median measurement, {most:.2f} in the worst."


def without_places(said: str) -> str:
    """What a program said, in one line of at most 300 characters, without addresses and paths: it goes into a page."""
    return " ".join(word for word in said.split() if "/" not in word and "\\" not in word)[:300]


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; a bar in a cell is escaped, because peers' own words end up here."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
