"""Faked streams and first tokens that are late at times: found where all signs agree, never on honest vendors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

from vendor_verifier.audit.streaming import chance_of_more, streaming_findings
from vendor_verifier.metrics import RECORD_METRICS
from vendor_verifier.records.event import Usage
from vendor_verifier.scoring.observation import Observation, Traits, Try
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.withheld_speeds import partial_rank_correlation, withhold_speeds

_NAMES = [metric.name for metric in RECORD_METRICS]


def _table(
    rows: Sequence[tuple[float, float, float, float, float]], *, reasoning: int | None = None
) -> ObservationTable:
    """A table of (prompt tokens, output tokens, TTFT in ms, TPS, gap in ms)."""
    table = ObservationTable()
    for number, (asked, tokens, ttft, tps, gap) in enumerate(rows):
        values: list[float | None] = [None] * len(_NAMES)
        for name, value in (("input_tokens", asked), ("output_tokens", tokens), ("ttft_ms", ttft), ("tps", tps)):
            values[_NAMES.index(name)] = value
        table.add(
            Observation(
                f"q{number}",
                0,
                Traits(succeeded=True, is_answered=True, attempts=1),
                tuple(values),
                tries=(Try(Usage(int(asked), int(tokens), None, reasoning), useful=True),),
                gaps=tuple(int(1e6 * gap * (1 + 0.1 * (place % 3))) for place in range(20)),
            )
        )
    return table


def _honest(seed: int, n: int = 200, tps: float = 60.0, gap: float = 15.0) -> list[tuple[float, ...]]:
    rng = np.random.default_rng(seed)
    asked, tokens = rng.integers(100, 4_000, n), rng.integers(20, 600, n)
    ttft = 200 + asked / 20 + rng.exponential(60, n)
    return [
        (float(a), float(o), float(t), tps * rng.normal(1, 0.1), gap)
        for a, o, t in zip(asked, tokens, ttft, strict=True)
    ]


def _faked(seed: int, n: int = 200) -> list[tuple[float, ...]]:
    return [(a, o, t + 1_000 * o / 60, 900.0, 4.0) for a, o, t, _, _ in _honest(seed, n)]


def _names(own: ObservationTable, seed: int = 1) -> set[str]:
    reference = _table(_honest(seed))  # type: ignore[arg-type]
    withhold_speeds(own, reference, is_baseline=False)
    return {found.name for found in streaming_findings({"official": reference, "one": own}, "official")}


def test_a_faked_stream_is_named() -> None:
    assert "stream_faked" in _names(_table(_faked(2)))  # type: ignore[arg-type]


def test_no_honest_vendor_of_eighty_is_named() -> None:
    assert not set().union(*(_names(_table(_honest(seed))) for seed in range(10, 90)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kept", ["speed", "reasoning"])
def test_a_late_first_token_of_long_answers_alone_proves_nothing(kept: str) -> None:
    rows = [(a, o, t, 60.0 if kept == "speed" else tps, gap) for a, o, t, tps, gap in _faked(2)]
    own = _table(rows, reasoning=200 if kept == "reasoning" else None)
    assert "stream_faked" not in _names(own)


def test_a_first_token_that_is_late_now_and_then_is_named_with_its_share() -> None:
    rows = [
        (a, o, t * (9 if place % 30 == 0 else 1), tps, gap) for place, (a, o, t, tps, gap) in enumerate(_honest(3, 500))
    ]
    tables = {"official": _table(_honest(1, 500)), "one": _table(rows)}  # type: ignore[arg-type]
    (found,) = streaming_findings(tables, "official")
    assert found.name == "first_token_late_at_times"
    assert 14 <= int(found.evidence["late"]) <= 18


def test_what_is_late_at_the_baseline_too_is_no_finding() -> None:
    rows = [
        (a, o, t * (9 if place % 30 == 0 else 1), tps, gap) for place, (a, o, t, tps, gap) in enumerate(_honest(3, 500))
    ]
    assert not list(streaming_findings({"official": _table(rows), "one": _table(rows)}, "official"))  # type: ignore[arg-type]


def test_the_correlation_holds_the_third_column_constant() -> None:
    rng = np.random.default_rng(4)
    cause = rng.normal(size=400)
    one, other = cause + 0.3 * rng.normal(size=400), cause + 0.3 * rng.normal(size=400)
    plain, p_plain = partial_rank_correlation(one, other, np.zeros(400))
    held, p_held = partial_rank_correlation(one, other, cause)
    assert plain > 0.8
    assert p_plain < 1e-6
    assert abs(held) < 0.15
    assert p_held > 0.005


def test_the_chance_of_more_is_fishers() -> None:
    assert chance_of_more(13, 500, 7, 1_000) == pytest.approx(
        float(scipy.stats.fisher_exact([[13, 487], [7, 993]], alternative="greater").pvalue)
    )
    assert chance_of_more(0, 500, 7, 1_000) == pytest.approx(1.0)


def test_three_percent_of_late_first_tokens_are_seen_beside_a_baseline_with_some_of_its_own() -> None:
    """13 of 500 against 7 of 1,000: two intervals of their own overlap, and yet it is no chance."""
    own = [
        (a, o, t * (9 if place % 38 == 0 else 1), tps, gap) for place, (a, o, t, tps, gap) in enumerate(_honest(3, 500))
    ]
    base = [
        (a, o, t * (9 if place % 140 == 0 else 1), tps, gap)
        for place, (a, o, t, tps, gap) in enumerate(_honest(1, 1_000))
    ]
    (found,) = streaming_findings({"official": _table(base), "one": _table(own)}, "official")  # type: ignore[arg-type]
    assert (found.name, found.evidence["late"]) == ("first_token_late_at_times", 14)
