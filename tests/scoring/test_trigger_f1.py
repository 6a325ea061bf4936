"""F1 joins by sample, punishes failure and never rewards it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.score import Decision
from vendor_verifier.scoring.trigger_f1 import baseline_counts, paired, trigger_counts

IDS = tuple(f"s{number}-1" for number in range(12))
DECISIONS = st.sampled_from(["called", "not_called", "undecided"])
RUN = st.dictionaries(st.sampled_from(IDS), DECISIONS)
RUNS = st.lists(RUN, min_size=1, max_size=3)
LETTERS: dict[str, Decision] = {"c": "called", "n": "not_called", "?": "undecided"}


def run(letters: str) -> dict[str, Decision]:
    """``cn?-`` → called, not_called, undecided, never sent."""
    return {IDS[at]: LETTERS[letter] for at, letter in enumerate(letters) if letter != "-"}


def counts(baseline: str, vendor: str, undecided: Any = "missed") -> Any:
    return trigger_counts(IDS[: len(baseline)], [run(baseline)], [run(vendor)], undecided)


def test_the_four_cells() -> None:
    """Each pair of decisions lands in its cell, and the formula follows."""
    found = counts("ccccnnn", "cccncnn")
    assert (found.tp, found.fp, found.fn, found.tn) == (3, 1, 1, 2)
    assert (found.precision, found.recall, found.f1) == (0.75, 0.75, 0.75)


def test_p01_an_all_failing_vendor_has_f1_zero() -> None:
    """Failing everything is F1 0 under missed and None under exclude, never 1.0 (P01)."""
    assert counts("ccnn", "????").f1 == 0.0
    assert counts("ccnn", "????", "exclude").f1 is None


def test_p01_failing_half_of_the_calls_halves_the_recall() -> None:
    """Half of the triggers lost to failures costs F1 (P01)."""
    found = counts("ccccnn", "cc??nn")
    assert (found.recall, found.f1, found.failed_as_missed) == (0.5, pytest.approx(2 / 3), 2)


def test_p02_a_lost_row_moves_no_other_pair() -> None:
    """Without one row the others still agree: F1 1.0 over what was sent (P02)."""
    found = counts("cncncn", "c-cncn")
    assert (found.tp, found.tn, found.not_sent, found.f1) == (3, 2, 1, 1.0)


def test_p05_no_agreement_at_all_is_zero_not_an_error() -> None:
    """Precision and recall of 0 give F1 0, no division by zero (P05)."""
    assert counts("cn", "nc").f1 == 0.0


def test_nobody_called_is_none() -> None:
    """0/0 is None, not 0 and not 1."""
    found = counts("nn", "nn")
    assert (found.f1, found.precision, found.recall, found.tn) == (None, None, None, 2)


def test_what_the_baseline_failed_says_nothing() -> None:
    """Pairs without a baseline decision are dropped and counted, whatever the vendor did."""
    found = counts("c?-?", "cnc-")
    assert (found.tp, found.dropped_baseline, found.not_sent, found.f1) == (1, 3, 0, 1.0)


def test_a_failure_is_a_miss_even_where_the_baseline_did_not_call() -> None:
    """Failing does not earn a true negative."""
    found = counts("cn", "c?")
    assert (found.tn, found.fn, found.failed_as_missed, found.f1) == (0, 1, 1, pytest.approx(2 / 3))


def test_exclude_drops_and_counts() -> None:
    """Under exclude the pair is left out and said so."""
    found = counts("ccn", "c?n", "exclude")
    assert (found.fn, found.dropped_vendor, found.f1) == (0, 1, 1.0)


def test_repeats_average_all_ordered_pairs_of_runs() -> None:
    """Two baseline runs against two vendor runs are four F1s; counts are sums, F1 is their mean."""
    found = trigger_counts(IDS[:2], [run("cn"), run("cc")], [run("cn"), run("cc")])
    assert found.pairs_of_runs == 4
    assert (found.tp, found.fp, found.fn, found.tn) == (5, 1, 1, 1)
    assert found.f1 == pytest.approx((1 + 2 / 3 + 2 / 3 + 1) / 4)


def test_the_baseline_itself_is_one_by_definition() -> None:
    """The baseline's F1 is 1.0, and None when it never decided anything."""
    found = baseline_counts(IDS[:4], [run("cn?-")])
    assert (found.tp, found.tn, found.dropped_baseline, found.f1) == (1, 1, 2, 1.0)
    assert baseline_counts(IDS[:2], [run("??")]).f1 is None


