"""The result pages: the published numbers, layout and ranks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.pipeline.bfcl.dataset import read_job
from vendor_verifier.records.score import Score
from vendor_verifier.suites.bfcl.categories import (
    SINGLE_TURN,
)
from vendor_verifier.suites.bfcl.results import VendorResult, overall, result_pages


def score(category: str, correct: float | None, outcome: str, error: str | None = None, **more: float) -> Score:
    values = {"correct": correct, **more}
    return Score("bfcl", values=values, details={"category": category, "outcome": outcome, "error_type": error})


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


PAGE = {
    "type": "bfcl",
    "name": "my-bfcl-custom-config-1",
    "namespace": "my-organization",
    "params": {"limit_samples": 5},
    "tasks": {"task1": {"type": "simple", "dataset": {"format": "native", "files_url": "data/mine"}}},
}


def test_the_pages_job() -> None:
    """The published job file is read as it is."""
    job = read_job(PAGE)
    assert (job.name, job.namespace, job.params.limit_samples) == ("my-bfcl-custom-config-1", "my-organization", 5)
    assert job.tasks["task1"].model_dump() == {
        "type": "simple", "dataset": {"files_url": "data/mine", "format": "native"}, "params": {"limit_samples": None},
    }  # fmt: skip
    assert read_job({**PAGE, "tasks": {"t": {"type": "simple"}}}).tasks["t"].dataset is None
