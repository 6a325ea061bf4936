"""Is it the same model, on real result files: two hosts that answer otherwise, and the baseline's own second run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vendor_verifier.pipeline.import_results import import_run
from vendor_verifier.records.score import Report

LLMVV = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
pytestmark = [
    pytest.mark.skipif(not LLMVV.is_dir(), reason="../shared/data/llmvv is not here"),
    pytest.mark.slow,
]


def _file(name: str) -> Path:
    return LLMVV / f"results-{name}.jsonl.gz"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return import_run(
        {
            "official": [_file("deepseek-official-deepseek-v3.2-exp"), _file("deepseek-official-deepseek-chat")],
            "novita": [_file("openrouter-novita-deepseek-v3.2-exp")],
            "ppio": [_file("ppio-deepseek-v3.2-exp")],
        },
        baseline="official",
        model="deepseek-v3.2",
        output_dir=tmp_path_factory.mktemp("imported") / "run",
    )


@pytest.mark.parametrize("label", ["novita", "ppio"])
def test_a_host_that_answers_otherwise_is_found_with_its_template(report: Report, label: str) -> None:
    findings = {found.name: found for found in report.verdicts["deepseek-v3.2"].findings if found.label == label}
    unlike = findings["answers_unlike_baseline"]
    assert float(unlike.evidence["p_value"]) < 1e-20
    assert 0.17 < float(unlike.evidence["equal"]) < 0.23
    assert 0.5 < float(unlike.evidence["baseline_equal"]) < 0.55
    assert "byte for byte" in unlike.statement
    assert re.search(r"\+4 … \+\d+ prompt tokens whatever the prompt's length point to the template", unlike.statement)
    constant = findings["prompt_tokens_constant"]
    assert 4 <= float(constant.evidence["least"]) <= float(constant.evidence["most"]) <= 11
    assert "another chat template" in constant.statement


def test_what_it_rests_on_is_doubt_about_the_model_and_never_another_model_as_a_fact(report: Report) -> None:
    for label in ("novita", "ppio"):
        facet = report.advice["deepseek-v3.2"].vendors[label].facet("model")
        assert facet.status == "doubtful"
        assert facet.finding == "answers_unlike_baseline"
