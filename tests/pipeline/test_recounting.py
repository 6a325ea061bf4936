"""Output tokens are held against a count of our own, kept with the run, and said to be unmeasurable where they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from vendor_verifier.errors import RunFolderError
from vendor_verifier.pipeline.audit import INSTALL, read_recount, recount, recount_troubles
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.store import RunFolder, encode_record
from vendor_verifier.values.event import ToolCall, Usage
from vendor_verifier.values.manifest import manifest_of
from vendor_verifier.values.record import Attempt, Record, Response, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

SAMPLES = [Sample(f"s{n}", Turn(({"role": "user", "content": f"{n}"},))) for n in range(12)]
ANSWER = "one two three four five six seven eight nine ten"


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """One token a word."""
    made = Tokenizer(models.WordLevel({"[UNK]": 0, "one": 1}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    made.save(str(path))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """Two vendors that say the same ten words: one bills ten tokens, the other twelve."""
    run = RunFolder(tmp_path / "run")
    run.create()
    run.write_samples("trigger", SAMPLES)
    entries = [
        {"model": "m", "label": label, "vendor": label, "model_id": "m", "is_baseline": label == "fair"}
        for label in ("fair", "fat")
    ]
    task = {"suite": "trigger", "options": {}, "file": "f", "sha256": "", "count": 12, "skipped": [], "defects": []}
    settings = {"repeat": 1, "seed": 0}
    manifest = {"run": "r", "status": "finished", "entries": entries, "tasks": [task], "settings": settings}
    run.write_manifest(manifest_of(manifest))
    lines = [encode_record(record(label, sample.id, tokens)) for label, tokens in (("fair", 10), ("fat", 12))
             for sample in SAMPLES]  # fmt: skip
    run.records_file.write_bytes(b"".join(line.rstrip() + b"\n" for line in lines))
    return run


def record(label: str, sample: str, output: int, **changes: Any) -> Record:
    told = {"text": ANSWER, "finish_reason": "stop", "usage": Usage(20, output), **changes}
    return Record("r", "m", label, label, "trigger", sample, 0, (TurnRecord((Attempt(1, None, Response(**told)),)),))


def test_a_fifth_too_many_tokens_are_found_and_the_honest_count_is_not(folder: RunFolder, tokenizer: Path) -> None:
    """12 ÷ 10 over twelve answers; scoring reads the stored counts and needs the tokenizer no more."""
    recount(folder, {"m": str(tokenizer)})
    tokenizer.unlink()
    found = [each for each in score_folder(folder).verdicts["m"].findings if each.name == "output_recount"]
    assert [each.label for each in found] == ["fat"]
    assert found[0].evidence == {"ratio": 1.2, "answers": 12, "counted_tokens": 120.0}
    assert read_recount(folder)["m"].tokenizer == "tokenizer.json"
    assert str(tokenizer.parent) not in (folder.path / "recount.json").read_text()


def test_calls_and_cut_answers_are_not_counted_and_hidden_reasoning_is_taken_off(
    folder: RunFolder, tokenizer: Path
) -> None:
    """How a template writes a call is not known; what was thought in secret cannot be counted."""
    told = [
        record("fair", "s0", 10, tool_calls=(ToolCall("f", "{}"),)),
        record("fair", "s1", 10, finish_reason="length"),
        record("fair", "s2", 110, usage=Usage(20, 110, reasoning=100)),
        record("fair", "s3", 13, reasoning="well well well", usage=Usage(20, 13, reasoning=3)),
        record("fair", "s4", 10, usage=None),
    ]
    folder.records_file.write_bytes(b"".join(encode_record(each).rstrip() + b"\n" for each in told))
    recount(folder, {"m": str(tokenizer.parent)})
    # The reasoning's last word runs into the text's first one.
    assert read_recount(folder)["m"].vendors == {"fair": {"s2": (10, 10), "s3": (13, 12)}}


@pytest.mark.parametrize(
    ("content", "hidden", "trouble"),
    [("{}", "tokenizers", INSTALL), ("not json", None, "expected"), ("{}", None, "")],
)
def test_what_cannot_be_counted_is_said_with_its_mending(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, hidden: str | None, trouble: str
) -> None:
    """Without the extra, and with a file that is no tokenizer: a warning of the report, no finding and no crash."""
    path = tmp_path / "broken.json"
    path.write_text(content)
    if hidden is not None:
        monkeypatch.setitem(sys.modules, hidden, None)
    recount(folder, {"m": str(path)})
    [said] = recount_troubles(read_recount(folder))
    assert said.startswith("m: output tokens cannot be measured against broken.json: ")
    assert trouble in said
    report = score_folder(folder)
    assert said in report.warnings
    assert "output_recount" not in {each.name for each in report.verdicts["m"].findings}


def test_texts_that_were_not_stored_are_not_counted(folder: RunFolder, tokenizer: Path) -> None:
    """Digests have other tokens than what they stand for."""
    recount(folder, {"m": str(tokenizer)}, redacted=True)
    assert read_recount(folder)["m"].trouble == "the run stored no texts"
    assert read_recount(folder)["m"].vendors == {}


def test_a_damaged_count_is_refused(folder: RunFolder) -> None:
    """It may be a stranger's."""
    (folder.path / "recount.json").write_text(json.dumps({"m": {"tokenizer": 5}}))
    with pytest.raises(RunFolderError, match=r"recount\.json cannot be read"):
        score_folder(folder)


def test_a_model_names_its_tokenizer_in_the_config(bench: Any, tokenizer: Path) -> None:
    """Beside `vendors:`, as a path from the config's folder; what leads nowhere is named by line and key."""
    path = bench.configure("official: faithful", "twin: faithful")
    text = path.read_text(encoding="utf-8")
    bench.samples(4)
    path.write_text(text.replace(":\n", f":\n  tokenizer: {tokenizer.name}\n", 1), encoding="utf-8")
    assert bench.run()[0] == 0
    assert read_recount(RunFolder(bench.folder / "run"))["simulated-model"].trouble is None
    path.write_text(text.replace(":\n", ":\n  tokenizer: nowhere.json\n", 1), encoding="utf-8")
    code, _, err = bench("--test-file-path", "samples.jsonl", "-o", "other")
    assert code == 2
    assert "config.yaml:2: simulated-model.tokenizer: read `nowhere.json`; expected a tokenizer.json" in err
