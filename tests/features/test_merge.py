"""Runs that asked the same become one run: nothing is lost, nothing counts twice, and what differs is said."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from vendor_verifier.config.suite_options import known_suite
from vendor_verifier.errors import ProblemsError, RunFolderError
from vendor_verifier.features.bfcl.executables import read_rest_answers
from vendor_verifier.features.merge import merge_runs
from vendor_verifier.pipeline.suites import hooks_of
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.record_writer import RecordForm
from vendor_verifier.store import RunFolder
from vendor_verifier.values.event import ToolCall, Usage
from vendor_verifier.values.manifest import manifest_of
from vendor_verifier.values.record import Attempt, Record, Response, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

SAMPLES = [Sample(f"s{number}", Turn(({"role": "user", "content": f"{number}?"},))) for number in range(3)]
PLAIN = RecordForm()


def made(path: Path, name: str, repeats: dict[str, int], **other: Any) -> RunFolder:
    """A run that asked vendors everything so often; ``other`` keys of its manifest."""
    folder = RunFolder(path / name)
    folder.create()
    folder.write_samples("trigger", other.pop("samples", SAMPLES))
    entries = [
        {"model": "m", "label": label, "vendor": "v", "model_id": "m", "repeat": repeat, "is_baseline": label == "a"}
        for label, repeat in repeats.items()
    ]
    task = {"suite": "trigger", "options": {}, "count": len(SAMPLES), "skipped": [], "defects": []}
    raw = {"run": name, "created_at": name, "entries": entries, "tasks": [task], "settings": {"repeat": 1}}
    folder.write_manifest(manifest_of(raw | {"status": "finished"} | other))
    with Journal(folder, Scrubber()) as journal:
        journal.append(
            [
                Record(name, "m", label, "v", "trigger", sample.id, repetition, block=block)
                for label, repeat in repeats.items()
                for repetition in range(repeat)
                for block, sample in enumerate(SAMPLES)
            ]
        )
    return folder


def read(folder: RunFolder) -> list[Record]:
    return list(folder.read_records(lambda line, reason: pytest.fail(f"{line}: {reason}")))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    runs=st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), min_size=1), min_size=2, max_size=4),
    form=st.builds(RecordForm, st.booleans(), st.none() | st.integers(1, 2000)),
    order=st.randoms(use_true_random=False),
)
def test_every_record_stands_once_in_a_place_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, runs: list[dict[str, int]], form: RecordForm, order: Any
) -> None:
    """Whatever vendors each run asked how often, and in whichever order they are named: all records are there, as they
    were but for repetition and block; no two have one place; no block is of two runs; each is in what was planned."""
    path = tmp_path_factory.mktemp("merge")
    folders = [made(path, f"run-{number}", repeats) for number, repeats in enumerate(runs)]
    target = RunFolder(path / "all")
    named = list(folders)
    order.shuffle(named)
    merge_runs(named, target, form)
    found = read(target)
    whole = [record for folder in folders for record in read(folder)]
    assert [structs.replace(record, repetition=0, block=0) for record in found] == [
        structs.replace(record, repetition=0, block=0) for record in whole
    ]
    places = [(record.label, record.sample, record.repetition) for record in found]
    assert len(set(places)) == len(places)
    blocks: dict[Any, set[str]] = {}
    for record in found:
        blocks.setdefault(record.block, set()).add(record.run)
    assert all(len(of) == 1 for of in blocks.values())
    manifest = target.read_manifest()
    planned = {entry.label: entry.repeat for entry in manifest.entries}
    assert planned == dict(sum((Counter(repeats) for repeats in runs), Counter()))
    assert {(label, number) for label, _, number in places} == {
        (label, number) for label, repeat in planned.items() for number in range(repeat or 0)
    }


def test_manifests_and_hashes_of_the_runs_are_kept(tmp_path: Path) -> None:
    """What was merged can be held against the runs it was made of."""
    one, two = made(tmp_path, "1", {"a": 1}), made(tmp_path, "2", {"a": 2})
    target = RunFolder(tmp_path / "both")
    merge_runs([two, one], target, PLAIN)
    for number, (folder, kept) in enumerate(zip((one, two), target.read_manifest().raw["merged"], strict=True), 1):
        assert (target.path / f"merged/{number:04d}.json").read_bytes() == folder.manifest_file.read_bytes()
        assert kept["sha256"] == {"records.jsonl": hashlib.sha256(folder.records_file.read_bytes()).hexdigest()}
        assert (kept["run"], kept["records"]) == (folder.read_manifest().run, len(read(folder)))


def test_what_must_be_equal_is_said_with_both_values(tmp_path: Path) -> None:
    """All differences at once, and nothing is written."""
    one = made(tmp_path, "1", {"a": 1})
    task = {"suite": "trigger", "options": {"mode": "strict"}, "count": 2, "skipped": [], "defects": []}
    two = made(
        tmp_path, "2", {"a": 1}, samples=SAMPLES[:2], redacted=True, tasks=[task], score={"undecided": "exclude"}
    )
    raw = two.read_manifest().raw
    two.write_manifest(manifest_of({**raw, "entries": [{**raw["entries"][0], "model_id": "other"}]}))
    with pytest.raises(ProblemsError) as caught:
        merge_runs([one, two], RunFolder(tmp_path / "both"), PLAIN)
    words = str(caught.value)
    for said in (
        f"model_id of m: a: {one.path} has 'm', {two.path} has 'other'",
        f"redacted texts: {one.path} has False, {two.path} has True",
        f"samples of trigger: {one.path} has '3 samples (",
        f"options of trigger: {one.path} has {{}}, {two.path} has {{'mode': 'strict'}}",
        f"undecided (score): {one.path} has 'missed', {two.path} has 'exclude'",
    ):
        assert said in words
    assert not (tmp_path / "both").exists()


def test_two_baselines_are_told(tmp_path: Path) -> None:
    """A model's vendors are compared with one baseline."""
    one, two = made(tmp_path, "1", {"a": 1}), made(tmp_path, "2", {"b": 1})
    raw = two.read_manifest().raw
    two.write_manifest(manifest_of({**raw, "entries": [{**raw["entries"][0], "is_baseline": True}]}))
    with pytest.raises(ProblemsError, match=r"baseline of m: .* has 'a', .* has 'b'"):
        merge_runs([one, two], RunFolder(tmp_path / "both"), PLAIN)


