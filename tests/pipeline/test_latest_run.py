"""runs/latest points to the last run of the default folder, whoever else writes at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.errors import RunFolderError
from vendor_verifier.pipeline.latest_run import latest_run, point_to, pointed_to, run_named
from vendor_verifier.store import RunFolder


def made(runs: Path, name: str) -> Path:
    """A run folder with a manifest."""
    folder = runs / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def test_the_link_is_relative_and_goes_along(tmp_path: Path) -> None:
    """It names its neighbour, so that runs/ may be moved or mounted elsewhere."""
    point_to(made(tmp_path / "runs", "one"))
    (tmp_path / "runs").rename(tmp_path / "moved")
    assert pointed_to(tmp_path / "moved") == tmp_path / "moved" / "one"
    assert (tmp_path / "moved" / "latest" / "manifest.json").is_file()


def test_the_later_run_is_pointed_to_and_the_link_is_no_run(tmp_path: Path) -> None:
    """Pointing again replaces the link; a resumed run is found by its own name, never by the link's."""
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    point_to(two)
    point_to(one)
    assert pointed_to(tmp_path) == one
    assert latest_run(tmp_path) in (one, two)


def test_where_links_are_impossible_a_file_names_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without links has a text file in their place, which is read alike."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    point_to(made(tmp_path, "one"))
    assert (tmp_path / "latest").read_text() == "one\n"
    assert pointed_to(tmp_path) == tmp_path / "one"


def test_many_runs_that_end_together_leave_one_whole_link(tmp_path: Path) -> None:
    """At no moment is there none or half of one, and no draft stays behind."""
    folders = [made(tmp_path, f"run-{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(point_to, folders * 25))
    assert pointed_to(tmp_path) in folders
    assert list(tmp_path.glob(".*")) == []


def test_a_folder_of_that_name_is_left_alone(tmp_path: Path) -> None:
    """Who has a run called latest keeps it."""
    made(tmp_path, "latest")
    point_to(made(tmp_path, "one"))
    assert not (tmp_path / "latest").is_symlink()


def test_what_the_link_pointed_to_may_be_gone(tmp_path: Path) -> None:
    """Then the run that was started last is meant; without any run that is said."""
    with pytest.raises(RunFolderError, match="there is no run under"):
        pointed_to(tmp_path)
    (tmp_path / "latest").symlink_to("gone")
    one = made(tmp_path, "one")
    assert pointed_to(tmp_path) == one


def test_a_run_is_found_by_the_name_that_its_reports_give_it(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports say ``runs/<id>`` wherever the run lies; a folder so called goes first, other names are not searched."""
    bench.samples(1)
    bench.configure("official: faithful", "other: substitute")
    bench.run(output="runs/mine")
    folder = RunFolder(bench.folder / "runs" / "mine")
    run = folder.read_manifest().run
    monkeypatch.chdir(bench.folder)
    assert f"explain runs/{run} --vendor other" in (folder.path / "report.html").read_text()
    for said in (Path("runs") / run, Path(run), folder.path):
        assert run_named(said).resolve() == folder.path.resolve()
    for unknown in (Path("runs") / "20260101T000000Z-abcdef", Path("runs") / "nobody"):
        with pytest.raises(RunFolderError, match="not a run folder; runs are"):
            run_named(unknown)
    for command in ("explain", "score", "report"):
        code, _, err = bench(command, Path("runs") / run, *(("--vendor", "other") if command == "explain" else ()))
        assert code == 0, err
