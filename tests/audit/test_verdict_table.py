"""The one table: every finding has a rule, and each rule says at its edges what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from judged_vendors import BASELINE, World, asked, field_of, found, gap, gate, score_difference, scores
from msgspec import structs
from verdict_edges import EDGES

import vendor_verifier
from vendor_verifier.audit.verdict_table import RULES, against, against_baseline, points, success
from vendor_verifier.gates.thresholds import COST_METRICS, THRESHOLD_METRICS
from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.verdict import FACETS, Facet, FacetName, Status
from vendor_verifier.words import entries

AUDIT = Path(vendor_verifier.__file__).parent / "audit"
SOURCE = "\n".join(
    file.read_text(encoding="utf-8") for file in sorted(AUDIT.glob("*.py")) if file.name != "verdict_table.py"
)
SHARED_TRAITS = (
    "served_model_changes", "id_families", "answers_repeated", "max_tokens_exceeded", "cut_below_max_tokens",
    "cache_impossible", "reasoning_not_shown",
)  # fmt: skip


def said_against(world: World, label: str = "v") -> list[Facet]:
    return list(against(world.about(label)))


def test_every_finding_has_a_rule_and_words_and_every_rule_a_finding() -> None:
    """A finding cannot be added without saying what it means for a buyer."""
    worded = {
        name.removeprefix("finding_")
        for name in entries()
        if name.startswith("finding_") and not name.endswith(("_one", "_wide", "_narrow"))
    }
    # What else begins so in the catalogue is a part of a sentence, named in full where it is used.
    emitted = {name for name in worded if f'"{name}"' in SOURCE}
    assert len(emitted) > 30
    assert RULES.keys() == emitted
    assert {name for name, _ in RULES.values()} == set(FACETS)


def test_every_rule_is_tried_at_its_edges() -> None:
    """So that a new rule comes with its edges; the one that rests on a gap has a test of its own."""
    assert {name for name, *_ in EDGES} | {"calls_unlike_baseline"} == RULES.keys()


@pytest.mark.parametrize(("name", "evidence", "facet", "status"), EDGES)
def test_a_finding_speaks_against_its_facet_with_its_status(
    name: str, evidence: dict[str, float | str], facet: FacetName, status: Status | None
) -> None:
    """The statement of the finding is the reason, its samples are the evidence; None says nothing against anybody."""
    world = field_of("v", findings=(found(name, samples=("s1",), **evidence),))
    expected = [] if status is None else [(facet, status, f"says {name}", name, ("s1",))]
    assert [
        (each.name, each.status, each.reason, each.finding, each.samples) for each in said_against(world)
    ] == expected


def test_no_finding_on_speed_is_worse_than_doubtful() -> None:
    """Nobody sells a speed."""
    assert {status for name, _, facet, status in EDGES if facet == "speed"} == {"doubtful"}


@pytest.mark.parametrize("name", SHARED_TRAITS)
def test_what_the_baseline_shows_too_is_a_trait_of_the_model(name: str) -> None:
    """Then it says nothing against anybody."""
    world = field_of("v", findings=(found(name), found(name, BASELINE)))
    assert said_against(world) == []
    assert said_against(world, BASELINE) == []


@pytest.mark.parametrize(
    ("served", "status"),
    [
        ("acme/M-Instruct", None),
        ("model-0", None),
        ("maker/model-0-0905", None),
        ("m-mini", "not_as_sold"),
        ("model-7", "not_as_sold"),
    ],
)
def test_the_name_of_the_model_is_no_other_model(served: str, status: str | None) -> None:
    """A reseller asked for an alias that says the model's own name, or what the baseline is asked for, sells it."""
    world = field_of("v", findings=(found("another_model_served", "v", asked="an-alias", served=served),))
    vendors = tuple(structs.replace(each, model_id="model-0") if each.is_baseline else each for each in world.vendors)
    told = said_against(replace(world, vendors=vendors))
    assert [each.status for each in told] == ([] if status is None else [status])


