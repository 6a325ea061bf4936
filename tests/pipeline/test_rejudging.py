"""One run, every way of judging it: other options of evaluations for answers that are there."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder

VENDORS = """
m:
  vendors:
    - {name: simulated, label: official, model_id: m, url: "sim://faithful", validator: openai, is_baseline: true}
    - {name: simulated, label: other, model_id: m, url: "sim://substitute", validator: openai}
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run of two evaluations."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "config.yaml").write_text(VENDORS)
    suites = ["--suite", "tool_correctness", "--suite", "toolbench", "--history", "none"]
    assert run_app([*suites, "-c", str(folder / "config.yaml"), "-n", "16", "-q", "-o", str(folder / "plain")]) == 0
    return folder


@pytest.fixture
def run(runs: Path, tmp_path: Path) -> Path:
    """A copy of that run that a test may change."""
    return Path(shutil.copytree(runs / "plain", tmp_path / "run"))


def _scores(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Vendor → suite → means."""
    (model,) = json.loads((folder / "scores.json").read_text())["models"].values()
    return {
        label: {suite: score["values"] for suite, score in vendor["suites"].items()}
        for label, vendor in model["vendors"].items()
    }


@pytest.mark.parametrize(
    ("option", "usual"),
    [("exact_match=true", "false"), ("check_ordering=true", "false"), ("threshold=1", "0.5"),
     ("compare_parameters=true", "false")],
)  # fmt: skip
def test_a_stored_run_is_judged_as_if_it_had_been_asked_so(run: Path, tmp_path: Path, option: str, usual: str) -> None:
    """``score`` with an option gives what a run with that option has, and back again what the run gave."""
    before = _scores(run)
    asked = Path(shutil.copytree(run, tmp_path / "asked"))
    manifest = json.loads((asked / "manifest.json").read_text())
    name, _, value = option.partition("=")
    for task in manifest["tasks"]:
        task["options"] = {name: value} if task["suite"] == "tool_correctness" else {}
    (asked / "manifest.json").write_text(json.dumps(manifest))
    assert run_app(["score", str(asked), "--history", "none"]) == 0
    assert run_app(["score", str(run), "--set", f"tool_correctness.{option}", "--history", "none"]) == 0
    assert _scores(run) == _scores(asked)
    assert run_app(["score", str(run), "--set", f"tool_correctness.{name}={usual}", "--history", "none"]) == 0
    assert _scores(run) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "toolbench.agent_prompt={problem_statement}!"], "decides what is asked"),
        (["--set", "tool_correctness.max_iterations=3"], "tool_correctness is judged by `threshold`"),
        (["--set", "toolbench.sample_size=3"], "decides what is asked"),
        (["--set", "mcptoolbench.answer_format=text"], "mcptoolbench does not take part in this run"),
        (["--set", "toolbench.mode=strict"], "mode"),
    ],
)
def test_what_decides_the_questions_is_refused(
    run: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that would have asked something else is named, and the run stays as it was."""
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert run_app(["score", str(run), *words, "--history", "none"]) == 2
    assert said in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


SAMPLE = Sample("a-1", Turn(({"role": "user", "content": "?"},)), {"category": "multi_turn_base"})


@pytest.mark.parametrize("stored", [False, True])
def test_a_stored_run_does_not_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    """A folder that the user names for a run is imported from; one that the manifest of a stored run names is not."""
    package = tmp_path / "bfcl_eval" / "eval_checker" / "multi_turn_eval" / "func_source_code"
    package.mkdir(parents=True)
    (tmp_path / "bfcl_eval" / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    ready_suite("bfcl", {"data": str(tmp_path)}, [SAMPLE], RunFolder(tmp_path / "run") if stored else None)
    assert (tmp_path / "imported").exists() is not stored