def test_no_record_counts_twice(tmp_path: Path) -> None:
    """A run beside itself, beside its copy, or beside a run that holds it, is refused."""
    one, two = made(tmp_path, "1", {"a": 1}), made(tmp_path, "2", {"a": 1})
    both = RunFolder(tmp_path / "both")
    merge_runs([one, two], both, PLAIN)
    with pytest.raises(ProblemsError, match="a run is named twice"):
        merge_runs([one, one], RunFolder(tmp_path / "x"), PLAIN)
    with pytest.raises(ProblemsError, match="run 1 is named or contained twice"):
        merge_runs([one, both], RunFolder(tmp_path / "x"), PLAIN)
    with pytest.raises(ProblemsError, match="name two runs or more"):
        merge_runs([one], RunFolder(tmp_path / "x"), PLAIN)
    three = made(tmp_path, "3", {"a": 1})
    merge_runs([both, three], RunFolder(tmp_path / "all"), PLAIN)
    assert len(read(RunFolder(tmp_path / "all"))) == 9


def test_what_cannot_be_merged_is_refused_whole(tmp_path: Path) -> None:
    """A repetition nobody planned, a target in use: no run is left behind."""
    one = made(tmp_path, "1", {"a": 1})
    forged = made(tmp_path, "3", {"a": 2})
    raw = forged.read_manifest().raw
    forged.write_manifest(manifest_of({**raw, "entries": [{**raw["entries"][0], "repeat": 1}]}))
    with pytest.raises(RunFolderError, match=r"repetition 1 of m: a is not in its manifest \(1 planned\)"):
        merge_runs([one, forged], RunFolder(tmp_path / "x"), PLAIN)
    assert not RunFolder(tmp_path / "x").manifest_file.exists()
    with pytest.raises(RunFolderError, match="already holds a run or a part of one"):
        merge_runs([one, made(tmp_path, "4", {"a": 1})], RunFolder(tmp_path / "x"), PLAIN)
    with Journal(one, Scrubber()), pytest.raises(RunFolderError, match="is being written"):
        merge_runs([one, made(tmp_path, "5", {"a": 1})], RunFolder(tmp_path / "y"), PLAIN)


