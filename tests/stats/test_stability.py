"""The lead is tested by leaving things out, and the Pareto front holds whoever nobody beats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.stats.rank_uncertainty import leader_changes, leaders, pareto_front

FIGURES = {
    "a": {"f1": 0.99, "tps": 50.0, "avg_tokens": 100.0},
    "b": {"f1": 0.90, "tps": 90.0, "avg_tokens": 120.0},
    "c": {"f1": 0.80, "tps": 40.0, "avg_tokens": 130.0},
}


def test_the_leader_changes_with_a_metric() -> None:
    """Without F1 or without tokens a is no longer alone in front; without speed it stays."""
    assert leaders(FIGURES) == ("a",)
    found = {(each.kind, each.dropped): each.leaders for each in leader_changes(FIGURES)}
    assert found == {("metric", "f1"): ("a", "b"), ("metric", "avg_tokens"): ("a", "b")}


def test_an_irrelevant_vendor_can_decide_who_leads() -> None:
    """a beats b only because c pushes b down on the metric where b loses."""
    figures = {
        "a": {"x": 3.0, "y": 1.0},
        "b": {"x": 1.0, "y": 2.0},
        "c": {"x": 2.0, "y": 0.0},
    }
    assert leaders(figures) == ("a",)
    assert [(each.kind, each.dropped, each.leaders) for each in leader_changes(figures) if each.kind == "vendor"] == [
        ("vendor", "c", ("a", "b"))
    ]


def test_the_pareto_front() -> None:
    """c is worse than a everywhere; lacking a figure protects from nobody who has it, and having none is no merit."""
    assert pareto_front(FIGURES) == ("a", "b")
    assert pareto_front({**FIGURES, "d": {"f1": 0.5}, "e": {}, "g": {"tps": None}}) == ("a", "b")
    assert pareto_front({"a": {"f1": 1.0}, "b": {"f1": 1.0}}) == ("a", "b")


def test_nobody_leads_nothing() -> None:
    """Without figures there is no leader and nothing that could change."""
    assert leaders({"a": {}, "b": {"f1": None}}) == ()
    assert leader_changes({"a": {}, "b": {"f1": None}}) == ()


@given(
    st.dictionaries(
        st.sampled_from("abcde"),
        st.fixed_dictionaries({"f1": st.integers(0, 3), "tps": st.integers(0, 3)}),
        min_size=1,
    )
)
def test_somebody_is_always_on_the_front(figures: dict[str, dict[str, float]]) -> None:
    """The front is never empty, and whoever is not on it is beaten by somebody who is."""
    front = pareto_front(figures)
    assert front
    for label in set(figures) - set(front):
        own = figures[label]
        assert any(all(figures[best][name] >= own[name] for name in own) for best in front)
