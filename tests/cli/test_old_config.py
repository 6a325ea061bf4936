"""``init --from``: keys of a configuration of 0.1.0 move to .env, and one of mcpbr becomes ours."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.cli.main import run_app
from vendor_verifier.config.document import parse_env
from vendor_verifier.config.old_files import move_keys

ONE, TWO = "sk-CANARYone0123456789abcdef", "sk-CANARYtwo0123456789abcdef"
FILE = Path("config.yaml")
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
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "config.yaml").chmod(0o640)
    return tmp_path


def test_keys_move_to_env(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys are in .env and the backup for the user alone, nothing else changes, and none is printed."""
    before = sorted(old.rglob("*"))
    assert run_app([*FROM, "--dry-run"]) == 0
    assert (sorted(old.rglob("*")), (old / "config.yaml").read_text()) == (before, CONFIG)
    assert run_app(FROM) == 0
    text, backup = (old / "config.yaml").read_text(), old / "config.yaml.backup"
    assert text == CONFIG.replace(ONE, '"${openrouter}"').replace(TWO, '"${packyapi}"')
    assert stat.S_IMODE((old / "config.yaml").stat().st_mode) == 0o640
    assert (old / ".env").read_text() == f"openrouter='{ONE}'\npackyapi='{TWO}'\n"
    assert backup.read_text() == CONFIG
    assert [stat.S_IMODE((old / name).stat().st_mode) for name in (".env", backup.name)] == [0o600, 0o600]
    assert {".env", backup.name} <= set((old / ".gitignore").read_text().splitlines())
    assert run_app(FROM) == 0
    assert (old / "config.yaml").read_text() == text
    said = capsys.readouterr()
    assert str(backup) in said.err
    assert "CANARY" not in said.out + said.err


def test_remaining_problems_are_reported(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The keys are moved anyway, through a link too; exit 2 while the configuration does not load."""
    (old / "real.yaml").write_bytes(CONFIG.replace("is_baseline: false", "is_baseline: true").encode())
    (old / "config.yaml").unlink()
    (old / "config.yaml").symlink_to(old / "real.yaml")
    assert run_app(FROM) == 2
    assert re.search("still to fix: .*a second baseline", capsys.readouterr().err)
    assert (old / "config.yaml").is_symlink()
    assert ONE not in (old / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("env", "result"),
    [
        ("", f"openrouter='{ONE}'\n"),
        ("# mine\nother=1", f"# mine\nother=1\nopenrouter='{ONE}'\n"),
        (f"openrouter={ONE}\n", f"openrouter={ONE}\n"),
        ("openrouter=sk-xxxx\n", f"openrouter=sk-xxxx\nopenrouter='{ONE}'\n"),
        ("openrouter=another-key-of-mine\n", f"openrouter=another-key-of-mine\nopenrouter_2='{ONE}'\n"),
    ],
)
def test_what_env_holds_already(env: str, result: str) -> None:
    """A key that differs is never overwritten, and the same key is not written twice."""
    moved = move_keys(FILE, f"m:\n  vendors:\n    - name: openrouter\n      api_key: {ONE}\n", env, str)
    assert moved.env == result
    assert ONE not in moved.config


@pytest.mark.parametrize(
    "written",
    [
        f"- name: a\n      api_key: &key {ONE}",
        f"- name: a\n      api_key: |\n        {ONE}\n      url: https://o.example/v1",
        f"- name: a\n      api_key: >-\n        {ONE}",
        f"- {{name: b, api_key: {ONE}}}",
        "- {name: b, api_key: 0123456789012}",
        f"- &shared {{name: a, api_key: {ONE}}}\n    - <<: *shared",
    ],
)
def test_a_key_may_be_written_in_any_way(written: str) -> None:
    """Anchors, blocks and figures: the key is found, and the file says the same but for it."""
    moved = move_keys(FILE, f"m:\n  vendors:\n    {written}\n# other: {TWO}\n", "", str)
    assert not re.search(f"{ONE}|0123456789012", moved.config)
    assert re.search(r"\$\{\w+\}", moved.config)
    assert len(parse_env(moved.env)[0]) == 1
    assert moved.lines == (moved.config.count("\n"),)


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)
KEYS = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=9, max_size=40)


@given(st.lists(st.tuples(NAMES, KEYS), min_size=1, max_size=6), st.booleans())
def test_no_key_is_lost_and_none_stays(vendors: list[tuple[str, str]], flow: bool) -> None:
    """Whatever vendors and keys are called: each entry's reference leads to its key in .env."""
    entries = [{"name": name, "api_key": key, "model_id": "m"} for name, key in vendors]
    text = yaml.safe_dump({"m": {"vendors": entries}}, default_flow_style=flow, allow_unicode=True)
    moved = move_keys(FILE, text, "", str)
    env = parse_env(moved.env)[0]
    after = yaml.safe_load(moved.config)["m"]["vendors"]
    for before, entry in zip(entries, after, strict=True):
        name = re.fullmatch(r"\$\{(.+)\}", entry["api_key"])
        if name is None:
            assert entry == before  # a placeholder or a reference already
        else:
            assert env[name[1]].strip() == before["api_key"].strip()
            assert {**entry, "api_key": before["api_key"]} == before


@pytest.mark.parametrize(("model", "asked"), [("sonnet", "claude-sonnet-5.5"), ("nobody", "simulated-model")])
def test_a_configuration_of_mcpbr_becomes_ours(
    model: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a folder of its own; simulated vendors where it names no known model."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(
        f"benchmark: mcptoolbench\nsample_size: 5\nmcp_server: {{command: npx}}\nmodel: {model}\n"
    )
    assert run_app(["init", "new", "--from", "config.yaml", "--dry-run"]) == 0
    assert not Path("new").exists()
    assert run_app(["init", "new", "--from", "config.yaml"]) == 0
    said = capsys.readouterr().err
    assert "not carried over: mcp_server" in said
    assert "--suite mcptoolbench" in said
    assert run_app(["-c", "new/config.yaml", "--suite", "mcptoolbench", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert f"{asked} / " in shown
    assert "5 requests" in shown
    assert run_app(["init", "--from", "config.yaml"]) == 2
