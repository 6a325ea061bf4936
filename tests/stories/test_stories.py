"""Twenty-odd runs as a buyer hears of them: first line, matrix and exit code say what an honest expert would say.

Simulated vendors answer without sockets or clocks, so how busy this machine is decides nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from stories import Story, played, told

from vendor_verifier.pipeline.import_results import import_run
from vendor_verifier.store import RunFolder

pytestmark = pytest.mark.slow

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
UNKNOWN = dict.fromkeys(("model", "tool calls", "bill", "speed"), "too little evidence")

# Who is alone beside the baseline → the verdict, what is not as sold about it, the exit code of a check.
ALONE = {
    "faithful": ("as sold", {}, 0),
    "quantised": ("not as sold", {"tool calls": "not as sold"}, 1),
    "padded": ("not as sold", {"bill": "not as sold"}, 1),
    "slow": ("doubtful", {"speed": "doubtful"}, 0),
    "bursty": ("doubtful", {"reliability": "doubtful"}, 0),
    "cutter": ("not as sold", {"reliability": "not as sold"}, 1),
    "buffering": ("doubtful", {"speed": "doubtful"}, 0),
    "text-leaker": ("not as sold", {"tool calls": "not as sold"}, 1),
    "substitute": ("not as sold", {"model": "not as sold", "tool calls": "not as sold"}, 1),
    "down": ("unusable", UNKNOWN | {"reliability": "unusable"}, 1),
    "locked": ("too little evidence", UNKNOWN | {"reliability": "too little evidence"}, 3),
    "throttled": ("unusable", UNKNOWN | {"reliability": "unusable"}, 1),
}


def said(story: Story) -> str:
    """The first line without the model's name and what was asked."""
    return story.first_line.removeprefix("simulated-model: ").rpartition(" (")[0]


def both_tied(story: Story) -> bool:
    """Whether ``one`` and ``two`` are named together, in either order."""
    tie = "are as sold and cannot be told apart"
    return said(story).startswith((f"one and two {tie}", f"two and one {tie}"))


@pytest.mark.parametrize("persona", ALONE)
def test_a_vendor_alone_beside_the_baseline(persona: str) -> None:
    """Its vice is under its facet and under no other, and the first line gives the verdict on it by name."""
    story = played(persona)
    verdict, blemishes, exit_code = ALONE[persona]
    assert story.verdict(persona) == verdict
    assert story.blemishes(persona) == blemishes
    assert said(story) == (
        f"{persona} is as sold" if verdict == "as sold" else f"the verdict on {persona} is: {verdict}"
    )
    assert story.verdict("official") == "reference"
    assert story.exit_code == exit_code


def test_a_field_with_one_honest_vendor() -> None:
    """It is the one to take, and the line counts what the others are."""
    story = played("faithful", "quantised", "padded", "substitute", "slow", "down", "bursty")
    assert said(story).startswith("take faithful, the only one of 7 vendors that is as sold")
    assert {label for label in story.matrix if story.verdict(label) == "as sold"} == {"faithful"}
    assert story.verdict("quantised") in ("doubtful", "not as sold")
    assert [story.verdict(label) for label in ("padded", "substitute", "down")] == [
        "not as sold", "not as sold", "unusable",
    ]  # fmt: skip
    assert story.exit_code == 1


def test_a_field_with_honest_twins() -> None:
    """They are named together, the slow and the broken are not, and the baseline is no rival of its resellers."""
    story = played("one=faithful", "two=faithful", "slow", "cutter")
    assert both_tied(story)
    assert said(story).endswith(" (1 not as sold, 1 doubtful)")
    assert story.exit_code == 1


def test_a_field_of_frauds() -> None:
    """Nobody is recommended, although somebody leads the ranking."""
    story = played("substitute", "padded", "text-leaker")
    assert said(story) == "none of the 3 vendors is as sold (3 not as sold)"
    assert story.exit_code == 1


def test_a_field_in_which_nothing_is_wrong() -> None:
    """Four honest vendors of the same quality are a tie without a blemish."""
    story = played("a=faithful", "b=faithful", "c=faithful", "d=faithful")
    assert said(story).endswith("are as sold and cannot be told apart in rank")
    assert all(label in said(story).partition(" are ")[0] for label in "abcd")
    assert not any(story.blemishes(label) for label in story.matrix)
    assert story.exit_code == 0


