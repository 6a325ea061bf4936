"""Published result files: hosts with another template that answer otherwise, and the baseline's own second run."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.pipeline.given_answers import import_run
from vendor_verifier.scoring.figures import ScoredRun

LLMVV = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
pytestmark = [pytest.mark.skipif(not LLMVV.is_dir(), reason="../shared/data/llmvv is not here"), pytest.mark.slow]
MODEL = "deepseek-v3.2"


def _imported(folder: Path, **files: tuple[str, ...]) -> ScoredRun:
    """The files of each label, the first of which is the baseline."""
    given = {label: [LLMVV / f"results-{name}.jsonl.gz" for name in names] for label, names in files.items()}
    return import_run(given, baseline="official", model=MODEL, output_dir=folder, test_file=LLMVV / "samples.jsonl")


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> ScoredRun:
    return _imported(
        tmp_path_factory.mktemp("imported") / "run",
        official=("deepseek-official-deepseek-v3.2-exp", "deepseek-official-deepseek-chat"),
        novita=("openrouter-novita-deepseek-v3.2-exp",),
        ppio=("ppio-deepseek-v3.2-exp",),
    )


@pytest.mark.parametrize("label", ["novita", "ppio"])
def test_a_host_that_answers_otherwise_is_to_check(scored: ScoredRun, label: str) -> None:
    """No line exists for texts, and the calls are within 5 points; resellers count 4 to 11 prompt tokens more."""
    found = {finding.name: finding for finding in scored.findings if finding.vendor == label}
    assert found["answers_differ"].status == "check"
    assert (found["answers_differ"].p_value or 1) < 1e-20
    assert {"decisions", "arguments"} <= found.keys()
    assert found["template_tokens"].status == "matches"
    assert 4 <= (found["template_tokens"].value or 0) <= 11
    vendors = scored.report.models[MODEL].vendors
    assert vendors[label].verdict.status == "check"
    assert vendors["ppio"].success_rate == 1.0
    assert any("unusable" in defect for defect in scored.report.dataset)


def test_the_second_run_of_the_maker_differs_in_nothing(tmp_path: Path) -> None:
    """As a vendor of its own, with a baseline that was asked once."""
    official, again = ("deepseek-official-deepseek-v3.2-exp",), ("deepseek-official-deepseek-chat",)
    scored = _imported(tmp_path / "run", official=official, again=again)
    assert [finding for finding in scored.findings if finding.status != "matches"] == []
