"""The command ``bundle``: one archive, always the same bytes, that verifies, re-scores and cannot hurt its reader."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.errors import DataError
from vendor_verifier.features.bundle import is_bundled, split_member, verify_bundle
from vendor_verifier.pipeline import prices
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.journal import Journal
from vendor_verifier.store import RunFolder
from vendor_verifier.values.money import Price


@pytest.fixture
def packed(bench: Any) -> Path:
    """A small run of two vendors, bundled."""
    bench.configure("official: faithful", "bad: quantised")
    bench.samples(4)
    bench.run("--no-history")
    code, _, err = bench("bundle", bench.folder / "run", "-o", bench.folder / "run.tar.gz")
    assert code == 0, err
    return Path(bench.folder / "run.tar.gz")


def _rewritten(archive: Path, change: Callable[[dict[str, bytes]], None], *, hashed: bool = True) -> Path:
    """The same bundle with other contents; ``hashed`` makes its hashes fit again, as a forger would."""
    with tarfile.open(archive) as source:
        members = {each.name: source.extractfile(each).read() for each in source}  # type: ignore[union-attr]
    top = next(iter(members)).partition("/")[0]
    files = {name.partition("/")[2]: content for name, content in members.items()}
    change(files)
    if hashed:
        files["SHA256SUMS"] = "".join(
            f"{hashlib.sha256(content).hexdigest()}  {name}\n"
            for name, content in files.items()
            if name != "SHA256SUMS"
        ).encode()
    target = archive.with_name("changed.tar.gz")
    with tarfile.open(target, "w:gz") as out:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return target


def _archive(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as out:
        for member in members:
            out.addfile(member, io.BytesIO(bytes(member.size)))
    return path


def test_a_bundle_verifies_and_says_what_it_is(bench: Any, packed: Path) -> None:
    """Every hash is right and both vendors score the same again."""
    code, out, err = bench("bundle", "--verify", packed)
    assert code == 0, err
    assert "every hash right; 2 vendors scored again to the same numbers" in out


def test_the_same_run_gives_the_same_bytes(bench: Any, packed: Path) -> None:
    """No time, no owner, no order of the file system is in it."""
    for path in (bench.folder / "run").rglob("*"):
        path.touch()
    assert bench("bundle", bench.folder / "run", "-o", "again.tar.gz")[0] == 0
    assert (bench.folder / "again.tar.gz").read_bytes() == packed.read_bytes()
    with tarfile.open(packed) as archive:
        members = archive.getmembers()
    assert [each.name for each in members] == sorted(each.name for each in members)
    assert {(each.uid, each.gid, each.uname, each.gname, each.mtime) for each in members} == {(0, 0, "", "", 0)}


def test_unpacked_it_is_a_run_folder(bench: Any, packed: Path) -> None:
    """score, report and explain read it; the hashes are in the format of sha256sum."""
    with tarfile.open(packed) as archive:
        archive.extractall(bench.folder / "there", filter="data")
    (folder,) = (bench.folder / "there").iterdir()
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    before = json.loads((folder / "scores.json").read_text())["models"]
    assert bench("score", folder, "--no-history")[0] == 0
    assert json.loads((folder / "scores.json").read_text())["models"] == before
    assert bench("report", folder)[0] == 0
    assert bench("explain", folder, "--vendor", "bad")[0] == 0


def test_only_the_run_s_own_files_are_packed(bench: Any, packed: Path) -> None:
    """Neither hidden files nor others that lie there, nor what a link leads to."""
    run = bench.folder / "run"
    (run / ".env").write_text("KEY=secret")
    (run / "notes.txt").write_text("mine")
    (run / "summary.md").symlink_to(run / "notes.txt")
    assert bench("bundle", run, "-o", "again.tar.gz")[0] == 0
    assert (bench.folder / "again.tar.gz").read_bytes() == packed.read_bytes()


def test_a_changed_record_is_found_by_its_hash(packed: Path) -> None:
    """One byte in the records, hashes as they were."""

    def change(files: dict[str, bytes]) -> None:
        files["records.jsonl"] = files["records.jsonl"].replace(b'"label":"bad"', b'"label":"bda"', 1)

    with pytest.raises(DataError, match=r"records\.jsonl is not what was bundled"):
        verify_bundle(_rewritten(packed, change, hashed=False))


def test_failed_answers_that_do_not_follow_from_the_records_are_found(packed: Path) -> None:
    """The rows of their own file are held to the records as the figures are; a bundle from before there was one is as
    good as it was."""

    def forge(files: dict[str, bytes]) -> None:
        files["failed_samples.jsonl"] += b"{}\n"

    with pytest.raises(DataError, match=r"failed_samples\.jsonl names other answers than fail here"):
        verify_bundle(_rewritten(packed, forge))

    def before(files: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in files.pop("failed_samples.jsonl").splitlines()]
        scores = json.loads(files["scores.json"])
        for label, blame in scores["models"]["simulated-model"]["judgement"]["blame"].items():
            own = [row for row in rows if row["vendor"] == label]
            assert len(own) == blame["failed"]
            blame["samples"] = {row["cause"]: [[row["sample"], row["repetition"]]] for row in own}
        files["scores.json"] = json.dumps(scores | {"schema": 1}).encode()

    assert verify_bundle(_rewritten(packed, before)).vendors == 2


def test_scores_that_do_not_follow_from_the_records_are_found(packed: Path) -> None:
    """A forger who mends the hashes too is caught by scoring again, with the place of the number."""

    def change(files: dict[str, bytes]) -> None:
        scores = json.loads(files["scores.json"])
        scores["models"]["simulated-model"]["vendors"]["bad"]["success_rate"] = 0.123
        files["scores.json"] = json.dumps(scores).encode()

    with pytest.raises(DataError, match=r"/models/simulated-model/vendors/bad/success_rate is 0\.123"):
        verify_bundle(_rewritten(packed, change))


def test_missing_and_added_files_are_found(packed: Path) -> None:
    """Each by its name, all at once."""

    def change(files: dict[str, bytes]) -> None:
        del files["report.md"]
        files["junit.xml"] = b"<x/>"

    with pytest.raises(DataError, match=r"report\.md is missing\n.*junit\.xml has no hash"):
        verify_bundle(_rewritten(packed, change, hashed=False))


def test_a_manifest_that_is_none_is_told_without_a_traceback(packed: Path) -> None:
    """Right hashes over nonsense are still nonsense."""
    for nonsense in (b"{}", b"[]", b'{"tasks": 3}', b'{"tasks": [{"suite": "../x", "options": {}}]}'):
        with pytest.raises(DataError, match="cannot be scored"):
            verify_bundle(_rewritten(packed, lambda files, it=nonsense: files.update({"manifest.json": it})))  # type: ignore[misc]


@pytest.mark.parametrize(
    "name",
    ["../manifest.json", "/etc/passwd", "run/../../x", "run/samples/../x.jsonl", "run/.hidden", "run/a.txt",
     "run/bfcl/a/b/c", "run/bfcl/a\\b", "run/samples/a:b.jsonl", "run//manifest.json", "manifest.json", "run/"],
)  # fmt: skip
def test_names_outside_the_layout_are_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written for them."""
    assert split_member(name) is None
    with pytest.raises(DataError, match="has no place in a bundle"):
        verify_bundle(_archive(tmp_path / "x.tar.gz", tarfile.TarInfo(name)))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_links_and_other_kinds_are_refused(kind: bytes, tmp_path: Path) -> None:
    """Even under a name that has its place."""
    member = tarfile.TarInfo("run/manifest.json")
    member.type, member.linkname = kind, "/etc/passwd"
    with pytest.raises(DataError, match="has no place in a bundle"):
        verify_bundle(_archive(tmp_path / "x.tar.gz", member))


