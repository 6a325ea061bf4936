"""What a run leaves on disk comes back as it was, and what cannot be read is said, line by line."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from changing import replace
from hypothesis import given
from hypothesis import strategies as st
from manifests import LEAST, some_manifest

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.manifest import manifest_of
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source, content_digest, numbered
from vendor_verifier.records.score import Score
from vendor_verifier.store import RunFolder, UnreadableLine, decode_record, encode_record

COUNT = st.integers(0, 2**53)
MAYBE_COUNT = st.none() | COUNT
NUMBER = st.floats(0, 2**53)
WORD = st.text(max_size=20)
MAYBE_WORD = st.none() | WORD
TIMINGS = st.builds(
    Timing,
    sent_at=WORD,
    end_ns=COUNT,
    scheduled_ns=MAYBE_COUNT,
    connect_ns=MAYBE_COUNT,
    headers_ns=MAYBE_COUNT,
    first_event_ns=MAYBE_COUNT,
    first_token_ns=MAYBE_COUNT,
    first_answer_ns=MAYBE_COUNT,
    last_token_ns=MAYBE_COUNT,
    gaps_ns=st.lists(COUNT, max_size=3).map(tuple),
    first_chunk_share=st.none() | NUMBER,
)
CALLS = st.builds(ToolCall, name=WORD, arguments=WORD, id=MAYBE_WORD, anomalies=st.lists(WORD, max_size=2).map(tuple))
RESPONSES = st.builds(
    Response,
    text=WORD,
    reasoning=WORD,
    tool_calls=st.lists(CALLS, max_size=2).map(tuple),
    finish_reason=st.sampled_from([None, "stop", "tool_calls", "unknown"]),
    finish_raw=MAYBE_WORD,
    usage=st.none() | st.builds(Usage, input=MAYBE_COUNT, output=MAYBE_COUNT, cost_usd=st.none() | NUMBER),
    served_model=MAYBE_WORD,
    streamed=st.booleans(),
    anomalies=st.lists(WORD, max_size=2).map(tuple),
)
FAILURES = st.builds(
    Failure,
    kind=st.sampled_from(["dns", "truncated", "skipped"]),
    phase=st.sampled_from(["plan", "dns", "stream"]),
    message=WORD,
    status=MAYBE_COUNT,
    code=MAYBE_WORD,
    retry_after_s=st.none() | NUMBER,
)
ATTEMPTS = st.builds(
    Attempt,
    number=COUNT,
    timing=st.none() | TIMINGS,
    response=st.none() | RESPONSES,
    failure=st.none() | FAILURES,
)
TURNS = st.builds(TurnRecord, attempts=st.lists(ATTEMPTS, max_size=3).map(tuple))
RECORDS = st.builds(
    Record,
    run=WORD,
    model=WORD,
    label=WORD,
    vendor=WORD,
    suite=WORD,
    sample=WORD,
    repetition=COUNT,
    turns=st.lists(TURNS, max_size=2).map(tuple),
)

# A line as version 1 has written it; it must be readable for as long as the product lives.
VERSION_1 = (
    b'{"run":"r","model":"m","label":"l","vendor":"v","suite":"trigger","sample":"0123456789abcdef-1","repetition":0,'
    b'"turns":[{"attempts":[{"number":1,"timing":{"sent_at":"2026-01-01T00:00:00.000+00:00","end_ns":9,"scheduled_ns":'
    b'-1,"connect_ns":null,"headers_ns":2,"first_event_ns":3,"first_token_ns":3,"first_answer_ns":3,"last_token_ns":8,'
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


@given(record=RECORDS)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    """Writing and reading lose nothing, and a record is one line."""
    line = encode_record(record)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode_record(line) == record


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


def test_the_first_version_stays_readable() -> None:
    """A line written long ago is read, with everything in it."""
    record = decode_record(VERSION_1)
    assert record.succeeded
    assert record.final is not None
    assert record.final.response is not None
    assert record.final.response.tool_calls == (ToolCall("f", "{}", "c"),)
    assert decode_record(encode_record(record)) == record


def test_what_was_sent_again_is_stored_and_old_lines_say() -> None:
    """``resent`` comes back as it was written; a line from before it was known holds no attempt that was resent."""
    old = decode_record(VERSION_1)
    assert b"resent" not in VERSION_1
    assert (old.resent, [attempt.resent for attempt in old.turns[0].attempts]) == (
        0,
        [False] * len(old.turns[0].attempts),
    )
    again = replace(old, turns=(replace(old.turns[0], attempts=(replace(old.turns[0].attempts[0], resent=True),)),))
    read = decode_record(encode_record(again))
    assert (read.resent, read) == (1, again)


def test_a_key_added_later_does_no_harm() -> None:
    """A newer minor writer may have added a field; what is known of the line is read."""
    assert decode_record(VERSION_1.replace(b'"run":', b'"added":[1],"run":')) == decode_record(VERSION_1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (VERSION_1.replace(b'"schema":1', b'"schema":99'), "record schema 99 is newer"),
        (VERSION_1.replace(b'"schema":1', b'"schema":0'), "record schema 0 is unknown"),
        (VERSION_1.replace(b',"schema":1', b""), "schema"),
        (VERSION_1.replace(b'"repetition":0', b'"repetition":"first"'), "repetition"),
        (VERSION_1[:200], "truncated"),
        (b"\n", "truncated"),
        (b"[]\n", "Expected `object`"),
        (b"\xff\xfe\n", "JSON is malformed"),
        (VERSION_1.replace(b'"m"', b'"\xff"'), "utf-8"),
    ],
)
def test_unreadable_lines_say_why(line: bytes, words: str) -> None:
    """Whatever a line holds, it is a record or a reason."""
    with pytest.raises(UnreadableLine, match=words):
        decode_record(line)


def test_the_version_of_a_line_is_its_own_and_no_text_s() -> None:
    """A newer line is refused as newer, though a vendor's text or a value inside it speaks of today's version."""
    text = Response(text='{"schema":1,"run":"r"}')
    newer = Record("r", "m", "l", "v", "trigger", "s", 0, (TurnRecord((Attempt(1, response=text),)),), schema=2)
    details = Score("trigger", details={"schema": 1, "why": ""})
    for record in (newer, replace(newer, score=details)):
        with pytest.raises(UnreadableLine, match=r"record schema 2 is newer than this program's 1"):
            decode_record(encode_record(record))
        assert decode_record(encode_record(replace(record, schema=1))) == replace(record, schema=1)


def test_bad_lines_are_told_by_number_and_the_others_read(folder: RunFolder) -> None:
    """A newer or broken line in the middle costs itself alone."""
    newer = VERSION_1.replace(b'"schema":1', b'"schema":2')
    folder.records_file.write_bytes(VERSION_1 + b"oops\n" + newer + VERSION_1)
    told: list[tuple[str, str]] = []
    assert len(list(folder.read_records(lambda line, reason: told.append((line, reason))))) == 2
    assert [line for line, _ in told] == ["records.jsonl:2", "records.jsonl:3"]
    assert "newer" in told[1][1]


def test_no_records_yet(folder: RunFolder) -> None:
    """A run that wrote nothing has no records; that is no error."""
    assert list(folder.read_records(lambda *_: pytest.fail("no line to tell of"))) == []


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
    """What was written about the run is read again."""
    written = {**LEAST, "words": "é \u2028"}
    folder.write_manifest(manifest_of(written))
    assert folder.read_manifest().raw == written
    assert json.loads(folder.manifest_file.read_text(encoding="utf-8")) == written


@pytest.mark.parametrize("missing", ["run", "entries", "tasks", "settings"])
def test_what_no_run_can_do_without_is_missed_by_file_and_key(folder: RunFolder, missing: str) -> None:
    """A manifest without it is refused when it is read, in one sentence."""
    folder.manifest_file.write_text(json.dumps({key: value for key, value in LEAST.items() if key != missing}))
    with pytest.raises(RunFolderError, match=rf"manifest\.json is damaged.*missing required field `{missing}`"):
        folder.read_manifest()


def test_a_manifest_of_a_later_schema_is_refused(folder: RunFolder) -> None:
    """What a later version means by it is not guessed."""
    folder.manifest_file.write_text(json.dumps({**LEAST, "schema": 2}))
    with pytest.raises(RunFolderError, match=r"manifest\.json is of schema 2, newer than this program's 1"):
        folder.read_manifest()


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "not a run folder"), ("{", "cannot be read"), ("[]", "not a JSON object"), ("\ud800", "cannot be read")],
)
def test_a_broken_manifest_is_an_error_of_the_folder(folder: RunFolder, content: str | None, words: str) -> None:
    """Without a manifest there is no run, and the message says what is wrong with it."""
    if content is not None:
        folder.manifest_file.write_bytes(content.encode(errors="surrogatepass"))
    with pytest.raises(RunFolderError, match=words):
        folder.read_manifest()


def test_a_manifest_cannot_say_nan(folder: RunFolder) -> None:
    """A number that is no JSON is a bug of ours and is not written."""
    with pytest.raises(ValueError, match="JSON"):
        folder.write_manifest(some_manifest(x=float("nan")))


# --- files


def test_folder_and_files_are_the_owners_alone(folder: RunFolder) -> None:
    """0700 and 0600, whatever the umask."""
    umask = os.umask(0)
    try:
        made = RunFolder(folder.path / "inner")
        made.create()
        written = [made.write("a.txt", "x")]
        made.write_samples("trigger", [])
        written.append(made.samples_file("trigger"))
    finally:
        os.umask(umask)
    assert {stat.S_IMODE(path.stat().st_mode) for path in written} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (made.path, written[1].parent)} == {0o700}


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
    """When the disk refuses, the old content stands and no draft is left."""
    folder.write("a.txt", "old")

    def refuse(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(StorageError, match="No space left"):
        folder.write("a.txt", "new")
    assert (folder.path / "a.txt").read_text() == "old"
    assert [path.name for path in folder.path.iterdir()] == ["a.txt"]


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    """It is refused, and stays."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(RunFolderError, match="taken is a file"):
        RunFolder(tmp_path / "taken").create()
