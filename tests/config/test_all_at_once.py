"""Whoever wrote a file with mistakes in every part hears of all of them at once, in the order of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app

CONFIG = """\
gates:
  - "sucess_rate >= 0.98"
  - "f1 > yes"
slos:
  - "avg_ttft_ms <= soon"
suites:
  trigerr: {}
  trigger: {sample_size: lots}
  tool_correctness: {exact: 3}
m:
  vendors:
    - name: base
      url: http://127.0.0.1:9/v1
      model_id: m
      is_baseline: 3
"""


def test_entries_gates_and_options_of_evaluations_are_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not the entries first, then the gates, then one evaluation after the other."""
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    command = ["--dry-run", "-c", str(file), "--gate", "f1 ~ 1", "--suite-option", "trigger.head=maybe"]
    assert run_app(command) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("note:")]
    told = [line.removeprefix("error: ").removeprefix(f"{file}:").split(":")[0] for line in lines]
    assert told == ["2", "3", "5", "7", "8", "9", "15", "--gate", "--suite-option trigger.head"]