def test_what_unpacks_to_too_much_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    """By the size a member states, and by what the stream really gives (a header of zeros)."""
    member = tarfile.TarInfo("run/records.jsonl")
    member.size = 2_000_000
    with pytest.raises(DataError, match="may have"):
        verify_bundle(_archive(tmp_path / "x.tar.gz", member), max_bytes=1_000_000)
    header = tarfile.TarInfo("run/x")
    header.type, header.size = tarfile.XHDTYPE, 2**32
    (tmp_path / "y.tar.gz").write_bytes(gzip.compress(header.tobuf() + bytes(1_000_000)))
    with pytest.raises(DataError, match="unpacks to more than is allowed"):
        verify_bundle(tmp_path / "y.tar.gz")


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", gzip.compress(b"no tar"), gzip.compress(bytes(3000))[:20]],
    # gzip writes the time down: names made of the bytes would differ from one test process to the next.
    ids=["empty", "no gzip", "no tar", "cut"],
)
def test_what_is_no_bundle_is_told(content: bytes, tmp_path: Path) -> None:
    """Empty, text, gzip of text, cut short."""
    (tmp_path / "x.tar.gz").write_bytes(content)
    with pytest.raises(DataError):
        verify_bundle(tmp_path / "x.tar.gz")


def test_a_run_that_is_being_written_is_not_bundled(bench: Any, packed: Path) -> None:
    """Half a record would be evidence of nothing."""
    folder = RunFolder(bench.folder / "run")
    with Journal(folder, Scrubber()):
        code, _, err = bench("bundle", folder.path, "-o", "x.tar.gz")
    assert (code, "is being written" in err) == (2, True)


