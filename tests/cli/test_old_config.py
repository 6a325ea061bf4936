"""``init --from`` on a configuration of 0.1.0: keys move to .env, everything else stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app

ONE, TWO = "sk-CANARYone0123456789abcdef", "sk-CANARYtwo0123456789abcdef"
FROM = ["init", "--from", "config.yaml"]
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


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of 0.1.0 with a configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "config.yaml").chmod(0o640)
    return tmp_path


def test_keys_move_to_env(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys are in .env for the user alone, and the configuration loads."""
    assert run_app(FROM) == 0
    said = capsys.readouterr()
    text = (old / "config.yaml").read_text()
    assert text == CONFIG.replace(ONE, '"${openrouter}"').replace(TWO, '"${packyapi}"')
    assert stat.S_IMODE((old / "config.yaml").stat().st_mode) == 0o640
    assert (old / ".env").read_text() == f"openrouter={ONE}\npackyapi={TWO}\n"
    backup = old / "config.yaml.backup"
    assert backup.read_text() == CONFIG
    assert [stat.S_IMODE((old / name).stat().st_mode) for name in (".env", backup.name)] == [0o600, 0o600]
    assert {".env", backup.name} <= set((old / ".gitignore").read_text().splitlines())
    assert str(backup) in said.err


def test_no_key_is_printed_or_left_behind(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only .env and the backup hold a key; screen, run folder and configuration hold none."""
    run_app(FROM)
    said = capsys.readouterr()
    holders = [path for path in old.rglob("*") if path.is_file() and ("CANARY" in path.read_text(errors="replace"))]
    assert sorted(path.name for path in holders) == [".env", "config.yaml.backup"]
    assert "CANARY" not in said.out + said.err


def test_a_key_in_env_that_differs_stays(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The key of the configuration gets another name there, and is named so in the configuration."""
    (old / ".env").write_text("openrouter=sk-mine-0123456789\n")
    assert run_app(FROM) == 0
    assert (old / ".env").read_text().startswith("openrouter=sk-mine-0123456789\n")
    assert 'api_key: "${openrouter_2}"' in (old / "config.yaml").read_text()
    assert "because `openrouter` holds another key there" in capsys.readouterr().err


def test_a_dry_run_writes_nothing(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows what it would do."""
    before = sorted(old.rglob("*"))
    assert run_app([*FROM, "--dry-run"]) == 0
    assert sorted(old.rglob("*")) == before
    assert (old / "config.yaml").read_text() == CONFIG
    assert "the key is `packyapi` in" in capsys.readouterr().err


def test_what_is_still_wrong_is_said(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys are moved anyway; exit 2 while the configuration does not load."""
    (old / "config.yaml").write_text(CONFIG.replace("is_baseline: false", "is_baseline: true"))
    assert run_app(FROM) == 2
    assert "still to fix:" in (err := capsys.readouterr().err)
    assert "a second baseline" in err
    assert ONE not in (old / "config.yaml").read_text()


def test_links_are_followed_and_a_byte_order_mark_stays(old: Path) -> None:
    """The file that is meant is changed, not the link replaced by one."""
    (old / "real").mkdir()
    (old / "config.yaml").unlink()
    (old / "real" / "c.yaml").write_bytes(b"\xef\xbb\xbf" + CONFIG.replace("\n", "\r\n").encode())
    (old / "config.yaml").symlink_to(old / "real" / "c.yaml")
    assert run_app([*FROM, "--env-file", ".env"]) == 0
    assert (old / "config.yaml").is_symlink()
    changed = (old / "real" / "c.yaml").read_bytes()
    assert changed.startswith(b"\xef\xbb\xbf# our vendors\r\n")
    assert b"CANARY" not in changed
