"""Data sets at addresses: a loopback server takes the place of the hub and of any web server."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_server import COMMIT, DataServer, digest_of, serving_data

from vendor_verifier.errors import DataError
from vendor_verifier.pipeline import downloads
from vendor_verifier.pipeline.downloads import Place, file_at, folder_at

ROWS = b'{"id": "a", "messages": [{"role": "user", "content": "Weather in Paris?"}], "tools": []}\n'
OTHER = "0" * 64


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found that another test downloaded, and no proxy or token of this machine plays a part."""
    from huggingface_hub import constants

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_TOKEN", "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[DataServer]:
    """A hub with one data set, and a web server with one file."""
    made = DataServer(
        files={"/rows.jsonl": ROWS, "/rows.jsonl.gz": gzip.compress(ROWS)},
        sets={"me/rows": {"README.md": b"#", "dataset_infos.json": b"{}", "data/rows.jsonl": ROWS}},
    )
    with serving_data(made):
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        yield made


def said(where: str, of: Any = file_at) -> str:
    """The sentence with which an address is refused, in one line."""
    with pytest.raises(DataError) as refusal:
        of(where)
    (problem,) = refusal.value.problems
    assert "\n" not in str(problem)
    return str(problem)


def cached_files(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


# URLs


def test_a_file_is_downloaded_once_and_kept_by_its_digest(server: DataServer, tmp_path: Path) -> None:
    """The second time nothing is asked for; what rotted on the disk is fetched again."""
    where = f"{server.url}/rows.jsonl?signature=canary#sha256={digest_of(ROWS).upper()}"
    first = file_at(where)
    assert first.path.read_bytes() == ROWS
    assert first.path.name == "rows.jsonl"
    assert first.address == f"{server.url}/rows.jsonl#sha256={digest_of(ROWS)}"
    assert file_at(where) == first
    assert len(server.asked) == 1
    first.path.write_bytes(b"rotten")
    assert file_at(where).path.read_bytes() == ROWS
    assert cached_files(tmp_path) == ["rows.jsonl"]


def test_redirects_are_followed_some_times(server: DataServer) -> None:
    """The address that was given stays the file's; a circle ends."""
    server.redirects |= {"/latest": "/v2/rows", "/v2/rows": f"http://localhost:{server.port}/rows.jsonl"}
    found = file_at(f"{server.url}/latest#sha256={digest_of(ROWS)}")
    assert found.path.read_bytes() == ROWS
    assert found.address == f"{server.url}/latest#sha256={digest_of(ROWS)}"
    server.redirects["/round"] = "/round"
    assert "redirect" in said(f"{server.url}/round#sha256={OTHER}")
    server.redirects["/local"] = "file:///etc/hostname"
    assert "cannot be read" in said(f"{server.url}/local#sha256={OTHER}")


def _lowered(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def test_another_digest_says_both(server: DataServer, tmp_path: Path) -> None:
    """What came is not used, and the file that was meant is not there."""
    words = said(f"{server.url}/rows.jsonl#sha256={OTHER}")
    assert f"expected SHA-256 {OTHER}, read {digest_of(ROWS)}" in words
    assert cached_files(tmp_path) == []


@pytest.mark.parametrize("fragment", ["", "md5=1", "sha256=12", f"sha256={'g' * 64}", f"sha256={OTHER}0", OTHER])
def test_a_digest_that_is_none_is_refused_before_anything(server: DataServer, fragment: str) -> None:
    """What a URL names may change; with what is expected."""
    assert "add #sha256= and 64 hexadecimal digits" in said(f"{server.url}/x#{fragment}")
    assert server.asked == []


def test_a_login_in_an_address_is_refused_and_not_repeated(server: DataServer) -> None:
    """It would stand in the manifest and in every report."""
    words = said(f"http://user:canary@127.0.0.1:{server.port}/rows.jsonl#sha256={OTHER}")
    assert "user name or password" in words
    assert "canary" not in words
    assert server.asked == []


@pytest.mark.parametrize("where", ["https://", "https:///rows.jsonl", "https://[::1/x", "http://host:port/x"])
def test_what_is_no_address_is_refused_with_the_form_of_one(where: str) -> None:
    """However it is broken."""
    assert said(where) == f"{where}: expected https://host/file.jsonl#sha256=digest"


def test_a_download_is_bounded(server: DataServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a file that is too large is kept."""
    monkeypatch.setattr(downloads, "MAX_DOWNLOAD_BYTES", 50)
    assert "expected at most 50; download it" in said(f"{server.url}/rows.jsonl#sha256={digest_of(ROWS)}")
    assert cached_files(tmp_path) == []


# the hub


def test_the_only_file_of_rows_is_found_and_the_commit_is_said(server: DataServer) -> None:
    """What describes the data set is no data; with the commit in the address nothing is left to say."""
    found = file_at("hf://me/rows")
    assert found.path.read_bytes() == ROWS
    assert found.address == f"hf://me/rows/data/rows.jsonl@{COMMIT}"
    assert found.notices == (f"hf://me/rows is read at commit {COMMIT}; with @{COMMIT} later runs read the same rows",)
    for where in (found.address, f"hf://datasets/me/rows@{COMMIT}"):
        assert file_at(where) == Place(found.path, found.address)
    assert file_at("hf://me/rows/data/rows.jsonl@v1").address == found.address


def test_several_files_are_listed_to_choose_from(server: DataServer) -> None:
    """Each as the address that would read it."""
    server.sets["me/rows"]["data/more.jsonl"] = ROWS
    words = said("hf://me/rows@v1")
    assert "has 2 files of rows; name one of them: " in words
    assert "hf://me/rows/data/rows.jsonl@v1, hf://me/rows/data/more.jsonl@v1" in words


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("hf://rows", "expected hf://owner/name or hf://owner/name/file.jsonl"),
        ("hf://", "expected hf://owner/name"),
        ("hf://me/rows@", "expected hf://owner/name"),
        ("hf://me/rows/../../secret", "expected hf://owner/name"),
        ("hf://<me>/<rows>", "no data set can have this name"),
        ("hf://me/none", "me/none is not there, or needs a token"),
        ("hf://me/none/x.jsonl", "me/none is not there"),
        ("hf://me/rows@v9", "has no revision v9"),
        ("hf://me/rows/data/rows.jsonl@v9", "has no revision v9"),
        ("hf://me/rows/none.jsonl", "has no file none.jsonl"),
    ],
)
def test_what_the_hub_does_not_have_is_one_sentence(server: DataServer, where: str, words: str) -> None:
    """It begins with the address as it was given."""
    told = said(where)
    assert told.startswith(f"{where}: ")
    assert words in told


@pytest.mark.parametrize("refusal", [(403, "GatedRepo"), (401, "GatedRepo"), (403, "")])
@pytest.mark.parametrize("where", ["hf://me/rows", "hf://me/rows/data/rows.jsonl"])
def test_a_gated_data_set_says_how_to_be_let_in(server: DataServer, where: str, refusal: tuple[int, str]) -> None:
    """By accepting its terms, with a token."""
    server.refusals["me/rows"] = refusal
    told = said(where)
    assert "me/rows is gated: accept its terms" in told
    assert "HF_TOKEN" in told


def test_a_token_goes_to_the_hub_and_into_no_sentence(server: DataServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file lies elsewhere, that host does not get it."""
    monkeypatch.setenv("HF_TOKEN", "hf_canary0123456789")
    file_at("hf://me/rows/data/rows.jsonl")
    got = dict(zip(server.asked, map(_lowered, server.sent_headers), strict=True))
    keys = {line.split("/")[1]: headers.get("authorization") for line, headers in got.items()}
    assert (keys["datasets"], keys["cdn"]) == ("Bearer hf_canary0123456789", None)
    server.refusals["me/rows"] = (403, "GatedRepo")
    assert "canary" not in said("hf://me/rows")


@pytest.mark.slow
def test_without_the_hub_a_file_of_a_pinned_commit_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was downloaded once is there on a train, too; what was not is said to be out of reach.

    The hub's library tries each address for some ten seconds first, and mostly sleeps.
    """
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    made = DataServer(sets={"me/rows": {"rows.jsonl": ROWS}})
    with serving_data(made):
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        before = file_at("hf://me/rows/rows.jsonl")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert file_at(str(before.address)).path == before.path
    for where in ("hf://me/rows", "hf://me/rows/other.jsonl", "hf://me/rows/rows.jsonl@v1"):
        assert "the hub cannot be reached (" in said(where)


def test_all_files_of_rows_of_a_data_set_come_and_no_code(server: DataServer) -> None:
    """A folder of it, or a file of it, likewise."""
    server.sets["me/rows"] |= {"run.py": b"1/0", "data/BFCL_v4_simple.json": b"{}", "data/p/a.json": b"{}"}
    whole = folder_at("hf://me/rows")
    assert whole is not None
    there = sorted(str(path.relative_to(whole.path)) for path in whole.path.rglob("*") if path.is_file())
    assert there == ["data/BFCL_v4_simple.json", "data/p/a.json", "data/rows.jsonl"]
    inner, file = folder_at("hf://me/rows/data"), folder_at("hf://me/rows/data/rows.jsonl")
    assert inner is not None
    assert inner.path == whole.path / "data"
    assert file is not None
    assert file.path.read_bytes() == ROWS
    assert "has no file of rows" in said("hf://me/rows/none", folder_at)
