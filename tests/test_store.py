"""What a run leaves on disk comes back as it was, and what cannot be read is reported, line by line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_values import some_manifest

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.records.record import Attempt, Failure, Record, ToolCall, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source, content_digest, numbered
from vendor_verifier.store import RunFolder, UnreadableLine, decode_record, encode_record

NUMBER = st.floats(0, 2**53)
WORD = st.text(max_size=20)

# A line as version 1 has written it; it must be readable for as long as the product lives.
VERSION_1 = (
    b'{"run":"r","model":"m","label":"l","vendor":"v","suite":"trigger","sample":"0123456789abcdef-1","repetition":0,'
    b'"turns":[{"attempts":[{"number":1,"timing":{"sent_at":"2026-01-01T00:00:00.000+00:00","end_ns":9,"scheduled_ns":'
    b'-1,"connect_ns":null,"headers_ns":2,"first_token_ns":3,"first_answer_ns":3,"last_token_ns":8,'
    b'"gaps_ns":[5],"first_chunk_share":0.5},"response":{"text":"","reasoning":"","tool_calls":[{"name":"f","arguments"'
    b':"{}","id":"c","anomalies":[]}],"finish_reason":"tool_calls","finish_raw":"tool_calls","usage":{"input":1,"output"'
    b':2,"cached":null,"reasoning":null,"cost_usd":null},"served_model":"m","served_provider":null,'
    b'"native_finish_reason":null,"fingerprint":null,"request_id":"q","streamed":true,"anomalies":[]},"failure":null}]}]'
    b',"schema":1}\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "deep" / "run")
    made.create()
    return made


# --- records


def test_a_record_comes_back_as_it_was() -> None:
    """A line written long ago is read, with everything in it, and written again in one line."""
    record = decode_record(VERSION_1)
    assert record.final is not None
    assert record.final.response is not None
    assert record.final.response.tool_calls == (ToolCall("f", "{}", "c"),)
    line = encode_record(record)
    assert (line.count(b"\n"), decode_record(line)) == (1, record)


@given(text=st.text(st.characters(), max_size=20) | st.just("\ud800") | st.just("a\udfff\ud83d\ude00"))
def test_no_text_breaks_the_writer(text: str) -> None:
    """Half a surrogate pair, which UTF-8 cannot write, costs itself and nothing else."""
    message = Failure("dns", "dns", text)
    record = Record("r", text, "l", "v", "s", "x", 0, (TurnRecord((Attempt(1, failure=message),)),))
    read = decode_record(encode_record(record))
    assert read.final is not None
    assert read.final.failure is not None
    for written in (read.model, read.final.failure.message):
        assert written == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (VERSION_1.replace(b'"schema":1', b'"schema":99'), "record schema 99 is not"),
        (VERSION_1.replace(b'"repetition":0', b'"repetition":"first"'), "repetition"),
        (VERSION_1[:200], "truncated"),
        (b"\n", "truncated"),
        (b"[]\n", "Expected `object`"),
        (b"\xff\xfe\n", "JSON is malformed"),
        (VERSION_1.replace(b'"m"', b'"\xff"'), "utf-8"),
    ],
)
def test_unreadable_lines_say_why(line: bytes, words: str) -> None:
    with pytest.raises(UnreadableLine, match=words):
        decode_record(line)


# --- samples and manifest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBER | st.text(st.characters(), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORD, inner, max_size=3),
    max_leaves=8,
)


@given(content=JSON | st.just("half a pair: \ud83d"), schema=st.dictionaries(WORD, JSON, max_size=3))
def test_samples_come_back_as_they_were_sent(
    tmp_path_factory: pytest.TempPathFactory, content: object, schema: dict[str, object]
) -> None:
    """Every sample keeps its content to the last character, lone surrogates included, and so its identity."""
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    turn = Turn(({"role": "user", "content": content},), ({"function": schema},), {"tool_choice": "auto"})
    sample = Sample(numbered(content_digest(turn), 1), turn, {"call": True}, {"tag": "x"}, Source("data", 3))
    folder.write_samples("trigger", [sample, sample])
    (read, again) = folder.read_samples("trigger")
    assert read == again
    assert json.dumps(read.turn.messages) == json.dumps(sample.turn.messages)
    assert content_digest(read.turn) == content_digest(turn)
    assert (read.id, read.expected, read.tags, read.source) == (sample.id, sample.expected, sample.tags, sample.source)


@pytest.mark.parametrize("content", [None, b"oops\n", b'{"id": 1}\n', b"\xff\n"])
def test_unreadable_samples_are_an_error_of_the_folder(folder: RunFolder, content: bytes | None) -> None:
    """A run without its samples cannot be scored, and says which file is missing or broken."""
    folder.write_samples("trigger", [])
    path = folder.samples_file("trigger")
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(RunFolderError, match=r"trigger\.jsonl cannot be read"):
        folder.read_samples("trigger")


def test_the_manifest_comes_back(folder: RunFolder) -> None:
    written = some_manifest(warnings=["é \u2028"])
    folder.write_manifest(written)
    assert folder.read_manifest() == written
    assert json.loads(folder.manifest_file.read_text(encoding="utf-8"))["warnings"] == ["é \u2028"]


# --- files


@pytest.mark.parametrize("name", ["../up.txt", "a/../../up.txt", "/up.txt", "link/x.txt"])
def test_nothing_is_written_outside_the_folder(folder: RunFolder, name: str) -> None:
    """Neither a name with dots or a root nor a link in place of a folder leads out of the run's folder."""
    outside = folder.path / "outside"
    outside.mkdir()
    inner = RunFolder(folder.path / "inner")
    inner.create()
    (inner.path / "link").symlink_to(outside)
    before = sorted(folder.path.rglob("*"))
    with pytest.raises(StorageError, match="leads out of"):
        inner.write(name, "x")
    with pytest.raises(StorageError, match="leads out of"):
        inner.create_inside(name)
    assert sorted(folder.path.rglob("*")) == before


def test_a_link_under_a_draft_s_name_is_not_written_through(folder: RunFolder) -> None:
    """Names of drafts can be guessed: what a link laid there points to stays as it is."""
    victim = folder.path / "mine.txt"
    victim.write_text("mine")
    (folder.path / f".a.txt.{os.getpid()}.draft").symlink_to(victim)
    with pytest.raises(StorageError, match=r"a\.txt"):
        folder.write("a.txt", "x")
    assert victim.read_text() == "mine"


def test_a_file_is_replaced_whole_or_not_at_all(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk refuses, the old content stays and no draft is left."""
    folder.write("a.txt", "old")

    def refuse(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match="No space left"):
        folder.write("a.txt", "new")
    assert (folder.path / "a.txt").read_text() == "old"
    assert [path.name for path in folder.path.iterdir()] == ["a.txt"]
