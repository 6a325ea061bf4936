"""The list of vendor plugins: in columns that a reader can tell apart, and the unusable ones after them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app

BROKEN = "import a_module_that_is_not_there\n"


def test_columns_stand_under_their_headings(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, wire, key and address begin where their headings do; a vendor without a public address says so."""
    assert run_app(["init", "--list"]) == 0
    vendors, _, models = capsys.readouterr().out.partition("\n\n")
    heading, *lines = vendors.splitlines()
    assert heading.split() == ["VENDOR", "WIRE", "KEY", "ADDRESS", "FILE"]
    by_name = {line.split()[0]: line for line in lines}
    at = {word: heading.index(word) for word in heading.split()}
    assert by_name["deepseek"][at["WIRE"] :].startswith("openai ")
    assert by_name["deepseek"][at["ADDRESS"] :].startswith("https://api.deepseek.com/v1 ")
    assert by_name["429.icu"][at["ADDRESS"] :].startswith("(url in config) ")
    assert by_name["anthropic"][at["FILE"] :].endswith("anthropic.py")
    assert "\nkimi-k2.5\n" in models


def test_a_plugin_that_fails_is_listed_and_the_others_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its file and its error, after the table."""
    (tmp_path / "torn.py").write_text(BROKEN)
    assert run_app(["init", "--list", "--vendor-path", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("deepseek ") for line in lines)
    assert any("torn.py: ModuleNotFoundError" in line for line in lines)
