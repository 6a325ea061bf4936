"""The choice names one vendor only where it is as sold and provably ahead, else the tie, else that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
from judged_vendors import (
    BASELINE,
    World,
    asked,
    field_of,
    found,
    gap,
    paid,
    ranking,
    score_difference,
    scores,
)
from msgspec import structs

from vendor_verifier.records.judgement import Difference, Finding, ScoreDifference
from vendor_verifier.records.verdict import Choice

APART = {"a": (1.0, 1.0), "b": (2.0, 3.0), "c": (2.0, 3.0), BASELINE: (1.0, 3.0)}
TOGETHER = {"a": (1.0, 2.0), "b": (2.0, 3.0), "c": (2.0, 3.0)}


def fraud(*labels: str) -> tuple[Finding, ...]:
    return tuple(found("prompt_truncated", label) for label in labels)


def choice(*labels: str, **more: object) -> Choice:
    return field_of(*labels, **more).advice.choice


def test_one_that_is_ahead_of_all_others_is_the_one_to_take() -> None:
    """Its rank interval ends before theirs begin; the baseline's own does not matter."""
    found = choice("a", "b", "c", ranking=ranking(APART))
    assert (found.kind, found.labels, found.of, found.by) == ("take", ("a",), 3, "irf")
    assert found.counts == {"as_sold": 3}


def test_where_rank_intervals_touch_nobody_leads() -> None:
    """All who are as sold are a tie, in the order of the ranking; so they are without any intervals."""
    for ranked in (ranking(TOGETHER), ranking({}), None):
        found = choice("a", "b", "c", ranking=ranked)
        assert (found.kind, found.labels) == ("tie", ("a", "b", "c"))


def test_one_that_is_ahead_and_not_as_sold_is_never_named() -> None:
    """The others are judged among themselves."""
    found = choice("a", "b", "c", ranking=ranking(APART), findings=fraud("a"))
    assert (found.kind, found.labels) == ("tie", ("b", "c"))
    assert found.counts == {"not_as_sold": 1, "as_sold": 2}


def test_a_vendor_is_ahead_of_those_that_are_as_sold_only() -> None:
    """A fraud whose ranks overlap its own does not keep it from the lead."""
    found = choice("a", "b", "c", ranking=ranking(TOGETHER), findings=fraud("b"))
    assert found.kind == "tie"
    found = choice("a", "b", "c", ranking=ranking(APART | {"b": (1.0, 1.0)}), findings=fraud("b"))
    assert (found.kind, found.labels) == ("take", ("a",))


def test_the_only_one_that_is_as_sold() -> None:
    """It is to be taken whatever its rank."""
    found = choice("a", "b", "c", ranking=ranking(APART), findings=fraud("a", "b"))
    assert (found.kind, found.labels, found.of) == ("only", ("c",), 3)


def test_none_is_as_sold() -> None:
    """Then nobody is named; the only vendor there is, is."""
    found = choice("a", "b", findings=fraud("a", "b"))
    assert (found.kind, found.labels, found.counts) == ("none", (), {"not_as_sold": 2})
    found = choice("a", findings=fraud("a"))
    assert (found.kind, found.labels, found.counts) == ("none", ("a",), {"not_as_sold": 1})


def test_undecided_names_those_that_nothing_speaks_against() -> None:
    """Without a ceiling nobody is as sold; a fraud among them is counted and not named."""
    found = choice("a", "b", "c", gaps=(), ceiling=None, findings=fraud("b"))
    assert (found.kind, found.labels) == ("undecided", ("a", "c"))
    assert found.counts == {"too_little_evidence": 2, "not_as_sold": 1}


def test_one_as_sold_is_taken_before_any_that_is_open() -> None:
    """Too little evidence is no recommendation."""
    found = choice("a", "b", gaps=(gap("a"), gap("b", value=-0.04, high=-0.01, p_value=0.03)))
    assert (found.kind, found.labels) == ("only", ("a",))


def test_sums_of_more_and_of_fewer_metrics_are_not_compared() -> None:
    """A vendor whose speed alone was measured has a higher IRF for that, and does not lead for it."""
    world = field_of("a", "b", ranking=ranking({"a": (1.0, 1.0), "b": (2.0, 2.0)}))
    assert world.advice.choice.kind == "take"
    fewer = [structs.replace(vendor, irf_metrics=4) if vendor.label == "b" else vendor for vendor in world.vendors]
    assert replace(world, vendors=tuple(fewer)).advice.choice.kind == "tie"


def test_who_answered_nothing_is_never_named() -> None:
    """Not even where nothing else speaks against it, as where our key was refused."""
    locked = asked("b", 0, 0, recorded=5, failures={"auth": 5})
    world = World((asked(BASELINE), asked("a"), locked), ceiling=None)
    assert world.advice.choice.labels == ("a",)
    alone = replace(world, vendors=(asked(BASELINE), locked, asked("c", 0)))
    assert (alone.advice.choice.kind, alone.advice.choice.labels) == ("undecided", ())


