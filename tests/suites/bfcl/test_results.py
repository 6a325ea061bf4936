"""The result pages: the published numbers, layout and ranks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.score import Score
from vendor_verifier.suites.bfcl.categories import AGENTIC, EXECUTABLE, MULTI_TURN, REST, SINGLE_TURN
from vendor_verifier.suites.bfcl.results import VendorResult, call_latencies_s, overall, result_pages, summaries


def score(category: str, correct: float | None, outcome: str, error: str | None = None, **more: float) -> Score:
    values = {"correct": correct, **more}
    return Score("bfcl", values=values, details={"category": category, "outcome": outcome, "error_type": error})


def vendor(label: str, latencies_s: tuple[float, ...] = (), **categories: tuple[int, int]) -> VendorResult:
    scores = [
        score(name, float(place < correct), "calls")
        for name, (correct, total) in categories.items()
        for place in range(total)
    ]
    return VendorResult(label, scores, latencies_s)


@pytest.mark.parametrize(("latencies", "mean"), [((), None), ((0.25,), 0.25)])
def test_one_sample_has_no_deviation(latencies: tuple[float, ...], mean: float | None) -> None:
    """One call gives a null deviation and no call gives nulls, where upstream crashes."""
    metrics = result_pages({"t": [vendor("v", latencies, multiple=(1, 1))]})["v"]["tasks"]["t"]["metrics"]
    values = {name: found["scores"][name]["value"] for name, found in metrics.items() if name.startswith("Latency")}
    assert values["Latency Standard Deviation (s)"] is None
    assert values["Latency Mean (s)"] == values["Latency 95th Percentile (s)"] == mean


def test_everything_perfect_is_100() -> None:
    """A perfect run of every category scores 1 in both versions, and every summary is 1."""
    own = {"v3": (*EXECUTABLE, *REST), "v4": AGENTIC}
    for version, categories in own.items():
        perfect = dict.fromkeys((*SINGLE_TURN, *MULTI_TURN, *categories), (1.0, 7))
        assert overall(perfect, version) == pytest.approx(1.0)  # type: ignore[arg-type]
        assert set(summaries(perfect, version).values()) == {1.0}  # type: ignore[arg-type]


def test_outcomes_are_kept_apart() -> None:
    """Error, text, unparsable and no call are counted each, and a row that cannot be judged is in no denominator."""
    scores = [
        score("simple_python", 1.0, "calls"),
        score("simple_python", 0.0, "error", "ast_decoder:decoder_failed"),
        score("simple_python", 0.0, "text", "ast_decoder:decoder_failed"),
        score("simple_python", None, "calls", "dataset_error"),
        score("irrelevance", 1.0, "no_call"),
        score("irrelevance", 0.0, "unparsable", "irrelevance_error:unreadable_call"),
    ]
    page = result_pages({"t": [VendorResult("v", scores)]})["v"]["run"]["t"]
    assert (page["accuracy"], page["correct"], page["rows"]) == (0.4, 2, 5)
    simple = page["categories"]["simple_python"]
    assert simple["outcomes"] == {"calls": 1, "text": 1, "unparsable": 0, "no_call": 0, "error": 1}
    assert simple["error_types"] == {"ast_decoder:decoder_failed": 2}
    assert (simple["rows"], simple["unjudged"]) == (3, 1)
    assert page["categories"]["irrelevance"]["accuracy"] == 0.5


@given(st.dictionaries(st.sampled_from(SINGLE_TURN), st.tuples(st.floats(0, 1), st.integers(1, 50))))
def test_overall_lies_between_0_and_1(run: dict[str, tuple[float, int]]) -> None:
    """No run leaves 0..1, and making one category perfect never lowers Overall Acc."""
    for version in ("v3", "v4"):
        before = overall(run, version)
        assert -1e-9 <= before <= 1 + 1e-9
        for category, (_, rows) in run.items():
            assert overall({**run, category: (1.0, rows)}, version) >= before - 1e-9


def test_latency_is_of_successful_calls() -> None:
    """Each answered call counts once with its last try's time; failures and tries before it do not."""

    def attempt(end_ns: int, ok: bool = True) -> Attempt:
        timing = Timing("2027-01-01T00:00:00+00:00", end_ns)
        if ok:
            return Attempt(1, timing, Response(finish_reason="stop"))
        return Attempt(1, timing, failure=Failure("http_5xx", "headers", "no"))

    turns = (
        TurnRecord((attempt(9_000_000_000, ok=False), attempt(500_000_000))),
        TurnRecord((attempt(250_000_000),)),
        TurnRecord((attempt(70_000_000, ok=False),)),
    )
    assert call_latencies_s(Record("r", "m", "l", "v", "bfcl", "s", 0, turns)) == [0.5, 0.25]
