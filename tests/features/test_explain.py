"""The command ``explain``: what made the verdict first, then failures; and one sample with all around it."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_runs import records
from msgspec import structs
from scored import MODEL, write_demo

from vendor_verifier.cli.main import run_app
from vendor_verifier.features.explain.evidence import Table, explain_vendor, states_of
from vendor_verifier.features.explain.sample import KEY_PLACE, curl_command
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, ToolCall, TurnRecord, Usage
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.records.results import FacetName
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.store import RunFolder, encode_record

SAMPLE = "1347802b73be9ff2-1"
HOSTILE = "\x1b[31mred\u202e ::error::no"


def record_of(run: str, label: str, sample: str, attempt: Attempt) -> Record:
    turns = (TurnRecord((attempt,)),)
    return Record(run, "simulated-model", label, "simulated", "trigger", sample, 0, turns)


def answered(*calls: ToolCall, text: str = "") -> Attempt:
    timing = Timing(
        "2026-01-01T00:00:00.000+00:00", 900_000_000, headers_ns=100_000_000, first_token_ns=250_000_000,
        last_token_ns=800_000_000, gaps_ns=(50_000_000, 400_000_000, 100_000_000),
    )  # fmt: skip
    reason = "tool_calls" if calls else "stop"
    response = Response(text, tool_calls=calls, finish_reason=reason, finish_raw="eos", usage=Usage(10, 20))  # type: ignore[arg-type]
    return Attempt(1, timing, response)


def busy() -> Attempt:
    return Attempt(1, Timing("2026-01-01T00:00:00.000+00:00", 5), failure=Failure("overloaded", "headers", "busy", 503))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    labels = ("official", "reseller-a", "padded", "substitute")
    return RunFolder(write_demo(tmp_path_factory.mktemp("explain"), *labels))


@pytest.fixture(scope="module")
def scored(demo: RunFolder) -> ScoredRun:
    return score_folder(demo)


@pytest.fixture
def known(tmp_path: Path) -> RunFolder:
    """The same folder with records that we know: ``slow`` fails in two stretches and sends a hostile, broken call."""
    folder = RunFolder(write_demo(tmp_path, "official", "slow"))
    ids = list(folder.read_samples("trigger").ids)
    calls = {
        "official": answered(ToolCall("get_leave_balance", '{"employee_id": "E-415"}')),
        "slow": answered(ToolCall("get_leave_balance", '{"employee_id": 415}'), text=HOSTILE),
    }
    rows = []
    for label, answer in calls.items():
        for place, sample in enumerate(ids):
            failed = label == "slow" and place in (3, 4, 12)
            rows.append(record_of("run", label, sample, busy() if failed else answer))
    folder.records_file.write_bytes(b"".join(map(encode_record, rows)))
    return folder


def explained(capsys: pytest.CaptureFixture[str], folder: RunFolder, *arguments: str) -> str:
    assert run_app(["explain", str(folder.path), *arguments]) == 0
    return capsys.readouterr().out


def tables(folder: RunFolder, scored: ScoredRun, label: str, facet: FacetName) -> dict[str, Table]:
    _, evidence = explain_vendor(folder, scored, MODEL, label, facet, 10)
    return {table.title: table for table in evidence.tables}


def test_a_padded_bill_shows_its_surpluses(demo: RunFolder, scored: ScoredRun) -> None:
    found = tables(demo, scored, "padded", "bill")
    assert found["Billed prompt tokens"].rows[0]["ratio"] > 1.35
    surpluses = [row["surplus"] for row in found["Largest surpluses of prompt tokens"].rows]
    assert surpluses == sorted(surpluses, reverse=True)
    assert len(surpluses) == 10
    assert "Largest surpluses of prompt tokens" not in tables(demo, scored, "reseller-a", "bill")


def test_another_model_shows_names_and_texts(demo: RunFolder, scored: ScoredRun) -> None:
    """How often each name was served, and answers with both of the baseline's, the most unlike first."""
    found = tables(demo, scored, "substitute", "model")
    served = {row["value"]: (row["vendor"], row["baseline"]) for row in found["Served model of answers"].rows}
    assert served == {"simulated-mini-8b": (20, 0), MODEL: (0, 40)}
    rows = next(table for title, table in found.items() if title.startswith("Distance")).rows
    assert rows[0]["distance"] >= rows[-1]["distance"] > 0
    assert rows[0]["vendor"] != rows[0]["baseline"]


def test_a_run_without_a_baseline_has_states() -> None:
    """Also where the samples are more than pandas numbers in one byte."""
    assert set(states_of(records("v", 200), [])) == {"fine"}


def test_commands_of_findings_run(demo: RunFolder, scored: ScoredRun, capsys: pytest.CaptureFixture[str]) -> None:
    findings = [each for each in scored.findings if each.command]
    assert findings
    for finding in {each.facet: each for each in findings}.values():
        words = shlex.split(finding.command)
        assert words[:3] == ["agent-vendor-verifier", "explain", f"runs/{scored.report.run}"]
        assert f"\n{finding.facet.replace('_', ' ')}: " in explained(capsys, demo, *words[3:])


