"""A configuration of mcpbr is answered with the lines of ours that say the same, and those lines work."""

from __future__ import annotations

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


def test_a_model_of_such_a_name_is_a_model(tmp_path: Path) -> None:
    """What has vendors is a model, whatever it is called."""
    file = tmp_path / "config.yaml"
    file.write_text(
        "benchmark:\n  vendors:\n"
        "  - {name: simulated, model_id: m, url: sim://faithful, validator: openai, is_baseline: true}\n"
    )
    assert run_app(["run", "-c", str(file), "--dry-run", "-n", "2"]) == 0
