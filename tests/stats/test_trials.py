"""ObservationTable become trials without a row lost, doubled or charged to the wrong side."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest
from observed import table_of

from vendor_verifier.gates.thresholds import COST_METRICS, THRESHOLD_METRICS
from vendor_verifier.metrics import POOLED, RECORD_METRICS
from vendor_verifier.records.score import CallClass, Decision
from vendor_verifier.scoring.observation import Observation, Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import MEANS, trials_of


def row(
    sample: str,
    decision: Decision = "called",
    *,
    failure: str | None = None,
    classes: tuple[CallClass, ...] = (),
    suite: str = "trigger",
    is_offered_tools: bool = False,
    score: float | None = None,
    values: Mapping[str, float] = MappingProxyType({"total_tokens": 300.0, "ttft_ms": 500.0, "e2e_ms": 900.0}),
) -> Observation:
    sums = {"tps": (100.0, 2.0), "e2e_tps": (100.0, 4.0)}
    traits = Traits(
        suite=suite,
        succeeded=failure is None,
        attempts=2,
        decision=decision if failure is None else "undecided",
        classes=classes,
        is_offered_tools=is_offered_tools,
        failure=failure,
        scores=(("resolved", score),),
    )
    return Observation(
        sample,
        0,
        traits,
        values=tuple(None if failure else values.get(metric.name) for metric in RECORD_METRICS),
        pooled=tuple(None if failure else sums[metric.name] for metric in POOLED),
    )


@pytest.fixture
def columns() -> ObservationTable:
    return table_of(
        [
            row("a", classes=("valid", "schema_mismatch", "schema_unusable")),
            row("b", "not_called"),
            row("c", failure="http_5xx"),
            row("d", failure="harness"),
        ]
    )


PLANNED = {"trigger": ["a", "b", "c", "d", "e"]}


def test_every_metric_is_a_ratio_of_sums(columns: ObservationTable) -> None:
    """Unusable schemas are not counted, failures measure only that they failed, what is not charged is absent."""
    found = trials_of("v", columns, PLANNED, repeat=1, complete=False)
    assert found.ratios["success_rate"] == {("a", 0): (1.0, 1.0), ("b", 0): (1.0, 1.0), ("c", 0): (0.0, 1.0)}
    assert found.ratios["schema_accuracy"] == {("a", 0): (1.0, 2.0)}
    assert found.ratios["avg_ttft_ms"] == {("a", 0): (500.0, 1.0), ("b", 0): (500.0, 1.0)}
    assert found.ratios["tps"]["a", 0] == (100.0, 2.0)
    assert found.ratios["e2e_tps"]["a", 0] == (100.0, 4.0)
    assert found.runs == ({"a": "called", "b": "not_called", "c": "undecided"},)


def test_strict_counts_what_lenient_leaves_out(columns: ObservationTable) -> None:
    """One valid call of three under K2-Vendor-Verifier's convention."""
    found = trials_of("v", columns, PLANNED, repeat=1, complete=False, policy="strict")
    assert found.ratios["schema_accuracy"] == {("a", 0): (1.0, 3.0)}


def test_a_lost_row_of_a_complete_run_is_a_failure(columns: ObservationTable) -> None:
    """Sample e was planned and has no record; what another provider served is neither lost nor counted."""
    found = trials_of("v", columns, PLANNED, repeat=1, complete=True)
    assert found.ratios["success_rate"]["e", 0] == (0.0, 1.0)
    assert found.runs[0]["e"] == "undecided"
    columns.add(row("e"))
    columns.misrouted.add(("trigger", "e", 0))
    assert ("e", 0) not in trials_of("v", columns, PLANNED, repeat=1, complete=True).ratios["success_rate"]


def test_an_entry_without_records_measured_nothing() -> None:
    """Nothing is 0 about a vendor that was never asked."""
    found = trials_of("v", ObservationTable(), PLANNED, repeat=1, complete=True)
    assert found.ratios == {}
    assert build_panel([found], ["a"], metrics=["success_rate"]).value("v", "success_rate") is None


def test_a_sample_of_two_suites_is_one_unit(columns: ObservationTable) -> None:
    """Its answers are summed, and the second suite's score is a metric under the suite's name."""
    columns.add(row("a", suite="toolbench", score=0.5))
    planned = {**PLANNED, "toolbench": ["a"]}
    found = trials_of("v", columns, planned, repeat=1, complete=False, main={"toolbench": "resolved"})
    assert found.ratios["success_rate"]["a", 0] == (2.0, 2.0)
    assert found.ratios["toolbench"] == {("a", 0): (0.5, 1.0)}


def test_every_metric_of_the_grammar_but_costs_and_f1_is_measured(columns: ObservationTable) -> None:
    """A gate on any of them finds a column, if something measured it."""
    values = {metric.name: 1.0 for metric in RECORD_METRICS}
    everything = table_of([row("a", classes=("valid",), is_offered_tools=True, values=values)])
    found = trials_of("v", everything, PLANNED, repeat=1, complete=False)
    assert set(THRESHOLD_METRICS) - set(COST_METRICS) - {"f1"} <= set(found.ratios)


def test_only_the_means_that_somebody_asks_for_are_held(columns: ObservationTable) -> None:
    """A metric that nothing judges takes no row a record; without a word all that were measured are there."""
    asked = trials_of("v", columns, PLANNED, repeat=1, complete=False, means=["avg_ttft_ms"])
    assert asked.ratios.keys() & MEANS.keys() == {"avg_ttft_ms"}
    whole = trials_of("v", columns, PLANNED, repeat=1, complete=False)
    assert whole.ratios.keys() & MEANS.keys() == {"avg_tokens", "avg_ttft_ms", "total_tokens", "ttft_ms", "e2e_ms"}