def test_failures_come_in_stretches_each_with_a_curl(known: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Two neighbours are one stretch; each failure has its message and a command that asks again."""
    (found,) = json.loads(explained(capsys, known, "--vendor", "slow", "--facet", "reliability", "--json"))
    tables = {table["title"]: table["rows"] for table in found[1]["tables"]}
    assert [row["failed"] for row in tables["Groups of failures"]] == [2, 1]
    assert tables["Failed attempts"][0]["failure"] == "overloaded"
    assert len(found[0]["failures"]) == 3
    assert all(each["curl"].count("curl -sS") == 1 for each in found[0]["failures"])
    assert "busy" in explained(capsys, known, "--vendor", "slow")


def test_one_sample_shows_all_its_evidence(known: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Prompt, moments, schema error with its place, the baseline's answer, and a curl; nothing hostile survives."""
    out = explained(capsys, known, "--vendor", "slow", "--sample", SAMPLE)
    assert "expected: {}" not in out
    for words in (
        "user: How many vacation days",
        "first token 250 ms",
        'call: get_leave_balance({"employee_id": 415})',
        "wrong: get_leave_balance: schema_mismatch at /employee_id",
        'official, the baseline: get_leave_balance({"employee_id": "E-415"})',
        "curl -sS -N -X POST http://127.0.0.1:8600/slow/v1/chat/completions",
        "\\x1b[31mred",
    ):
        assert words in out
    assert not {"\x1b", "\u202e"} & set(out)
    assert "::error" not in out


@pytest.mark.parametrize("name", [SAMPLE, "line:3", "row-7"])
def test_a_sample_is_found_by_each_of_its_names(
    name: str, known: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Our id, the line in its file, and the id of its row."""
    path = known.samples_file("trigger")
    path.write_text(path.read_text("utf-8").replace('"tags":{', '"tags":{"id":"row-7",', 1), encoding="utf-8")
    assert f"trigger {SAMPLE}" in explained(capsys, known, "--vendor", "slow", "--sample", name)


def test_the_curl_has_the_settings_of_the_entry(known: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """The key as a variable, the parameters, the extra body, and the names of headers, whose values are not stored."""
    manifest = known.read_manifest()
    changes = {"url": "https://vendor.invalid/v1", "key_name": "OTHER_KEY", "extra_headers": ["x-team"]}
    changes |= {"parameters": {"max_tokens": 7}, "extra_body": {"provider": {"only": ["x"]}}}
    entries = [structs.replace(each, **changes) if each.label == "slow" else each for each in manifest.entries]
    known.write_manifest(structs.replace(manifest, entries=entries))
    out = explained(capsys, known, "--vendor", "slow", "--sample", SAMPLE)
    assert '-H "authorization: Bearer ${OTHER_KEY}"' in out
    assert "x-team" in out
    body = json.loads(out.splitlines()[-2])
    assert (body["max_tokens"], body["provider"]) == (7, {"only": ["x"]})
    assert body["tools"][0]["function"]["name"] == "get_leave_balance"


def test_a_redacted_run_shows_no_text(bench: Any) -> None:
    bench.configure("official: faithful", "bad: quantised")
    bench.samples(4)
    bench.run("--set", "run.redact_content=true", "--history", "none")
    folder = RunFolder(bench.folder / "run")
    code, out, err = bench("explain", folder.path, "--vendor", "bad", "--sample", folder.read_samples("trigger").ids[0])
    assert code == 0, err
    assert "this run is redacted" in out
    assert "no curl: the run stored digests" in out
    assert "look up record" not in out


def _run(command: str, folder: Path, **variables: str) -> tuple[list[str], str]:
    """What a shell hands to ``curl``: its arguments and its standard input."""
    fake = folder / "curl"
    if not fake.exists():
        fake.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\nprintf "\\0"\ncat\n')
        fake.chmod(0o700)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": f"{folder}:/usr/bin:/bin", **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    words, _, body = done.stdout.partition("\0\0")
    return words.split("\0"), body


def _request(text: str, headers: dict[str, str] | None = None) -> HttpRequest:
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    own = {"authorization": f"Bearer {KEY_PLACE}"} if headers is None else headers
    return HttpRequest("https://vendor.invalid/v1/chat/completions", own, body)


@pytest.mark.parametrize("text", ["plain", "JSON\n", "'; touch pwned; '", "$(touch pwned) `touch pwned`", "::error::x"])
def test_a_shell_reads_the_request_back(text: str, tmp_path: Path) -> None:
    """Body, address and header arrive as they were, the key from its variable, and nothing in the prompt is run."""
    words, body = _run(curl_command(_request(text), "VENDOR_KEY"), tmp_path, VENDOR_KEY="sk-1 2")
    assert json.loads(body)["messages"][0]["content"] == text
    assert "authorization: Bearer sk-1 2" in words
    assert "https://vendor.invalid/v1/chat/completions" in words
    assert not Path("pwned").exists()


@given(text=st.text(max_size=60))
def test_the_command_is_printable_ascii_whatever_is_asked(text: str) -> None:
    """No control, bidi or workflow command reaches a terminal or CI log, and the body stays the same JSON."""
    command = curl_command(_request(text), "VENDOR_KEY")
    assert command.isascii()
    assert all(line.isprintable() for line in command.split("\n"))
    assert "::" not in command
    assert "##[" not in command
    assert json.loads(command.split("\n")[-2])["messages"][0]["content"] == text
