"""Data sets at addresses: a loopback server takes the place of the hub and of any web server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from data_server import COMMIT, DataServer, digest_of, serving_data
from workbench import Bench

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.pipeline import places
from vendor_verifier.pipeline.places import Place, place_of

DATASETS = Path(__file__).parents[2] / "datasets"
FORM = "expected hf://owner/name or hf://owner/name/file.jsonl"
ROWS = b'{"id": "a", "messages": [{"role": "user", "content": "Weather in Paris?"}], "tools": []}\n'


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
    """A hub with two data sets, and a web server with one file."""
    files = {"README.md": b"#", "dataset_infos.json": b"{}", "data/rows.jsonl": ROWS}
    sets = {"me/rows": files, "me/two": {"a.jsonl": ROWS, "b.jsonl": ROWS}}
    with serving_data(DataServer(files={"/rows.jsonl": ROWS}, sets=sets)) as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        yield made


def said(where: str, *, whole: bool = False) -> str:
    with pytest.raises(DataError) as refusal:
        place_of(where, whole=whole)
    (problem,) = refusal.value.problems
    assert "\n" not in str(problem)
    return str(problem)


def test_a_url_is_read_and_with_its_digest_once(server: DataServer) -> None:
    """The address in the manifest has the digest and no signature; a file that changed on the disk is read again."""
    first = place_of(f"{server.url}/rows.jsonl?signature=canary")
    assert first.path.read_bytes() == ROWS
    assert first.address == f"{server.url}/rows.jsonl#sha256={digest_of(ROWS)}"
    assert str(first.address) in first.notices[0]
    assert place_of(str(first.address)) == Place(first.path, first.address)
    assert len(server.asked) == 1
    first.path.write_bytes(b"rotten")
    assert place_of(str(first.address)).path.read_bytes() == ROWS


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("https://", "expected https://host/file.jsonl"),
        ("https://[::1/x", "expected https://host/file.jsonl"),
        ("http://user:canary@127.0.0.1/rows.jsonl", "without a user name"),
        ("http://127.0.0.1/rows.jsonl#sha256=12", "64 hexadecimal digits"),
        ("http://127.0.0.1:9/rows.jsonl", "cannot be read ("),
        ("{url}/none.jsonl", "the server answered 404"),
        (f"{{url}}/rows.jsonl#sha256={'0' * 64}", f"read {digest_of(ROWS)}; take the new one if you trust it"),
        *((where, FORM) for where in ("ftp://h/rows.jsonl", "hf://rows", "hf://", "hf://me/rows@")),
        ("hf://me/rows/../../s", FORM),
        ("hf://<me>/<rows>", "no data set can have this name"),
        ("hf://me/none", "me/none is not there, or needs a token"),
        ("hf://me/none/x.jsonl", "me/none is not there"),
        ("hf://me/rows@v9", "has no revision v9"),
        ("hf://me/rows/data/rows.jsonl@v9", "has no revision v9"),
        ("hf://me/rows/none.jsonl", "has no file none.jsonl"),
        ("hf://me/two@v1", "has 2 files of rows; name one of them: a.jsonl, b.jsonl"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(server: DataServer, tmp_path: Path, where: str, words: str) -> None:
    """With the address, without its password; and nothing is kept."""
    told = said(where.format(url=server.url))
    assert not where.startswith("hf") or told.startswith(f"{where}: ")
    assert words in told
    assert "canary" not in told
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_proxy_that_cannot_be_used_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://user:canary#canary@proxy.test:1")
    with pytest.raises(UsageError, match="http_proxy names no proxy") as refusal:
        place_of("http://127.0.0.1:9/rows.jsonl")
    assert "canary" not in str(refusal.value)


def test_a_download_is_bounded(server: DataServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the hub by the size that it states, before anything is loaded."""
    server.sizes["data/rows.jsonl"] = 3 * 1024**3
    assert "expected at most 2147483648" in said("hf://me/rows")
    assert not any("/resolve/" in line for line in server.asked)
    monkeypatch.setattr(places, "MAX_DOWNLOAD_BYTES", 50)
    assert "expected at most 50 bytes" in said(f"{server.url}/rows.jsonl")


def test_the_only_file_of_rows_is_found_and_its_commit_named(server: DataServer) -> None:
    """What describes the data set is no data; with the commit in the address nothing is left to say."""
    found = place_of("hf://me/rows")
    assert found.path.read_bytes() == ROWS
    assert found.address == f"hf://me/rows/data/rows.jsonl@{COMMIT}"
    assert found.notices == (f"hf://me/rows is read at commit {COMMIT}; with @{COMMIT} later runs read the same rows",)
    for where in (found.address, f"hf://datasets/me/rows@{COMMIT}"):
        assert place_of(where) == Place(found.path, found.address)
    assert place_of("hf://me/rows/data/rows.jsonl@v1").address == found.address