def test_usage_mistakes_are_told(bench: Any, packed: Path) -> None:
    """Neither or both of run and --verify, an archive that is there, a run without scores."""
    run = bench.folder / "run"
    for arguments in ((), (run, "--verify", packed)):
        assert bench("bundle", *arguments)[0] == 2
    assert "already there" in bench("bundle", run, "-o", packed)[2]
    (run / "scores.json").unlink()
    assert "score it first" in bench("bundle", run, "-o", "x.tar.gz")[2]


def test_pages_of_bfcl_have_their_place() -> None:
    """With the names of models and labels that they carry."""
    assert is_bundled("bfcl/rest.jsonl")
    assert is_bundled("bfcl/some model/vendor (eu).json")
    assert not is_bundled("bfcl")


def _priced(bench: Any, monkeypatch: pytest.MonkeyPatch, *, kept: bool) -> Path:
    """A bundle of a run of two real vendors by name, whose list price is 1 and 2 dollars; kept with the run or not."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(6)
    bench.run("--no-history")
    folder = RunFolder(bench.folder / "run")
    manifest = folder.read_manifest()
    for entry in manifest.raw["entries"]:
        entry |= {
            "url": "https://api.vendor.example/v1",
            "listed_price": {"input": 1.0, "output": 2.0, "source": "list"},
        }
        if not kept:
            del entry["listed_price"]
    folder.write_manifest(manifest)
    monkeypatch.setattr(prices, "listed_price", lambda *_: Price(1.0, 2.0, source="list"))
    assert bench("score", "run", "--no-history")[0] == 0
    assert bench("bundle", "run", "-o", "priced.tar.gz")[0] == 0
    return Path(bench.folder / "priced.tar.gz")


def test_a_newer_price_list_changes_nothing_of_a_run_that_kept_its_prices(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No list is asked at all, in another folder and without the config."""
    archive = _priced(bench, monkeypatch, kept=True)
    monkeypatch.setattr(prices, "listed_price", lambda *_: pytest.fail("a list was asked"))
    (bench.folder / "config.yaml").unlink()
    monkeypatch.chdir(archive.parent.parent)
    found = verify_bundle(archive)
    assert (found.vendors, found.notes) == (2, ())
    spent = _scores(archive)["models"]["simulated-model"]["judgement"]["money"]["official"]
    assert spent["total_usd"] > 0


def test_an_older_bundle_without_prices_verifies_and_says_what_differs(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Money is reckoned at today's list and told apart from everything else, which must still come out."""
    archive = _priced(bench, monkeypatch, kept=False)
    monkeypatch.setattr(prices, "listed_price", lambda *_: Price(3.0, 2.0, source="a newer list"))
    [note] = verify_bundle(archive).notes
    assert "figures of money differ: the run kept no list prices" in note
    code, out, _ = bench("bundle", "--verify", archive)
    assert code == 0
    assert "\nnote: " in out

    def worse(files: dict[str, bytes]) -> None:
        scores = json.loads(files["scores.json"])
        scores["models"]["simulated-model"]["vendors"]["twin"]["success_rate"] = 0.5
        manifest = json.loads(files["manifest.json"])
        manifest["packages"]["genai-prices"] = "0.0.1"
        files |= {"scores.json": json.dumps(scores).encode(), "manifest.json": json.dumps(manifest).encode()}

    with pytest.raises(DataError) as caught:
        verify_bundle(_rewritten(archive, worse))
    assert "success_rate is 0.5" in str(caught.value)
    assert "made with genai-prices 0.0.1, here is" in str(caught.value)
    assert "total_usd" not in str(caught.value)


def _scores(archive: Path) -> Any:
    with tarfile.open(archive) as source:
        member = next(each for each in source if each.name.endswith("/scores.json"))
        return json.loads(source.extractfile(member).read())  # type: ignore[union-attr]