def _answered(record: Record, words: int) -> Record:
    """The record with an answer of so many words; its first repetition's first sample is answered by a call."""
    calls = (ToolCall("f", "{}"),) if (record.sample, record.repetition) == ("s0", 0) else ()
    answer = Response(text="w " * words, tool_calls=calls, finish_reason="stop", usage=Usage(9, words))
    return structs.replace(record, turns=(TurnRecord((Attempt(1, None, answer),)),))


def test_runs_of_a_day_are_scored_as_one(bench: Any) -> None:
    """Three runs by the command: every figure rests on all of their records, and the other commands read the result."""
    bench.configure("official: faithful", "bad: quantised")
    bench.samples(6)
    for number in range(3):
        bench.run("--no-history", "--seed", number, *(("--compress",) if number else ()), output=f"run-{number}")
    runs = [bench.folder / f"run-{number}" for number in range(3)]
    target = bench.folder / "day"
    code, out, err = bench("merge", *runs, "--output", target, "--compress")
    assert code == 0, err
    assert "official" in out
    scores = json.loads((target / "scores.json").read_text())
    counts = {label: found["counts"] for label, found in scores["models"]["simulated-model"]["vendors"].items()}
    assert {label: (each["planned"], each["recorded"]) for label, each in counts.items()} == {
        "official": (36, 36),  # the baseline of a run is asked twice
        "bad": (18, 18),
    }
    for words in (("score", target), ("report", target), ("explain", target, "--vendor", "bad")):
        assert bench(*words, *(("--no-history",) if words[0] == "score" else ()))[0] == 0, words
    assert bench("bundle", target, "-o", bench.folder / "day.tar.gz")[0] == 0
    assert bench("bundle", "--verify", bench.folder / "day.tar.gz")[0] == 0


