"""A configuration of mcpbr is answered with the lines of ours that say the same, and those lines work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app

PAGES = {
    "toolbench": """
benchmark: "toolbench"
sample_size: 10
timeout_seconds: 300

# Optional: apply filters
filter_difficulty:
  - "easy"
filter_category:
  - "weather"
  - "finance"
filter_tags:
  - "rest"
  - "api"
""",
    "mcptoolbench": """
benchmark: "mcptoolbench"
sample_size: 20
timeout_seconds: 300
max_iterations: 20

mcp_server:
  command: "npx"
  args: ["-y", "@modelcontextprotocol/server-filesystem", "{workdir}"]
  env: {TOKEN: sk-12345678901234567890}

filter_difficulty:
  - "hard"     # Multi-step tasks only

model: "sonnet"

agent_prompt: |
  {problem_statement}

  Output your tool calls as a JSON array. Each element should have:
  - "name": the tool name
""",
}


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_yaml_is_answered_with_lines_that_work(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the message says to write is a configuration: with a real vendor in it the options are taken."""
    file = tmp_path / "config.yaml"
    file.write_text(PAGES[name])
    assert run_app(["run", "-c", str(file), "--benchmark", name]) == 2
    told = capsys.readouterr().err
    assert f"--suite {name}" in told
    assert "sk-1234" not in told
    lines = "\n".join(line[4:] for line in told.partition("write:\n")[2].partition("\nThen:")[0].splitlines()) + "\n"
    ours = re.sub(
        r"- name: \S+", "- name: simulated\n    url: sim://faithful\n    validator: openai\n    model_id: m", lines
    )
    file.write_text(ours.replace("- rest", "- price").replace("- api", "- price"))
    if name == "toolbench":  # the shipped rows have other categories
        file.write_text(re.sub(r"    filter_(category|tags):\n(    - .*\n)+", "", file.read_text()))
    assert run_app(["run", "-c", str(file), "--suite", name, "--dry-run"]) == 0
    assert f"{name}: " in capsys.readouterr().out


@pytest.mark.parametrize(("name", "model"), [("toolbench", "simulated-model"), ("mcptoolbench", "claude-sonnet-5.5")])
def test_init_from_writes_a_configuration_that_loads(
    name: str, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of the file if that is its name, with a backup; simulated vendors where it names no model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(PAGES[name].replace("filter_", "# filter_").replace("  -", "#  -"))
    assert run_app(["init", "--from", "config.yaml", "--dry-run"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]
    assert run_app(["init", "--from", "config.yaml"]) == 0
    assert "benchmark: " in (tmp_path / "config.yaml.backup").read_text()
    assert f"--suite {name}" in capsys.readouterr().err
    assert run_app(["--suite", name, "--dry-run"]) == 0
    assert f"{model} / " in capsys.readouterr().out


def test_a_file_with_our_models_is_told_where_the_options_belong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the lines that are missing are shown, and what has no equal here is named."""
    file = tmp_path / "config.yaml"
    file.write_text("kimi-k2:\n  vendors:\n  - name: moonshot\nbenchmark: gaia\nsample_size: 3\nbudget: 5\n")
    assert run_app(["run", "-c", str(file)]) == 2
    told = capsys.readouterr().err
    assert "vendors:" not in told
    assert "sample_size: 3" in told
    assert "none of ours" in told
    assert "not carried over: budget" in told


def test_a_model_of_such_a_name_is_a_model(tmp_path: Path) -> None:
    """What has vendors is a model, whatever it is called."""
    file = tmp_path / "config.yaml"
    file.write_text(
        "benchmark:\n  vendors:\n"
        "  - {name: simulated, model_id: m, url: sim://faithful, validator: openai, is_baseline: true}\n"
    )
    assert run_app(["run", "-c", str(file), "--dry-run", "-n", "2"]) == 0