def test_another_name_of_the_baseline_may_be_an_alias() -> None:
    """It is doubtful, never not as sold."""
    world = field_of("v", findings=(found("another_model_served", BASELINE, served="acme/model-2"),))
    assert [each.status for each in said_against(world, BASELINE)] == ["doubtful"]
    assert said_against(world) == []


@pytest.mark.parametrize(
    ("p_value", "value", "high", "status"),
    [
        (0.0009, -0.1, -0.021, "not_as_sold"),
        (0.0009, -0.1, -0.019, "doubtful"),
        (0.0011, -0.1, -0.05, "doubtful"),
        (0.009, -0.1, -0.05, "doubtful"),
        (0.011, -0.1, -0.05, None),
        (0.0001, 0.1, 0.2, None),
    ],
)
def test_a_drop_of_f1_is_as_bad_as_it_is_proven_and_large(
    p_value: float, value: float, high: float, status: Status | None
) -> None:
    """Doubtful from 1 % on; not as sold at 0.1 % and more than 2 points; better than the ceiling is nothing bad."""
    finding = found("calls_unlike_baseline", p_value=p_value)
    world = field_of("v", findings=(finding,), gaps=(gap(value=value, high=high, p_value=p_value),))
    facets = said_against(world)
    assert [each.status for each in facets] == ([] if status is None else [status])
    assert [each.p_value for each in facets] == ([] if status is None else [p_value])


def test_the_level_is_shared_among_the_vendors_compared() -> None:
    """What is not as sold alone is doubtful among ten, and among a hundred nothing."""
    statuses = []
    for others in (0, 9, 99):
        labels = ["v", *(f"w{number}" for number in range(others))]
        world = field_of(
            *labels, findings=(found("calls_unlike_baseline"),), gaps=(gap(value=-0.1, high=-0.05, p_value=0.0008),)
        )
        statuses.append([each.status for each in said_against(world)])
    assert statuses == [["not_as_sold"], ["doubtful"], []]


def test_a_vendor_that_never_calls_is_proven_without_a_p_value_of_f1() -> None:
    """Where no sample moves F1 the disagreements decide."""
    silent = gap(value=-1.0, high=-0.9, p_value=1e-9)
    world = field_of("v", findings=(found("calls_unlike_baseline"),), gaps=(structs.replace(silent, p_value=None),))
    assert [each.status for each in said_against(world)] == ["not_as_sold"]


@pytest.mark.parametrize("metric", [*THRESHOLD_METRICS, "toolbench"])
def test_a_failed_gate_is_about_a_facet(metric: str) -> None:
    """Not as sold, and doubtful where it is about speed; one that holds or is open says nothing."""
    vendors = (asked(BASELINE), asked("v", suites=scores()))
    [facet] = said_against(World(vendors, gates=(gate("FAIL", metric), gate("PASS", metric), gate("UNDECIDED"))))
    expected: FacetName = "speed"
    if metric in ("f1", "schema_accuracy", "tool_call_error_rate", "toolbench"):
        expected = "tool_calls"
    elif "success" in metric:
        expected = "reliability"
    elif metric in COST_METRICS or (metric.endswith("tokens")):
        expected = "bill"
    assert (facet.name, facet.status) == (expected, "doubtful" if expected == "speed" else "not_as_sold")
    assert facet.estimate == gate("FAIL").estimate
    assert "too low" in facet.reason


@pytest.mark.parametrize(
    ("value", "p_value", "status"),
    [
        (-0.2, 0.0009, "not_as_sold"),
        (-0.04, 0.0009, "doubtful"),
        (-0.2, 0.009, "doubtful"),
        (-0.2, 0.011, None),
        (0.2, 0.0001, None),
    ],
)
def test_a_score_below_the_baselines(value: float, p_value: float, status: Status | None) -> None:
    """As with F1, whichever of the two comes first in the pair."""
    for difference in (
        score_difference("v", BASELINE, value, p_value),
        score_difference(BASELINE, "v", -value, p_value),
    ):
        facets = said_against(field_of("v", differences=(difference,)))
        assert [(each.name, each.status) for each in facets] == ([] if status is None else [("tool_calls", status)])
        [turned] = against_baseline(field_of("v", differences=(difference,)).about())
        assert (turned.first, turned.delta.value) == ("v", value)
        assert turned.delta.low == pytest.approx(value - 0.03)
        assert turned.delta.high == pytest.approx(value + 0.03)


