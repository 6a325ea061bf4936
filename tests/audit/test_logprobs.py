"""Stated log-probabilities judged: who is unlike, what is made up or not measurable, in one budget with the probes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from observed import table_of

from vendor_verifier.audit.logprobs import corrected, invention, logprobs_findings, logprobs_tests
from vendor_verifier.audit.probes import Replies, StatedFirst, probes_tests, replies_of
from vendor_verifier.scoring.observation import Observation, Traits, Try
from vendor_verifier.values.event import TokenLogprob
from vendor_verifier.values.probes import LogprobsStatus, LogprobsTest

_OFFICIAL = "official"


def _side(seed: int, *, off: float = 0.0, probes: int = 12, repetitions: int = 1, drift: float = 0.0) -> Replies:
    """A side that states five tokens of each probe, ``off`` by so much, in later repetitions by ``drift`` more."""
    rng, truth, away = np.random.default_rng(seed), np.random.default_rng(1), np.random.default_rng(2)
    found = Replies(logprobs_told=Counter({"given": probes * 5 * repetitions}))
    for probe in range(probes):
        usual, wrong = np.log(truth.dirichlet(np.ones(5)) / 4), away.choice([-1.0, 1.0], 5)
        for repetition in range(repetitions):
            told = usual + (off + drift * repetition) * wrong + 0.02 * rng.normal(size=(5, 5))
            found.stated.setdefault(f"{probe:03d}", []).extend(
                StatedFirst(repetition, {str(token): min(0.0, float(each)) for token, each in enumerate(row)})
                for row in told
            )
    return found


def _without(status: LogprobsStatus) -> Replies:
    return Replies(prompts={"000": [9]}, logprobs_told=Counter({status: 60}))


def _tests(official: Replies | None = None, **vendors: Replies) -> dict[str, LogprobsTest]:
    sides = {_OFFICIAL: official or _side(1, repetitions=2), **vendors}
    return corrected(logprobs_tests(sides, _OFFICIAL, np.random.default_rng(1)), [])


def test_another_model_is_named_and_a_twin_says_what_would_have_been_seen() -> None:
    sides = {"twin": _side(2), "other": _side(3, off=0.4)}
    tests = _tests(**sides)
    (found,) = logprobs_findings(sides, tests)
    assert (found.name, found.label) == ("logprobs_unlike_baseline", "other")
    assert "0.4" in found.statement
    twin = tests["twin"]
    assert (twin.p_value, twin.seen_shift) == (1.0, 0.05)
    assert (twin.n, twin.probes) == (60, 12)


def test_what_other_kernels_explain_is_no_finding_however_certain() -> None:
    near = _tests(near=_side(4, off=0.03))["near"]
    assert near.p_value == 1.0
    assert near.z is not None
    assert near.z > 10


@pytest.mark.parametrize(("status", "says"), [("no_word", "protocol"), ("refused", "refused"), ("absent", "bear none")])
def test_who_gives_none_is_not_measurable_and_nothing_is_said_against_it(status: LogprobsStatus, says: str) -> None:
    sides = {"silent": _without(status)}
    tests = _tests(**sides)
    assert says in (tests["silent"].not_measurable or "")
    assert not list(logprobs_findings(sides, tests))
    of_baseline = _tests(_without(status), twin=_side(2))["twin"].not_measurable or ""
    assert says in of_baseline
    assert "baseline" in of_baseline


def test_a_baseline_whose_two_askings_differ_measures_nothing() -> None:
    tests = _tests(_side(1, repetitions=2, drift=0.3), twin=_side(2))
    assert "two askings" in (tests["twin"].not_measurable or "")


def test_a_baseline_that_was_asked_once_is_held_against_itself_by_turns() -> None:
    tests = _tests(_side(1), twin=_side(2), other=_side(3, off=0.4))
    assert tests["twin"].p_value == 1.0
    assert (tests["other"].p_value or 1.0) < 0.01


def test_few_probes_measure_nothing_and_without_the_question_there_is_no_test() -> None:
    assert "fewer than 10" in (_tests(few=_side(2, probes=9))["few"].not_measurable or "")
    assert _tests(unasked=Replies(tokens={"000": ["x"]})) == {}
    alone = logprobs_tests({"twin": _side(2)}, None, np.random.default_rng(1))
    assert alone["twin"].not_measurable is not None


def _all(numbers: list[list[float]], probes: int = 12) -> dict[str, list[StatedFirst]]:
    return {
        f"{probe:03d}": [StatedFirst(0, {str(n): each for n, each in enumerate(numbers[probe % len(numbers)])})] * 5
        for probe in range(probes)
    }


@pytest.mark.parametrize(
    ("numbers", "pattern"),
    [
        ([[-0.1, -0.2]], "sum"),
        ([[-0.5, -1.0], [1e9, -1.0]], "sum"),
        ([[-3.0, -3.0, -3.0], [-4.0, -4.0]], "equal"),
        ([[-0.5, -1.5, -3.0]], "constant"),
        ([[-0.5, -1.5], [-0.6, -1.5]], None),
        ([[-0.7, -0.7], [-0.5, -1.5]], None),
        # One token that is certain, whatever stands beside it; or one token alone.
        ([[0.0, -9_999.0]], None),
        ([[-0.5]], None),
    ],
)
def test_made_up_numbers_are_told_by_what_no_model_gives(numbers: list[list[float]], pattern: str | None) -> None:
    assert invention(_all(numbers)) == pattern
    maker = Replies(logprobs_told=Counter({"given": 60}), stated=_all(numbers))
    sides = {"maker": maker}
    tests = _tests(**sides)
    found = [each.evidence["pattern"] for each in logprobs_findings(sides, tests) if each.name == "logprobs_invented"]
    assert found == ([] if pattern is None else [pattern])
    assert (tests["maker"].not_measurable is None) == (pattern is None)


def test_a_made_up_baseline_is_named_and_no_yardstick() -> None:
    official = Replies(logprobs_told=Counter({"given": 60}), stated=_all([[-0.1, -0.2]]))
    tests = _tests(official, twin=_side(2))
    (found,) = logprobs_findings({_OFFICIAL: official}, tests)
    assert (found.name, found.label) == ("logprobs_invented", _OFFICIAL)
    assert "come from no model" in (tests["twin"].not_measurable or "")


def test_tokens_are_the_same_however_their_blank_is_spelt_and_a_status_without_numbers_counts_as_none() -> None:
    """Of two tokens that are then one, the first listed counts."""
    listed = tuple(TokenLogprob(*each) for each in (("▁Oslo", -0.5), ("ĠRome", -1.5), (" Lima", -2.0), ("Oslo", -9.0)))
    rows = [
        Observation(f"probes-000-00{number}", 0, Traits("probes", logprobs="given", first_logprobs=found),
                    tries=(Try(answered=True),))
        for number, found in enumerate((listed, None))
    ]  # fmt: skip
    found = replies_of(table_of(rows))
    assert found.stated == {"000": [StatedFirst(0, {"Oslo": -0.5, "Rome": -1.5, "Lima": -2.0})]}
    assert found.logprobs_told == {"given": 1, "absent": 1}


def test_probes_and_log_probabilities_share_one_budget() -> None:
    """Either's p-value is corrected for the other's being there."""
    answers = {f"{n:03d}": list("abcab") * 4 for n in range(12)}
    sides = {label: Replies(dict(answers), {"000": [9]}) for label in (_OFFICIAL, "v")}
    alone, beside = (probes_tests(sides, _OFFICIAL, np.random.default_rng(1), more)["v"] for more in ([], [1.0]))
    assert alone.raw_p_value == beside.raw_p_value
    raw = {"v": LogprobsTest(raw_p_value=0.006, p_value=0.006)}
    assert corrected(raw, [])["v"].p_value == 0.006
    assert corrected(raw, [0.5])["v"].p_value == 0.012
    assert corrected(raw, [0.001])["v"].p_value == 0.006