def timed(path: Path, name: str, begun: dict[str, int], finished: str = "", **load: Any) -> RunFolder:
    """A run of a stated time that asked vendors so many questions, repetition after repetition."""
    repeats = {label: -(-count // len(SAMPLES)) for label, count in begun.items()}
    shape = {"request_rate": 3.0, "arrival": "constant", "duration_s": 5.0, **load}
    folder = made(path, name, repeats, settings={"repeat": 1, "load": shape}, finished_at=finished or f"{name}~")
    raw = folder.read_manifest().raw
    entries = [{**entry, "begun": begun[entry["label"]]} for entry in raw["entries"]]
    offered = {
        f"m: {label}": {
            "begun": count, "repetitions": repeats[label], "most_under_way": count, "cap": 9, "held_back": 1,
            "warmup": 2, "warmup_failed": 0, "lag_p50_ms": None, "lag_p99_ms": float(count), "by_schedule": False,
        }
        for label, count in begun.items()
    }  # fmt: skip
    folder.write_manifest(manifest_of({**raw, "entries": entries, "load": offered}))
    whole = read(folder)
    asked = [[record for record in whole if record.label == label][:count] for label, count in begun.items()]
    folder.records_file.unlink()
    with Journal(folder, Scrubber()) as journal:
        journal.append([record for records in asked for record in records])
    return folder


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(1, 10), min_size=1), min_size=2, max_size=4))
def test_of_runs_by_time_whole_repetitions_stand_first(
    tmp_path_factory: pytest.TempPathFactory, runs: list[dict[str, int]]
) -> None:
    """Whatever part of a repetition ended each run: every record has a place of its own, what is said to be whole is,
    and there is no other whole one; merged in two steps it is the same."""
    path = tmp_path_factory.mktemp("merge")
    folders = [timed(path, f"run-{number}", begun) for number, begun in enumerate(runs)]
    merge_runs(folders, RunFolder(path / "all"), PLAIN)
    first, *others = folders
    step = first
    for number, other in enumerate(others):
        merge_runs([step, other], RunFolder(path / f"step-{number}"), PLAIN)
        step = RunFolder(path / f"step-{number}")
    for target in (RunFolder(path / "all"), step):
        found, manifest = read(target), target.read_manifest()
        assert len({record.key[1:] for record in found}) == len(found) == sum(map(sum, map(dict.values, runs)))
        for entry in manifest.entries:
            sizes = Counter(record.repetition for record in found if record.label == entry.label)
            assert entry.begun == sizes.total() == sum(begun.get(entry.label, 0) for begun in runs)
            assert entry.whole == sum(begun.get(entry.label, 0) // len(SAMPLES) for begun in runs)
            assert [sizes[number] == len(SAMPLES) for number in range(entry.repeat or 0)] == [
                number < entry.whole for number in range(entry.repeat or 0)
            ]


def test_loads_of_runs_that_follow_each_other_are_added_up(tmp_path: Path) -> None:
    """Counts are sums, of lateness and of the most in flight the worst stands; each run's own is kept beside."""
    one, two = timed(tmp_path, "1", {"a": 4}), timed(tmp_path, "2", {"a": 7})
    target = RunFolder(tmp_path / "both")
    merge_runs([one, two], target, PLAIN)
    manifest = target.read_manifest()
    assert manifest.load is not None
    load = manifest.load["m: a"]
    assert (load.begun, load.held_back, load.warmup, load.cap) == (11, 2, 4, 9)
    assert (load.most_under_way, load.lag_p50_ms, load.lag_p99_ms) == (7, None, 7.0)
    assert [kept["load"]["m: a"]["begun"] for kept in manifest.raw["merged"]] == [4, 7]
    assert any("holds for each run by itself" in warning for warning in manifest.warnings)


def test_other_loads_and_loads_at_the_same_time_are_no_one_load(tmp_path: Path) -> None:
    """Both are said, and nothing is written."""
    one, other = timed(tmp_path, "1", {"a": 4}), timed(tmp_path, "2", {"a": 4}, request_rate=4.0)
    with pytest.raises(ProblemsError, match=r"load: .*3 requests a second.*4 requests a second"):
        merge_runs([one, other], RunFolder(tmp_path / "x"), PLAIN)
    with pytest.raises(ProblemsError, match=r"load: .*3 requests a second"):
        merge_runs([one, made(tmp_path, "3", {"a": 1})], RunFolder(tmp_path / "x"), PLAIN)
    beside = timed(tmp_path, "0", {"a": 4}, finished="1 and a half")
    with pytest.raises(ProblemsError, match="were sent at the same time"):
        merge_runs([one, beside], RunFolder(tmp_path / "x"), PLAIN)
    assert not (tmp_path / "x").exists()


def test_answers_of_live_services_are_joined(tmp_path: Path) -> None:
    """They go by what was called and not by run: the first answer counts, but not the first failure."""
    rows = [
        {"call": "x", "status": 200, "shape": "monday", "error": None},
        {"call": "y", "status": None, "shape": None, "error": "connect_refused"},
    ]
    later = [
        {"call": "x", "status": 200, "shape": "tuesday", "error": None},
        {"call": "y", "status": 200, "shape": "tuesday", "error": None},
        {"call": "z", "status": 404, "shape": None, "error": None},
    ]
    folders = []
    for name, found in (("1", rows), ("2", later)):
        folder = RunFolder(tmp_path / name)
        folder.create_inside("bfcl")
        folder.write("bfcl/rest.jsonl", "".join(json.dumps(row) + "\n" for row in found))
        folders.append(folder)
    target = RunFolder(tmp_path / "both")
    target.create()
    hooks_of(known_suite("bfcl")).merge(folders, target)
    assert {call: (answer.status, answer.shape) for call, answer in read_rest_answers(target).items()} == {
        "x": (200, "monday"),
        "y": (200, "tuesday"),
        "z": (404, None),
    }


def test_runs_of_a_day_under_one_load_are_scored_as_one(bench: Any) -> None:
    """Latencies and success rest on all that was begun; no rate is made up from runs with a pause between them."""
    bench.configure("official: faithful", "bad: quantised")
    bench.samples(6)
    words = ("--no-history", "--request-rate", "20", "--duration", "1", "--slo", "e2e_ms <= 60000")
    for number in range(2):
        bench.run(*words, "--seed", number, output=f"run-{number}")
    runs = [bench.folder / f"run-{number}" for number in range(2)]
    target = bench.folder / "day"
    code, out, err = bench("merge", *runs, "--output", target)
    assert code == 0, err
    assert "holds for each run by itself" in out
    vendors = json.loads((target / "scores.json").read_text())["models"]["simulated-model"]["vendors"]
    begun = [json.loads((run / "manifest.json").read_text())["entries"] for run in runs]
    for label, found in vendors.items():
        asked = sum(entry["begun"] for entries in begun for entry in entries if entry["label"] == label)
        assert found["counts"]["recorded"] == asked
        assert found["goodput"]["asked"] + found["goodput"]["stalled"] == asked
        assert (found["pace"], found["goodput"]["per_s"]) == (None, None)