@given(RUNS, RUNS, st.sampled_from(["missed", "exclude"]))
def test_every_pair_is_counted_once(baseline: Any, vendor: Any, undecided: Any) -> None:
    """Cells and dropped pairs add up to samples × pairs of runs, and paired answers never exceed those planned."""
    found = trigger_counts(IDS, baseline, vendor, undecided)
    cells = (found.tp, found.fp, found.fn, found.tn, found.dropped_baseline, found.dropped_vendor, found.not_sent)
    assert sum(cells) == len(IDS) * len(baseline) * len(vendor) == len(IDS) * found.pairs_of_runs
    assert paired(IDS, baseline, vendor, undecided) <= len(IDS) * len(vendor)
    assert found.f1 is None or 0 <= found.f1 <= 1


@given(RUNS, RUNS, st.sampled_from(["missed", "exclude"]), st.data())
def test_failing_where_one_agrees_never_raises_f1(baseline: Any, vendor: Any, undecided: Any, data: Any) -> None:
    """Replacing an answer that agrees with every baseline run by a failure never raises F1, under either policy."""
    agreeing = [
        (number, sample)
        for number, got in enumerate(vendor)
        for sample in got
        if all(expected.get(sample, "undecided") in (got[sample], "undecided") for expected in baseline)
    ]
    if not agreeing:
        return
    number, sample = data.draw(st.sampled_from(agreeing))
    worse = [{**got, sample: "undecided"} if at == number else got for at, got in enumerate(vendor)]
    before = trigger_counts(IDS, baseline, vendor, undecided).f1
    after = trigger_counts(IDS, baseline, worse, undecided).f1
    assert after is None or after <= (before or 0) + 1e-12


@given(RUNS, RUNS, st.integers(0, 2), st.sampled_from(IDS))
def test_under_missed_no_failure_at_all_raises_f1(baseline: Any, vendor: Any, number: int, sample: str) -> None:
    """Under missed even replacing a wrong answer by a failure never raises F1."""
    number %= len(vendor)
    if sample not in vendor[number]:
        return
    worse = [{**got, sample: "undecided"} if at == number else got for at, got in enumerate(vendor)]
    before, after = (trigger_counts(IDS, baseline, runs).f1 for runs in (vendor, worse))
    assert after is None or after <= (before or 0) + 1e-12


def test_exclude_rewards_failing_where_one_disagrees() -> None:
    """The documented weakness of exclude: a failure in place of a wrong answer raises F1."""
    assert counts("cc", "cn", "exclude").f1 < counts("cc", "c?", "exclude").f1


@given(RUN, RUN, st.sampled_from(IDS))
def test_losing_a_record_takes_only_its_own_pair(baseline: Any, vendor: Any, sample: str) -> None:
    """Without one vendor record its cell is not_sent and no other pair moves."""
    lost = {key: value for key, value in vendor.items() if key != sample}
    others = [key for key in IDS if key != sample]
    assert trigger_counts(others, [baseline], [vendor]) == trigger_counts(others, [baseline], [lost])
    whole = trigger_counts(IDS, [baseline], [lost])
    decided = baseline.get(sample, "undecided") != "undecided"
    assert whole.not_sent == trigger_counts(others, [baseline], [lost]).not_sent + decided
