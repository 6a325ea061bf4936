"""The command ``migrate`` over a folder as 0.1.0 left it: keys, flags, results, and what is never done."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.cli.main import run_app

ONE, TWO = "sk-CANARYone0123456789abcdef", "sk-CANARYtwo0123456789abcdef"
CONFIG = f"""\
# our vendors
minimax-m2.5:
  vendors:
    - name: openrouter
      model_id: minimax/minimax-m2.5
      api_key: {ONE}   # bought in May
      provider: minimax/
      url: https://openrouter.ai/api/v1
      validator: openai
      is_baseline: true
    - name: packyapi
      model_id: minimax-m2.5
      api_key: {TWO}
      url: https://packy.example/v1
      validator: openai
      is_baseline: false
"""
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}


def row(number: int, *, called: bool, ttft_ms: float = 0) -> dict[str, Any]:
    """A line of a result file as 0.1.0 wrote it."""
    call = {"id": "c", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    message = {"role": "assistant", "content": "", "tool_calls": [call] if called else None}
    reason = "tool_calls" if called else "stop"
    return {
        "data_index": number,
        "request": {"model": "m", "messages": [{"role": "user", "content": f"Ask {number}"}], "tools": [TOOL]},
        "response": {
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        },
        "status": "success", "finish_reason": reason, "tool_calls_valid": called or None, "duration_ms": 900,
        "last_run_at": "2026-01-02T03:04:05", "hash": str(number), "ttft_ms": ttft_ms,
    }  # fmt: skip


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of 0.1.0 with a configuration, results and summaries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "config.yaml").chmod(0o640)
    data = tmp_path / "data"
    (data / "minimax-m2.5_openrouter_minimax").mkdir(parents=True)
    files = {"minimax-m2.5_openrouter_minimax/": [True, True, False], "minimax-m2.5_packyapi": [True, False, False]}
    for stem, called in files.items():
        rows = [row(number, called=each) for number, each in enumerate(called, 1)]
        (data / f"{stem}_results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
        summary = {"success_count": 3, "failure_count": 0, "finish_tool_calls": 2, "successful_tool_call_count": 1,
                   "avg_tokens": 15.0, "avg_ttft_ms": 432.1, "avg_throughput": 55.5}  # fmt: skip
        (data / f"{stem}_summary.json").write_text(json.dumps(summary))
    return tmp_path


def test_keys_results_and_figures_come_over(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys are in .env for the user alone, the configuration loads, and both kinds of results can be read."""
    assert run_app(["migrate"]) == 0
    said = capsys.readouterr()
    text = (old / "config.yaml").read_text()
    assert text == CONFIG.replace(ONE, '"${openrouter}"').replace(TWO, '"${packyapi}"')
    assert stat.S_IMODE((old / "config.yaml").stat().st_mode) == 0o640
    assert (old / ".env").read_text() == f"openrouter={ONE}\npackyapi={TWO}\n"
    backup = old / "config.yaml.before-migrate"
    assert backup.read_text() == CONFIG
    assert [stat.S_IMODE((old / name).stat().st_mode) for name in (".env", backup.name)] == [0o600, 0o600]
    assert {".env", backup.name} <= set((old / ".gitignore").read_text().splitlines())
    assert str(backup) in said.err
    assert "--extra-body was read and never sent" in said.err
    run = old / "runs" / "imported-minimax-m2.5"
    scores = json.loads((run / "scores.json").read_text())["models"]["minimax-m2.5"]["vendors"]
    (baseline,) = [label for label, found in scores.items() if found["is_baseline"]]
    assert "minimax" in baseline
    assert "openrouter" in baseline
    assert scores["packyapi"]["f1"] == pytest.approx(2 / 3)
    figures = (run / "figures_of_0.1.0.md").read_text()
    assert "| Vendor | IRF Score | Success Rate | F1 Score | TPS | Schema Accuracy | TTFT (ms) | Avg Token |" in figures
    assert "| 1 | 0.6667 | 55.5 | 0.5000 | 432.1 | 15 |" in figures


def test_no_key_is_printed_or_left_behind(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only .env and the backup hold a key; screen, run folder and configuration hold none."""
    run_app(["migrate"])
    said = capsys.readouterr()
    holders = [path for path in old.rglob("*") if path.is_file() and ("CANARY" in path.read_text(errors="replace"))]
    assert sorted(path.name for path in holders) == [".env", "config.yaml.before-migrate"]
    assert "CANARY" not in said.out + said.err


def test_what_0_1_0_set_by_itself_is_said(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One vendor of one model was asked otherwise than stated; whoever compares has to know."""
    (old / "config.yaml").write_text(CONFIG.replace("minimax-m2.5:", "kimi-k2.5:").replace("packyapi", "moonshotai"))
    run_app(["migrate"])
    assert "`extra_body: {thinking: {type: disabled}}`" in capsys.readouterr().err


def test_a_second_time_changes_nothing(old: Path) -> None:
    """No second backup, no second run, the same files."""
    run_app(["migrate"])
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    run_app(["migrate"])
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before


def test_a_key_in_env_that_differs_stays(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The key of the configuration gets another name there, and is named so in the configuration."""
    (old / ".env").write_text("openrouter=sk-mine-0123456789\n")
    assert run_app(["migrate"]) == 0
    assert (old / ".env").read_text().startswith("openrouter=sk-mine-0123456789\n")
    assert 'api_key: "${openrouter_2}"' in (old / "config.yaml").read_text()
    assert "`openrouter` is another key and stays" in capsys.readouterr().err


def test_a_dry_run_writes_nothing(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what it would do."""
    before = sorted(old.rglob("*"))
    assert run_app(["migrate", "--dry-run"]) == 0
    assert sorted(old.rglob("*")) == before
    assert (old / "config.yaml").read_text() == CONFIG
    assert "2 result files" in capsys.readouterr().err


def test_what_is_still_wrong_is_said(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys are moved anyway; exit 2 while the configuration does not load."""
    (old / "config.yaml").write_text(CONFIG.replace("is_baseline: false", "is_baseline: true"))
    assert run_app(["migrate"]) == 2
    assert "still to mend:" in (err := capsys.readouterr().err)
    assert "a second baseline" in err
    assert ONE not in (old / "config.yaml").read_text()


def test_a_literal_key_is_refused_with_the_way_to_move_it(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever starts a run with a configuration of 0.1.0 is told the command."""
    assert run_app(["--dry-run"]) == 2
    assert "agent-vendor-verifier migrate config.yaml" in capsys.readouterr().err


def test_links_are_followed_and_a_byte_order_mark_stays(old: Path) -> None:
    """The file that is meant is changed, not the link replaced by one."""
    (old / "real").mkdir()
    (old / "config.yaml").unlink()
    (old / "real" / "c.yaml").write_bytes(b"\xef\xbb\xbf" + CONFIG.replace("\n", "\r\n").encode())
    (old / "config.yaml").symlink_to(old / "real" / "c.yaml")
    assert run_app(["migrate", "--env-file", ".env"]) == 0
    assert (old / "config.yaml").is_symlink()
    changed = (old / "real" / "c.yaml").read_bytes()
    assert changed.startswith(b"\xef\xbb\xbf# our vendors\r\n")
    assert b"CANARY" not in changed
