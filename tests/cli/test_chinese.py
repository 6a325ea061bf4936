"""Every command with ``--lang zh``: nothing that people read is left in English."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from benches import Bench

from vendor_verifier.cli.main import COMMANDS
from vendor_verifier.features.history import scheduled_check
from vendor_verifier.reports.escape import plain
from vendor_verifier.store import RunFolder
from vendor_verifier.words import entries

# These print names, code or a line on what they wrote; whoever types them reads English anyway.
# view serves until it is ended: what its page says is tested with it.
WITHOUT_LANGUAGE = {
    "bundle",
    "completion",
    "convert",
    "export",
    "init",
    "models",
    "open",
    "simulate",
    "vendors",
    "view",
}
ZH = ("--lang", "zh")
# What is no prose: code in back quotes and markup of a page, commands and JSON, flags, paths, addresses, names with an
# underscore, dot or digit, names in capitals (TTFT, IRF), and what a vendor's tokens said to the doctor.
_CODE = re.compile(
    r"`[^`\n]*`|<(style|script)\b[\s\S]*?</\1>|<[^>]*>|^curl .*|\{.*\}|--[\w-]+(?: [A-Z]+\b)?|\S*[/@_=.:\d]\S*\w"
    r"|\b[A-Z][A-Z0-9]+s?\b|词元：.*$",
    re.MULTILINE,
)
_PROSE = re.compile(r"[A-Za-z][A-Za-z'-]*(?:,? [A-Za-z][A-Za-z'-]*){3,}")


def left_in_english(text: str, data: Collection[str]) -> list[str]:
    """Runs of four English words and more outside of code and of ``data``, which vendors and samples said."""
    for strange in sorted(data, key=len, reverse=True):
        text = text.replace(strange, " § ")
    return _PROSE.findall(_CODE.sub(" § ", text))


@pytest.fixture
def world(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Two runs of vendors that do well, badly, or break off, and a history that holds them."""
    monkeypatch.setenv("XDG_DATA_HOME", str(bench.folder / "data"))
    monkeypatch.setenv("HOOK", "http://127.0.0.1:9/hook")
    bench.configure("good: faithful", "bad: quantised", "cut: cutter", extra="gates: ['f1 >= 0.9']\n")
    bench.samples(6)
    entry = (
        (bench.folder / "config.yaml")
        .read_text()
        .replace("      is_base", "      api_key: sk-0123456789abc\n      is_base")
    )
    (bench.folder / "old.yaml").write_text(entry)
    (bench.folder / "job.json").write_text(json.dumps({"type": "bfcl", "tasks": {"t": {"type": "simple"}}}))
    message = {"role": "assistant", "content": "hello"}
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    asked = {"model": "m", **json.loads((bench.folder / "samples.jsonl").read_text().splitlines()[0])}
    result = {"data_index": 1, "request": asked, "response": answer, "status": "success"}
    (bench.folder / "results.jsonl").write_text(json.dumps(result))
    return bench


