"""The command ``explain``: the worst samples are those that went wrong, and one sample shows all its evidence."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from known_answers import known_run

from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Record
from vendor_verifier.store import RunFolder


@pytest.fixture
def stored(bench: Any) -> RunFolder:
    """A run of two samples and three vendors whose records are replaced by ones we know."""
    return known_run(bench)


def _explained(bench: Any, folder: RunFolder, *arguments: str) -> str:
    code, out, err = bench("explain", folder.path, *arguments)
    assert code == 0, err
    return str(out)


def test_the_worst_samples_come_first_each_with_its_reason(bench: Any, stored: RunFolder) -> None:
    """A failure before an invalid call; another vendor's disagreement; a vendor without fault has none."""
    ids = [sample.id for sample in stored.read_samples("trigger")]
    lines = _explained(bench, stored, "--vendor", "other").splitlines()
    assert ids[1] in lines[0]
    assert "failed: overloaded" in lines[0]
    assert ids[0] in lines[1]
    assert "invalid call: schema_mismatch" in lines[1]
    assert lines[2] == "2 samples with something wrong in 2 answers"
    assert "disagreement: not_called, the baseline called" in _explained(bench, stored, "--vendor", "third")
    assert _explained(bench, stored, "--vendor", "official").startswith("0 samples")


def test_the_list_is_capped_and_says_so(bench: Any, stored: RunFolder) -> None:
    """-n 1 shows the worst and counts the others."""
    lines = _explained(bench, stored, "--vendor", "other", "-n", "1").splitlines()
    assert lines[1] == "2 samples with something wrong in 2 answers, the worst 1 shown"


def test_one_sample_shows_all_its_evidence(bench: Any, stored: RunFolder) -> None:
    """Prompt, reply with its moments and raw finish, expectation, pointer, other vendors, and a curl."""
    sample = stored.read_samples("trigger")[0].id
    out = _explained(bench, stored, "--vendor", "other", "--sample", sample)
    for words in (
        "user: Please look up record 0.",
        "tools: look_up",
        "sent at 2026-01-01T00:00:00.000+00:00",
        "headers 100 ms, first token 250 ms, last token 800 ms, end 900 ms",
        "gaps between tokens: 3, median 100 ms, longest 400 ms",
        'call: look_up({"id": "one"})',
        "finish: tool_calls (its word: eos)",
        "tokens: in 10, out 20, cached not told",
        'the baseline official: called: look_up({"id": 1})',
        'look_up: schema_mismatch at "/id"',
        "third, repetition 0: not_called, first token 250 ms, tokens in 10, out 20",
        "curl -sS -N -X POST http://127.0.0.1:8600/faithful/v1/chat/completions",
        "# first, elsewhere: agent-vendor-verifier simulate",
    ):
        assert words in out


def test_text_of_a_vendor_is_harmless_on_a_terminal(bench: Any, stored: RunFolder) -> None:
    """No escape sequence, no reordering, no workflow command."""
    sample = stored.read_samples("trigger")[0].id
    out = _explained(bench, stored, "--vendor", "other", "--sample", sample)
    assert "\\x1b[31mred" in out
    assert not {"\x1b", "\u202e"} & set(out)
    assert "::error" not in out


def test_the_beginning_of_an_id_is_enough_and_an_unknown_one_is_told(bench: Any, stored: RunFolder) -> None:
    """A prefix that fits several samples, or none, is a usage error."""
    one, _ = (sample.id for sample in stored.read_samples("trigger"))
    assert f"sample {one}" in _explained(bench, stored, "--vendor", "other", "--sample", one[:10])
    for wrong, words in (("", "2 samples begin so"), ("nothing", "no such sample")):
        code, _, err = bench("explain", stored.path, "--vendor", "other", "--sample", wrong)
        assert (code, words in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--vendor", "nobody"), "the run has official, other, third"),
        ((), "--vendor: read nothing; the run has official, other, third"),
        (("--vendor", "other", "--model", "m"), "the run has simulated-model"),
        (("--vendor", "other", "--suite", "bfcl"), "the run has trigger"),
    ],
)
def test_names_that_are_not_in_the_run_are_refused(
    bench: Any, stored: RunFolder, arguments: tuple[str, ...], words: str
) -> None:
    """With the names that are."""
    code, _, err = bench("explain", stored.path, *arguments)
    assert (code, words in err) == (2, True)


def test_the_curl_has_the_key_s_variable_and_the_entry_s_settings(bench: Any, stored: RunFolder) -> None:
    """What the manifest says of the entry is in it; a header's value, which is not stored, is asked for."""
    manifest = stored.read_manifest()
    entries = manifest.raw["entries"]
    entries[1] |= {
        "url": "https://vendor.invalid/v1",
        "key_name": "OTHER_KEY",
        "parameters": {"max_tokens": 7},
        "extra_body": {"provider": {"only": ["x"]}},
        "extra_headers": ["x-team"],
    }
    stored.write_manifest(manifest.changed(entries=entries))
    out = _explained(bench, stored, "--vendor", "other", "--sample", stored.read_samples("trigger")[0].id)
    assert '-H "authorization: Bearer ${OTHER_KEY}"' in out
    assert "# headers of the configuration to add: x-team" in out
    body = json.loads(out.splitlines()[-2])
    assert (body["max_tokens"], body["provider"], body["tools"][0]["function"]["name"]) == (
        7,
        {"only": ["x"]},
        "look_up",
    )


def test_every_schema_error_of_a_call_has_its_pointer(bench: Any) -> None:
    """Not only the first violation is shown."""
    from vendor_verifier.suites.schema import ArgumentChecker

    properties = {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "integer"}}}
    tool = {"function": {"name": "f", "parameters": {"type": "object", "properties": properties}}}
    checker = ArgumentChecker([tool])
    found = checker.violations(ToolCall("f", '{"a": "x", "b": [1, "y", "z"]}'))
    assert sorted(pointer for pointer, _ in found) == ["/a", "/b/1", "/b/2"]
    assert len(checker.violations(ToolCall("f", '{"a": "x", "b": [1, "y", "z"]}'), most=2)) == 2
    for odd in (ToolCall("g", "{}"), ToolCall("f", "{"), ToolCall("f", "[1]"), ToolCall("f", "{}")):
        assert checker.violations(odd) == ()


def test_a_redacted_run_says_so_and_shows_no_text(bench: Any) -> None:
    """Digests instead of words, verdicts kept, no curl."""
    bench.configure("official: faithful", "bad: quantised")
    bench.samples(4)
    bench.run("--redact-content", "--no-history")
    folder = RunFolder(bench.folder / "run")
    assert "content is left out of this run" in _explained(bench, folder, "--vendor", "bad")
    out = _explained(bench, folder, "--vendor", "bad", "--sample", folder.read_samples("trigger")[0].id)
    assert "this run is redacted" in out
    assert "no curl: the run stored digests" in out
    assert "look up record" not in out


def test_json_holds_the_same_for_programs(bench: Any, stored: RunFolder) -> None:
    """The list and the single sample as documents."""
    sample = stored.read_samples("trigger")[0].id
    listed = json.loads(_explained(bench, stored, "--vendor", "other", "--json"))
    assert [slip["reasons"] for slip in listed["shown"]] == [["failed: overloaded"], ["invalid call: schema_mismatch"]]
    (shown,) = json.loads(_explained(bench, stored, "--vendor", "other", "--sample", sample, "--json"))
    assert shown["violations"][0]["pointer"] == "/id"
    assert msgspec.convert(shown["record"], Record).sample == sample