@pytest.mark.parametrize("suite", ["toolbench", "bfcl"])
def test_an_evaluation_alone(suite: str) -> None:
    """Scores against the baseline's are enough to call a vendor as sold or not; the baseline need not run twice."""
    story = played("one=faithful", "two=faithful", "text-leaker", "substitute", repeats=1, suite=suite)
    assert both_tied(story)
    assert story.blemishes("text-leaker") == {"tool calls": "not as sold"}
    assert story.blemishes("substitute") == {"model": "not as sold", "tool calls": "not as sold"}
    assert story.exit_code == 1


def test_nobody_answers() -> None:
    """All dead, the baseline among them: nobody leads, nobody shares a lead."""
    story = played("down", "also-down=down", baseline="down")
    assert said(story) == "none of the 3 vendors answered a single request"
    assert {story.verdict(label) for label in story.matrix} == {"unusable"}
    assert story.exit_code == 1


def test_a_dead_baseline_leaves_the_others_open() -> None:
    """Of a vendor that answered well nothing more can be said than that."""
    story = played("faithful", "down", baseline="down")
    assert said(story) == (
        "too little evidence to call any of the 2 vendors as sold; nothing speaks against faithful (1 unusable)"
    )
    assert story.blemishes("faithful") == UNKNOWN


def test_one_vendor_alone() -> None:
    """There is nothing to choose from, and nothing to hold it against."""
    story = played("faithful", baseline=None)
    assert said(story) == "too little evidence to call faithful as sold, but nothing speaks against it"
    assert story.exit_code == 0


def test_no_baseline() -> None:
    """What a vendor shows by itself is judged; what needs a baseline stays open, even where it is padded."""
    story = played("faithful", "substitute", "padded", "cutter", baseline=None)
    assert story.blemishes("faithful") == story.blemishes("padded") == UNKNOWN
    assert story.matrix["substitute"]["model"] == "not as sold"
    assert story.matrix["cutter"]["reliability"] == "not as sold"
    assert said(story).startswith("too little evidence to call any of the 4 vendors as sold")
    assert story.exit_code == 1


def test_a_baseline_asked_once() -> None:
    """Its own noise is unknown, so that decisions cannot be judged; everything else can."""
    story = played("faithful", "padded", repeats=1)
    assert story.blemishes("faithful") == {"tool calls": "too little evidence"}
    assert story.matrix["padded"]["bill"] == "not as sold"


def real(name: str, model: str = "deepseek-v3.2-exp") -> Path:
    return REAL / f"results-{name}-{model}.jsonl.gz"


@pytest.mark.skipif(not REAL.is_dir(), reason="the public result files are not beside the checkout")
def test_public_result_files(tmp_path: Path) -> None:
    """Three vendors of one real model, each asked once: nobody is accused and nobody recommended."""
    files = {"official": "deepseek-official", "novita": "openrouter-novita", "ppio": "ppio"}
    report = import_run(
        {label: [real(name)] for label, name in files.items()},
        baseline="official", model="deepseek-v3.2-exp", output_dir=tmp_path / "run", test_file=REAL / "samples.jsonl",
    )  # fmt: skip
    story = told(report, RunFolder(tmp_path / "run"))
    assert story.first_line.startswith(
        "deepseek-v3.2-exp: too little evidence to call any of the 2 vendors as sold; "
        "nothing speaks against novita and ppio"
    )
    for label in ("novita", "ppio"):
        assert story.blemishes(label) == dict.fromkeys(("tool calls", "speed"), "too little evidence")


@pytest.mark.skipif(not REAL.is_dir(), reason="the public result files are not beside the checkout")
def test_public_result_files_with_two_runs_of_the_baseline(tmp_path: Path) -> None:
    """What the noise of the baseline does not explain is said: neither reseller answers as the maker does, neither is
    recommended, and the maker is the reference, not the winner."""
    report = import_run(
        {
            "official": [real("deepseek-official"), real("deepseek-official", "deepseek-chat")],
            "novita": [real("openrouter-novita")],
            "ppio": [real("ppio")],
        },
        baseline="official", model="deepseek-v3.2-exp", output_dir=tmp_path / "run", test_file=REAL / "samples.jsonl",
    )  # fmt: skip
    story = told(report, RunFolder(tmp_path / "run"))
    assert story.first_line.startswith("deepseek-v3.2-exp: none of the 2 vendors is as sold")
    for label in ("novita", "ppio"):
        assert story.matrix[label]["model"] == "doubtful"
        assert story.matrix[label]["tool calls"] in ("doubtful", "not as sold")
        assert story.matrix[label]["bill"] == "as sold"