def test_the_level_is_shared_among_evaluations() -> None:
    """Two evaluations halve it, so that p = 0.008 is nothing any more."""
    one = score_difference("v", BASELINE, -0.2, 0.008)
    assert [each.status for each in said_against(field_of("v", differences=(one,)))] == ["doubtful"]
    both = (one, score_difference("v", BASELINE, 0.0, 0.9, suite="bfcl"))
    assert said_against(field_of("v", differences=both)) == []


def test_all_wrong_against_all_right_is_a_loss() -> None:
    """Where every sample shows the same difference there is no t-test, and none is needed."""
    never = score_difference("v", BASELINE, -1.0, None, n=20)
    assert [each.status for each in said_against(field_of("v", differences=(never,)))] == ["not_as_sold"]


@pytest.mark.parametrize(
    ("answered", "status"),
    [(300, None), (297, None), (294, None), (293, "doubtful"), (260, "doubtful"), (258, "not_as_sold"),
     (134, "not_as_sold"), (130, "unusable"), (0, "unusable")],
)  # fmt: skip
def test_the_success_rate_by_its_whole_interval(answered: int, status: Status | None) -> None:
    """Doubtful below 99 %, not as sold below 90 %, unusable below half."""
    world = World((asked(BASELINE), asked("v", answered)))
    facets = said_against(world)
    assert [(each.name, each.status) for each in facets] == ([] if status is None else [("reliability", status)])


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_only_what_a_vendor_is_to_blame_for_lowers_its_success(kind: str) -> None:
    """Our network, our key and what was never asked are nobody's fault here; a rate limit is a doubt of its own."""
    vendor = asked("v", 200, failures={kind: 100})
    own = success(vendor)
    is_blamed = KINDS[kind].charge in ("vendor", "question", "door")
    assert own.n == (300 if is_blamed else 200)
    statuses = [each.status for each in said_against(World((asked(BASELINE), vendor)))]
    assert statuses == (["not_as_sold"] if is_blamed else ["doubtful"] if KINDS[kind].charge == "rate_limit" else [])


def test_where_the_baseline_fails_likewise_the_samples_may_be_at_fault() -> None:
    """As often as the baseline, or a little more, is nothing; far more is; and answering less than half is unusable."""
    baseline = asked(BASELINE, 270)
    assert said_against(World((baseline, asked("v", 265)))) == []
    assert [each.status for each in said_against(World((baseline, asked("v", 230))))] == ["not_as_sold"]
    assert [each.status for each in said_against(World((asked(BASELINE, 100), asked("v", 100))))] == ["unusable"]


def test_failing_likewise_is_judged_at_the_level_of_all_vendors() -> None:
    """What is doubtful of a single vendor is nothing of one among twenty."""
    baseline, vendor = asked(BASELINE, 597, 600), asked("v", 292)
    alone = said_against(World((baseline, vendor)))
    among = said_against(World((baseline, vendor, *(asked(f"w{number}") for number in range(200)))))
    assert [each.status for each in alone] == ["doubtful"]
    assert among == []


def test_intervals_and_p_values_come_along() -> None:
    """With the figure that a reason rests on."""
    finding = found("answers_cut", share=0.1, low=0.06, high=0.2)
    [facet] = said_against(field_of("v", findings=(finding,)))
    assert facet.estimate is not None
    assert (facet.estimate.value, facet.estimate.low, facet.estimate.high) == (0.1, 0.06, 0.2)
    assert facet.p_value is None


@pytest.mark.parametrize(
    ("share", "text"), [(1.0, "100"), (0.104, "10"), (0.0999, "10"), (0.0434, "4.3"), (0.008, "0.8")]
)
def test_points_are_said_with_two_digits(share: float, text: str) -> None:
    """As a reason says them."""
    assert points(share) == text
