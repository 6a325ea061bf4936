"""Is it the same model, on real result files: two hosts that answer otherwise, and the baseline's own second run."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.pipeline.import_results import import_run
from vendor_verifier.scoring.scored_run import ScoredRun

LLMVV = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
pytestmark = [
    pytest.mark.skipif(not LLMVV.is_dir(), reason="../shared/data/llmvv is not here"),
    pytest.mark.slow,
]


def _file(name: str) -> Path:
    return LLMVV / f"results-{name}.jsonl.gz"


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ScoredRun:
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
def test_a_host_that_answers_otherwise_is_to_check(scored: ScoredRun, label: str) -> None:
    """Texts, decisions and arguments differ; no line exists for texts, and the calls are within 5 points."""
    found = {finding.name: finding for finding in scored.findings if finding.vendor == label}
    assert found["answers_differ"].status == "check"
    assert (found["answers_differ"].p_value or 1) < 1e-20
    assert {"decisions", "arguments"} <= found.keys()
    assert scored.report.models["deepseek-v3.2"].vendors[label].verdict.status == "check"


def test_the_second_run_of_the_maker_differs_in_nothing(tmp_path: Path) -> None:
    """As a vendor of its own, with a baseline that was asked once."""
    files = {
        "official": [_file("deepseek-official-deepseek-v3.2-exp")],
        "again": [_file("deepseek-official-deepseek-chat")],
    }
    scored = import_run(files, baseline="official", model="deepseek-v3.2", output_dir=tmp_path / "run")
    assert [finding for finding in scored.findings if finding.status != "matches"] == []
