"""Every failed sample has exactly one cause, and only the vendor's own count against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from observed import table_of

from vendor_verifier.audit.failure_causes import Outcomes, blame, cause_of, is_failure, outcomes_of
from vendor_verifier.records.blame import Cause
from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.score import CallClass
from vendor_verifier.scoring.observation import Observation, Traits
from vendor_verifier.scoring.row_keys import Unit

OK = Traits()


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (Traits(failure="bad_request", anomalies=("refused_defective_sample",)), "dataset"),
        (Traits(classes=("valid", "schema_unusable")), "dataset"),
        (Traits(classes=("schema_mismatch", "schema_unusable")), "vendor"),
        (Traits(failure="bad_request"), "vendor"),
        (Traits(failure="http_5xx", anomalies=("refused_defective_sample",)), "vendor"),
        (Traits(failure="untranslatable"), "harness"),
        (Traits(failure="skipped"), "harness"),
        (Traits(failure="no_credit"), "harness"),
        (Traits(failure="dns"), "network"),
        (Traits(failure="timeout_connect"), "network"),
        (Traits(failure="connection_reset", phase="send"), "network"),
        (Traits(failure="connection_reset", phase="stream"), "vendor"),
        (Traits(failure="connect_refused"), "vendor"),
        (Traits(failure="rate_limited"), "rate_limit"),
        (Traits(failure="overloaded"), "vendor"),
        (Traits(failure="truncated"), "vendor"),
        (Traits(classes=("invalid_json",)), "vendor"),
    ],
)
def test_the_first_rule_that_fits_decides(outcome: Traits, cause: str) -> None:
    """One failure each, without help from the other vendors' rows."""
    assert cause_of(outcome, network_elsewhere=False, baseline=None) == cause


def told(found: Mapping[Unit, Traits]) -> Outcomes:
    """The outcomes of a table with these rows."""
    return outcomes_of(table_of(Observation(sample, number, traits) for (sample, number), traits in found.items()))


def test_a_closed_door_is_the_networks_when_others_had_trouble_too() -> None:
    """Refused by one vendor alone is that vendor's; refused by several on one sample is ours."""
    refused = told({("s", 0): Traits(failure="connect_refused")})
    assert blame(refused).causes["vendor"] == 1
    assert blame(refused, others=[told({("s", 0): Traits(failure="dns")})]).causes["network"] == 1
    assert blame(refused, others=[told({("t", 0): Traits(failure="dns")})]).causes["vendor"] == 1


def test_the_baseline_excuses_what_it_fails_itself() -> None:
    """In the same way and on every run; a rate limit or a different failure of the baseline excuses nothing."""
    cut = told({("s", 0): Traits(failure="truncated")})
    for baseline, cause in (
        ({("s", 0): Traits(failure="truncated"), ("s", 1): Traits(failure="truncated")}, "baseline_too"),
        ({("s", 0): Traits(failure="truncated"), ("s", 1): OK}, "vendor"),
        ({("s", 0): Traits(failure="http_5xx")}, "vendor"),
        ({("t", 0): Traits(failure="truncated")}, "vendor"),
        ({}, "vendor"),
    ):
        assert blame(cut, told(baseline)).causes[cause] == 1  # type: ignore[index]
    invalid = told({("s", 0): Traits(classes=("schema_mismatch",))})
    assert blame(invalid, told({("s", 0): Traits(classes=("invalid_json",))})).causes["baseline_too"] == 1
    limited = told({("s", 0): Traits(failure="rate_limited")})
    assert blame(limited, limited).causes["rate_limit"] == 1


def test_attributable_rates_stand_beside_raw_ones() -> None:
    """Of ten, two failed by the vendor's doing and three otherwise: 5/10 raw, 5/7 attributable."""
    outcomes = {(f"s{i}", 0): OK for i in range(5)}
    kinds = ["rate_limited", "harness", "dns", "http_5xx", "truncated"]
    found = blame(told({**outcomes, **{(kind, 0): Traits(failure=kind) for kind in kinds}}))
    assert (found.asked, found.failed, found.raw, found.attributable) == (10, 5, 0.5, pytest.approx(5 / 7))
    assert found.samples["network"] == (("dns", 0),)
    assert blame(told({})).raw is None
    assert blame(told({("a", 0): Traits(failure="dns")})).attributable is None


kinds = st.one_of(st.none(), st.sampled_from(sorted(KINDS)))
classes = st.lists(st.sampled_from(get_args(CallClass)), max_size=3).map(tuple)
outcomes = st.dictionaries(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 1)),
    st.builds(Traits, failure=kinds, classes=classes, anomalies=st.sampled_from([(), ("refused_defective_sample",)])),
)


@given(outcomes, outcomes, outcomes)
def test_every_failure_has_exactly_one_cause(
    own: dict[tuple[str, int], Traits], baseline: dict[tuple[str, int], Traits], other: dict[tuple[str, int], Traits]
) -> None:
    """Whatever happened: causes add up to the failures, no sample is charged twice, and attributable is never lower."""
    found = blame(told(own), told(baseline), [told(other)])
    charged = [unit for units in found.samples.values() for unit in units]
    assert sum(found.causes.values()) == found.failed == len(charged) == len(set(charged))
    assert set(found.causes) == set(get_args(Cause))
    assert {unit for unit, outcome in own.items() if is_failure(outcome)} == set(charged)
    if found.raw is not None and found.attributable is not None:
        assert found.attributable >= found.raw
