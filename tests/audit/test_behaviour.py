"""Vices are named where they are proven, and silence is kept where they are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from observed import table_of
from record_worlds import Persona, columns, taken, world
from worlds import sample_ids

from vendor_verifier.audit.behaviour import behaviour_findings, difference_findings
from vendor_verifier.scoring.observation import Observation, Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.noise_floor import gap
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import Trials

GOOD = Traits(succeeded=True, succeeded_first_try=True, attempts=1, decision="called")
BAD: dict[str, dict[str, Any]] = {
    "answers_cut": {"succeeded": False, "failure": "truncated", "troubles": ("truncated",)},
    "refused_at_first": {"troubles": ("rate_limited",), "attempts": 2},
    "stream_buffered": {"anomalies": ("buffered",)},
    "calls_in_text": {"anomalies": ("markup_in_text",)},
}


def rows(count: int, bad: int = 0, **changes: Any) -> ObservationTable:
    """``bad`` of ``count`` rows with ``changes``."""
    worse = replace(GOOD, **changes)
    return table_of(Observation(f"s{number}", 0, worse if number < bad else GOOD) for number in range(count))


@pytest.mark.parametrize("name", BAD)
def test_a_share_is_named_above_one_percent_and_above_the_baselines(name: str) -> None:
    """Twenty of two hundred are, three are not, and neither are twenty where the baseline has as many."""
    [finding] = behaviour_findings("v", rows(200, 20, **BAD[name]), rows(200))
    assert (finding.name, finding.label, finding.evidence["share"]) == (name, "v", 0.1)
    assert finding.samples == ("s0", "s1", "s2")
    assert "20 of 200" in finding.statement
    assert behaviour_findings("v", rows(200, 3, **BAD[name]), rows(200)) == ()
    assert behaviour_findings("v", rows(200, 20, **BAD[name]), rows(200, 20, **BAD[name])) == ()
    assert behaviour_findings("v", rows(200, 20, **BAD[name]), None) != ()


def test_requests_that_closed_connections_lost_are_named_above_five_percent() -> None:
    """Eleven of 211 sendings are, ten of 210 are not; a single one never is, and neither is what was not sent."""
    [finding] = behaviour_findings("v", rows(200, 11, resent=1), None)
    assert (finding.name, finding.evidence) == ("requests_lost", {"resent": 11, "sends": 211})
    assert finding.samples == ("s0", "s1", "s2")
    assert "11 of 211" in finding.statement
    assert behaviour_findings("v", rows(200, 10, resent=1), None) == ()
    assert behaviour_findings("v", rows(10, 1, resent=1), None) == ()
    assert behaviour_findings("v", rows(200, 10, resent=1, succeeded=False, failure="harness"), None) == ()


def test_who_answers_nothing_is_told_apart_from_who_lets_nobody_in() -> None:
    """A vendor that is down, a key that is refused, and four requests that say too little."""
    down = {"succeeded": False, "failure": "http_5xx", "troubles": ("http_5xx",)}
    locked = {"succeeded": False, "failure": "auth", "troubles": ("auth",)}
    assert [each.name for each in behaviour_findings("v", rows(5, 5, **down), None)] == ["nothing_answered"]
    assert behaviour_findings("v", rows(4, 4, **down), None) == ()
    [finding] = behaviour_findings("v", rows(1, 1, **locked), None)
    assert finding.name == "access_refused"
    ours = {"succeeded": False, "failure": "harness", "troubles": ("harness",)}
    assert behaviour_findings("v", rows(9, 9, **ours), None) == ()


def test_nothing_is_said_of_speed_by_a_clock_that_stood_still() -> None:
    """Twice as slow is named; with our own loop late in a tenth of the answers it is not."""
    rng = np.random.default_rng(5)
    played, personas = world(rng, 150), (Persona("base", runs=2), Persona("slow", slower=2.0))
    found = columns(rng, played, personas)
    judged = judge_ranking(taken(played, personas, found), sample_ids(150), rng, baseline="base", resamples=500)

    def names() -> set[str]:
        return {each.name for each in difference_findings("slow", found["slow"], ("base", found["base"]), judged)}

    assert names() == {"slow_first_token", "slow_decoding"}
    found["slow"].cap = 8
    told = difference_findings("slow", found["slow"], ("base", found["base"]), judged)
    assert any("first token comes" in each.statement and "after requests were due" in each.statement for each in told)
    late = [
        replace(row, traits=replace(row.traits, anomalies=("loop_lag",))) if number < 15 else row
        for number, row in enumerate(found["slow"].every())
    ]
    found["slow"] = table_of(late)
    assert names() == set()


def test_a_first_token_that_the_protocol_hides_is_no_slow_one() -> None:
    """Where one side's calls come whole, the moments are not of the same thing; decoding is still compared."""
    rng = np.random.default_rng(5)
    played, personas = world(rng, 150), (Persona("base", runs=2), Persona("slow", slower=2.0))
    found = columns(rng, played, personas)
    judged = judge_ranking(taken(played, personas, found), sample_ids(150), rng, baseline="base", resamples=500)
    whole = [replace(row, traits=replace(row.traits, calls_whole=True)) for row in found["slow"].every()]
    named = difference_findings("slow", table_of(whole), ("base", found["base"]), judged)
    assert [each.name for each in named] == ["slow_decoding"]


@pytest.mark.parametrize(("reworded", "named"), [((), True), (("schema:format",), False), (("system_moved",), True)])
def test_calls_that_break_what_our_wire_could_not_say_are_not_charged(reworded: tuple[str, ...], named: bool) -> None:
    """Half of the vendor's calls break their schema, all on samples whose schema went out in other words."""
    rng = np.random.default_rng(6)
    played, personas = world(rng, 150), (Persona("base", runs=2), Persona("v", broken=0.5))
    found = columns(rng, played, personas)
    judged = judge_ranking(taken(played, personas, found), sample_ids(150), rng, baseline="base", resamples=500)
    rows = [
        replace(row, traits=replace(row.traits, reworded=reworded))
        if any(name != "valid" for name in row.traits.classes) else row
        for row in found["v"].every()
    ]  # fmt: skip
    names = [each.name for each in difference_findings("v", table_of(rows), ("base", found["base"]), judged)]
    assert ("calls_invalid" in names) == named


def test_who_never_calls_is_found_although_no_sample_moves_its_f1() -> None:
    """Beside a baseline that never contradicts itself there is no error to divide by; the disagreements prove it."""
    calls = {f"s{number}": "called" if number % 2 else "not_called" for number in range(60)}
    baseline = Trials("base", (calls, calls))  # type: ignore[arg-type]
    silent = Trials("silent", (dict.fromkeys(calls, "not_called"),))
    trials = [baseline, silent]
    found = gap(build_panel(trials, list(calls), baseline="base", metrics=["f1"]), baseline, silent)
    assert found.p_value is None
    assert found.proof < 1e-6
    judged = judge_ranking(trials, list(calls), np.random.default_rng(1), baseline="base", resamples=50)
    tables = {label: rows(20) for label in ("base", "silent")}
    named = difference_findings("silent", tables["silent"], ("base", tables["base"]), judged, found)
    assert [each.name for each in named] == ["calls_unlike_baseline"]