def _commands(bench: Bench) -> dict[str, list[tuple[str | Path, ...]]]:
    """The command lines that are tried, by command, in an order in which each finds what it needs."""
    config = ("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl")
    one, two = bench.folder / "one", bench.folder / "two"
    sent = (*config, "--retries", "0")
    return {
        "run": [
            ("run", *sent, "-o", one, "-v", *ZH),
            ("run", *sent, "-o", two, "--seed", "3", "--max-requests", "17", "--warmup", "1", *ZH),
            ("run", *sent, "-o", bench.folder / "later", *ZH),
            ("run", *config, "--dry-run", *ZH),
            ("run", *config, "--dry-run", "--request-rate", "5", "--duration", "9", "--max-requests", "4", *ZH),
        ],
        "demo": [("demo", "-n", "4", "-o", bench.folder / "demo", *ZH)],
        "bfcl": [("bfcl", "--job", bench.folder / "job.json", *config[:2], "-n", "4", "-o", bench.folder / "b", *ZH)],
        "plan": [("plan", *config, "--max-requests", "9", "--max-cost", "2", "--seed", "3", *ZH)],
        "merge": [("merge", one, bench.folder / "later", "-o", bench.folder / "m", *ZH)],
        "score": [("score", one, "--gate", "f1 >= 0.99", *ZH)],
        "report": [
            *(("report", one, "--format", form, *ZH) for form in ("terminal", "md", "html", "summary")),
            *(("report", one, two, "--format", form, *ZH) for form in ("terminal", "md", "html")),
        ],
        "explain": [
            ("explain", one, "--vendor", "bad", *ZH),
            *(("explain", one, "--vendor", "cut", "--sample", name, *ZH) for name in _ids(one)),
            *(
                ("explain", bench.folder / "b", "--vendor", "bad", "--sample", name, *ZH)
                for name in _ids(bench.folder / "b")
            ),
        ],
        "import": [("import", f"b={bench.folder / 'results.jsonl'}", "--model", "m", "-o", bench.folder / "i", *ZH)],
        "migrate": [("migrate", bench.folder / "old.yaml", *ZH), ("migrate", bench.folder / "old.yaml", *ZH)],
        "capacity": [("capacity", *config, "--vendor", "good", "--up-to", "2", "--max-requests", "40", *ZH)],
        "check": [
            ("check", *sent, "-v", "--webhook-env", "HOOK", "--notify", "always", "--keep", "90d", *ZH),
            ("check", *sent, "--max-requests", "5", *ZH),
        ],
        "compare": [("compare", one, two, *ZH), ("compare", one, *ZH)],
        "history": [("history", *ZH), ("history", "--history", bench.folder / "no-runs", *ZH)],
        "trend": [("trend", *ZH), ("trend", "--metric", "ttft", "--vendor", "good", *ZH)],
        "doctor": [("doctor", *config[:2], *ZH)],
    }


def _ids(run: Path) -> list[str]:
    """The samples of a run, once it is there."""
    folder = RunFolder(run)
    if not folder.records_file.exists():
        return []
    return [sample.id for task in folder.read_manifest().tasks for sample in list(folder.read_samples(task.suite))[:3]]


@pytest.mark.slow
def test_no_command_leaves_english_behind(world: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What every command prints on both streams in Chinese has no four English words in a row, code and data aside."""
    monkeypatch.setattr(scheduled_check, "TOTAL_S", 2.0)
    assert _commands(world).keys() | WITHOUT_LANGUAGE == COMMANDS.keys()
    found: dict[str, list[str]] = {}
    for command in list(_commands(world)):
        for words in _commands(world)[command]:
            code, out, err = world(*words)
            assert code in (0, 1, 3), (words, err)
            told = left_in_english(out + "\n" + err, _strange(world.folder))
            if told:
                found.setdefault(" ".join(map(str, words)), []).extend(told)
    assert found == {}, json.dumps(found, indent=1, ensure_ascii=False)


def _strange(folder: Path) -> set[str]:
    """Every text of several words in samples and records of the runs below, as it is shown."""
    found: set[str] = set()
    for file in (*folder.glob("*/samples/*.jsonl"), *folder.glob("*/records.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            found.update(plain(text, 1_000_000) for text in _texts(json.loads(line)) if len(text.split()) > 1)
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def test_the_search_for_english_finds_some_and_takes_no_code_for_it() -> None:
    """Else the test above could not fail."""
    every = [re.sub(r"\{\w*\}", "一", words["en"]) for words in entries().values()]
    every = [text for text in every if len(re.findall(r"[a-z]{2,}", text)) > 10]
    assert len([text for text in every if left_in_english(text, ())]) > 0.9 * len(every)
    assert (
        left_in_english(
            "用 `agent-vendor-verifier run again and again` 查看 --sample ID，runs/a b.c d_e TTFT IRF TPS F1", ()
        )
        == []
    )