@pytest.mark.parametrize("refusal", [(403, "GatedRepo"), (401, "GatedRepo"), (403, "")])
@pytest.mark.parametrize("where", ["hf://me/rows", "hf://me/rows/data/rows.jsonl"])
def test_a_gated_data_set_says_how_to_be_let_in(server: DataServer, where: str, refusal: tuple[int, str]) -> None:
    server.refusals["me/rows"] = refusal
    told = said(where)
    assert "me/rows is gated: accept its terms" in told
    assert "HF_TOKEN" in told


def test_a_token_goes_to_the_hub_and_into_no_sentence(server: DataServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file lies elsewhere, that host does not get it."""
    monkeypatch.setenv("HF_TOKEN", "hf_canary0123456789")
    place_of("hf://me/rows/data/rows.jsonl")
    got = dict(zip(server.asked, server.sent_headers, strict=True))
    keys = {line.split("/")[1]: headers.get("authorization") for line, headers in got.items()}
    assert (keys["datasets"], keys["cdn"]) == ("Bearer hf_canary0123456789", None)
    server.refusals["me/rows"] = (403, "GatedRepo")
    assert "canary" not in said("hf://me/rows")


@pytest.mark.slow
def test_without_the_hub_a_file_of_a_pinned_commit_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not downloaded is out of reach. The hub's library tries for ten seconds, and mostly sleeps."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _: None)
    made = DataServer(sets={"me/rows": {"rows.jsonl": ROWS}})
    with serving_data(made):
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        before = place_of("hf://me/rows/rows.jsonl")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert place_of(str(before.address)).path == before.path
    for where in ("hf://me/rows", "hf://me/rows/other.jsonl", "hf://me/rows/rows.jsonl@v1"):
        assert "the hub cannot be reached (" in said(where)


def test_all_files_of_rows_of_a_data_set_come_and_no_code(server: DataServer) -> None:
    server.sets["me/rows"] |= {"run.py": b"1/0", "data/BFCL_v4_simple.json": b"{}", "data/p/a.json": b"{}"}
    whole = place_of("hf://me/rows", whole=True)
    there = sorted(str(path.relative_to(whole.path)) for path in whole.path.rglob("*") if path.is_file())
    assert there == ["data/BFCL_v4_simple.json", "data/p/a.json", "data/rows.jsonl"]
    assert place_of("hf://me/rows/data", whole=True).path == whole.path / "data"
    assert place_of("hf://me/rows/data/rows.jsonl", whole=True).path.read_bytes() == ROWS
    assert "has no file of rows" in said("hf://me/rows/none", whole=True)


# --- whole runs


@pytest.fixture
def filled(server: DataServer, bench: Bench) -> Bench:
    """A folder for runs; the hub has the shipped files."""
    folder = DATASETS / "bfcl"
    bfcl = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.json")}
    server.sets = {"me/rows": {path.name: path.read_bytes() for path in DATASETS.glob("*.jsonl")}, "me/bfcl": bfcl}
    bench.configure("official: faithful")
    return bench


def test_every_evaluation_reads_from_the_hub(filled: Bench) -> None:
    """And pins the commit and the digest of the very file; that of the leaderboard reads its own layout."""
    for suite, file in (("trigger", "samples.jsonl"), ("toolbench", "toolbench.jsonl")):
        filled.run("--suite", suite, "--test-file-path", f"hf://me/rows/{file}", "-n", "2", output=suite)
        (task,) = filled.manifest(suite)["tasks"]
        assert (task["file"], task["count"], task["source"]) == (file, 2, f"hf://me/rows/{file}@{COMMIT}")
        assert task["sha256"] == digest_of((DATASETS / file).read_bytes())
    filled.run("--bfcl-data", "hf://datasets/me/bfcl", "--bfcl-category", "simple_python", "-n", "2")
    (task,) = filled.manifest()["tasks"]
    assert (task["source"], task["count"]) == (f"hf://me/bfcl@{COMMIT}", 2)
    assert task["file"].startswith(f"hf://me/bfcl@{COMMIT} v")


@pytest.mark.parametrize("where", ["hf://me/none", "hf://me/rows", "https://vendor.invalid/a"])
def test_what_cannot_be_had_ends_a_run_before_it_begins(filled: Bench, where: str) -> None:
    """Exit code 2 and one sentence with the address; no run folder."""
    code, _, err = filled(*filled.words("run", "--test-file-path", where))
    assert (code, where in err, "Traceback" in err) == (2, True, False), err
    assert not (filled.folder / "run").exists()
