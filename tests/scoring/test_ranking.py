"""IRF obeys its own rules."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.scoring.irf import RANK_METRICS, irf, ranks


def test_ties_share_the_average_rank() -> None:
    """Two best share 1.5, the third is 3; equality is exact."""
    found = ranks({"a": {"f1": 0.9}, "b": {"f1": 0.9}, "c": {"f1": 0.9 - 1e-9}})
    assert {name: by_metric["f1"] for name, by_metric in found.items()} == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_p25_p70_what_was_not_measured_is_not_ranked() -> None:
    """None, NaN and an absent metric give no rank, least of all the best one for "fewest tokens" (P25, P70)."""
    found = ranks({"a": {"avg_tokens": None}, "b": {"avg_tokens": 5.0}, "c": {}, "d": {"avg_tokens": float("nan")}})
    assert found == {"a": {}, "b": {"avg_tokens": 1.0}, "c": {}, "d": {}}
    assert irf({"a": {"avg_tokens": None}}) == {"a": 0.0}


def test_directions() -> None:
    """Tokens and TTFT rank ascending, all else descending unless told otherwise."""
    found = ranks(
        {"a": dict.fromkeys((*RANK_METRICS, "suite", "cost"), 1.0), "b": {"cost": 2.0, "suite": 2.0}}, {"cost": "lower"}
    )
    assert (found["a"]["cost"], found["a"]["suite"]) == (1.0, 2.0)
    figures = {"a": dict.fromkeys(RANK_METRICS, 1.0), "b": dict.fromkeys(RANK_METRICS, 2.0)}
    assert [name for name, rank in ranks(figures)["a"].items() if rank == 1.0] == ["avg_tokens", "avg_ttft_ms"]


def test_k_is_the_callers() -> None:
    """A single vendor with one metric scores 1 ÷ (1 + k)."""
    assert irf({"a": {"f1": 0.3}}, k=1) == {"a": 0.5}
    assert irf({"a": dict.fromkeys(RANK_METRICS, 0.3)}) == {"a": 1.0}


VALUES = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
FIELD = st.dictionaries(
    st.sampled_from("abcdef"), st.fixed_dictionaries(dict.fromkeys(RANK_METRICS, VALUES)), min_size=1
)


@given(FIELD)
def test_irf_lies_in_its_range_and_ranks_add_up(field: dict[str, dict[str, float | None]]) -> None:
    """IRF is in [0, 1]; the ranks of n measured vendors sum to n(n + 1) ÷ 2 whatever the ties."""
    assert all(0 <= score <= 1 + 1e-12 for score in irf(field).values())
    found = ranks(field)
    for metric in RANK_METRICS:
        given_out = [by_metric[metric] for by_metric in found.values() if metric in by_metric]
        assert sum(given_out) == len(given_out) * (len(given_out) + 1) / 2


@given(FIELD, st.randoms(use_true_random=False))
def test_the_order_of_vendors_does_not_matter(field: dict[str, dict[str, float | None]], rng: object) -> None:
    """Ranking a shuffled field gives the same scores."""
    names = list(field)
    rng.shuffle(names)  # type: ignore[attr-defined]
    assert irf({name: field[name] for name in names}) == irf(field)


@given(FIELD)
def test_a_rival_that_was_not_measured_changes_nobody(field: dict[str, dict[str, float | None]]) -> None:
    """Adding a vendor without a single value leaves all scores as they were."""
    with_ghost = irf(dict(chain(field.items(), [("ghost", dict.fromkeys(RANK_METRICS))])))
    assert {name: with_ghost[name] for name in field} == irf(field)
