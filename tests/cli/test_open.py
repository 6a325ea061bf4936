"""``open`` opens a run's report in the browser, and always says where it lies."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.pipeline.latest_run import point_to


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder with one run under runs/, and the addresses that a browser was asked for."""
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (folder / "report.html").write_text("<p>")
    point_to(folder)
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    monkeypatch.chdir(tmp_path)
    return addresses


def test_the_last_report_is_opened_and_named(
    opened: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a name it is the run that runs/latest points to."""
    assert run_app(["open"]) == 0
    assert opened == [(tmp_path / "runs" / "one" / "report.html").as_uri()]
    assert capsys.readouterr().out == f"{Path('runs/one/report.html')}\n"


def test_print_opens_nothing(opened: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A script wants the path alone."""
    assert run_app(["open", "runs/one", "--print"]) == 0
    assert opened == []
    assert capsys.readouterr().out == f"{Path('runs/one/report.html')}\n"


def test_without_a_browser_the_path_is_what_one_gets(
    opened: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server has none: that is said, and is no failure."""
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    assert run_app(["open"]) == 0
    assert "open the file yourself" in capsys.readouterr().err


def test_a_run_without_a_report_says_how_to_make_one(opened: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Usage error with the command that writes it."""
    Path("runs/one/report.html").unlink()
    assert run_app(["open"]) == 2
    assert "report runs/one --format html -o runs/one" in capsys.readouterr().err