def test_nobody_answered() -> None:
    """All were asked and none answered, the baseline among them."""
    world = World((asked(BASELINE, 0), asked("a", 0)))
    assert world.advice.choice.kind == "nobody_answered"
    assert replace(world, vendors=(asked(BASELINE, 1), asked("a", 0))).advice.choice.kind == "none"


def test_the_reference_alone() -> None:
    """There is nothing to choose from, and the baseline is no choice."""
    found = World((asked(BASELINE),)).advice.choice
    assert (found.kind, found.labels, found.of) == ("reference_alone", (BASELINE,), 0)


def test_a_tie_is_parted_by_price_and_by_speed() -> None:
    """By who costs least per valid call, and by whose first token provably comes sooner than every other's."""
    money = {"a": paid(0.004), "b": paid(0.002), "c": paid(None), BASELINE: paid(0.001)}
    sooner = [
        Difference("avg_ttft_ms", "c", "a", -90.0, -99.0, -80.0),
        Difference("avg_ttft_ms", "b", "c", 9.0, 5.0, 12.0),
    ]
    found = choice("a", "b", "c", money=money, ranking=ranking({}, sooner))
    assert (found.kind, found.cheapest, found.cheapest_usd, found.fastest) == ("tie", "b", 0.002, "c")
    unproven = [sooner[0], structs.replace(sooner[1], low=-1.0)]
    assert choice("a", "b", "c", ranking=ranking({}, unproven)).fastest is None


def test_equal_prices_and_a_single_one_part_nobody() -> None:
    """The cheapest of one is not named, nor one of two that cost the same."""
    assert choice("a", "b", money={"a": paid(0.004), "b": paid(0.004)}).cheapest is None
    assert choice("a", "b", money={"a": paid(0.004)}).cheapest is None


def only_scores(*labels: str, differences: Sequence[ScoreDifference] = ()) -> World:
    """A run of one evaluation, in which the baseline was asked once."""
    against = [score_difference(label, BASELINE, 0.0, 0.9) for label in labels]
    vendors = [asked(label, trigger=None, suites=scores()) for label in (BASELINE, *labels)]
    return World(tuple(vendors), differences=(*against, *differences), ceiling=None)


def test_evaluations_alone_are_decided_by_their_scores() -> None:
    """The rank by six other metrics does not matter then; ahead is who provably scores higher than each other."""
    world = replace(only_scores("a", "b"), ranking=ranking({"a": (1.0, 1.0), "b": (2.0, 2.0)}))
    assert (world.advice.choice.kind, world.advice.choice.by) == ("tie", "score")
    higher = only_scores("a", "b", differences=[score_difference("a", "b", -0.1, 0.001)])
    assert (higher.advice.choice.kind, higher.advice.choice.labels) == ("take", ("b",))
    mixed = [score_difference("a", "b", -0.1, 0.001), score_difference("a", "b", 0.1, 0.001, suite="bfcl")]
    assert only_scores("a", "b", differences=mixed).advice.choice.kind == "tie"


@pytest.mark.parametrize("statuses", list(product(["fine", "fraud", "dead", "open"], repeat=3)))
def test_never_one_that_is_not_as_sold_and_never_the_baseline(statuses: tuple[str, ...]) -> None:
    """Whatever the three vendors are, who is named to be taken or tied is as sold."""
    labels = dict(zip("abc", statuses, strict=True))
    world = World(
        (asked(BASELINE), *(asked(label, 0 if status == "dead" else 300) for label, status in labels.items())),
        findings=fraud(*(label for label, status in labels.items() if status == "fraud")),
        gaps=tuple(gap(label) for label, status in labels.items() if status != "open"),
        ranking=ranking(APART),
    )
    advice = world.advice
    assert BASELINE not in advice.choice.labels
    if advice.choice.kind in ("take", "only", "tie"):
        assert {labels[label] for label in advice.choice.labels} == {"fine"}
    else:
        assert "fine" not in statuses
        assert {labels[label] for label in advice.choice.labels} <= {"open"}
    assert sum(advice.choice.counts.values()) == 3


def test_a_choice_knows_the_greatest_loss_that_those_it_names_may_hide() -> None:
    """Of the least asked, because a buyer takes either; of those that are not named nothing is said."""
    sizes = {"a": 150, "b": 600}
    gaps = {label: structs.replace(gap(label), delta=structs.replace(gap().delta, n=n)) for label, n in sizes.items()}
    small, large = (choice(label, gaps=(gaps[label],)).unseen_loss for label in gaps)
    assert small is not None
    assert large is not None
    assert large < small
    both = {"gaps": tuple(gaps.values())}
    assert choice("a", "b", **both).unseen_loss == pytest.approx(small, rel=0.3)
    assert choice("a", "b", **both, findings=fraud("a")).unseen_loss == pytest.approx(large, rel=0.3)
    assert choice("a", **both, findings=fraud("a")).unseen_loss is None
