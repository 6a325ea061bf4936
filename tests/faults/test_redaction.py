"""``--redact-content``: nothing that was asked or answered is stored, and every score is what it would have been."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.cli.main import run_app
from vendor_verifier.records.record import Attempt, CallVerdict, Failure, Record, Response, Score, ToolCall, TurnRecord
from vendor_verifier.redaction import digest_text, redacted_record
from vendor_verifier.store import decode_record, encode_record

SECRET_WORDS = ("peppermint", "look_up_patient", "diagnosis", "Ferdinand")
LABELS = ("faithful", "quantised", "text-leaker")
# What scores hold of a vendor that is taken from what was said, not from when.
_OF_CONTENT = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "counts", "failures", "suites")


def _config(folder: Path) -> None:
    lines = ["simulated-model:", "  vendors:"]
    for number, label in enumerate(LABELS):
        lines.append(
            f"    - {{name: {label}, model_id: simulated-model, url: 'sim://{label}', validator: openai"
            + (", is_baseline: true}" if number == 0 else "}")
        )
    (folder / "config.yaml").write_text("\n".join(lines) + "\n")
    schema = {
        "type": "object",
        "properties": {"diagnosis": {"type": "string", "enum": ["peppermint", "Ferdinand"]}, "id": {"type": "integer"}},
        "required": ["id", "diagnosis"],
    }
    function = {"name": "look_up_patient", "description": "of Ferdinand", "parameters": schema}
    tools = [{"type": "function", "function": function}]
    asked = [f"Please look up patient {n} Ferdinand of peppermint." for n in range(12)]
    rows = [{"messages": [{"role": "user", "content": words}], "tools": tools} for words in asked]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _run(folder: Path, output: str, *more: str) -> dict[str, Any]:
    assert run_app([
        "--config-file-path", str(folder / "config.yaml"), "--test-file-path", str(folder / "samples.jsonl"),
        "-o", str(folder / output), "--quiet", "--temperature", "0",
        "--history", str(folder / output / "history.sqlite"), *more,
    ]) == 0  # fmt: skip
    scores: dict[str, Any] = json.loads((folder / output / "scores.json").read_text())
    return scores


def _of_content(scores: dict[str, Any]) -> dict[str, Any]:
    """By vendor the figures taken from content, and the statuses of all facets but speed."""
    found = {}
    for label, vendor in scores["models"]["simulated-model"]["vendors"].items():
        facets = vendor["verdict"]["facets"]
        found[label] = {name: vendor[name] for name in _OF_CONTENT}
        found[label] |= {name: facets[name]["status"] for name in facets if name != "speed"}
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """A folder with the same run plain and redacted, and the scores of both."""
    folder = tmp_path_factory.mktemp("redaction")
    _config(folder)
    return folder, _run(folder, "plain"), _run(folder, "redacted", "--set", "run.redact_content=true")


def test_no_word_asked_or_answered_is_stored(
    runs: tuple[Path, dict[str, Any], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """No file of the run holds a prompt, a tool, an argument or an answer; the plain run proves they were there."""
    folder, _, _ = runs

    def found(run: str) -> set[str]:
        contents = [path.read_bytes().decode(errors="replace") for path in (folder / run).rglob("*") if path.is_file()]
        return {word for word in SECRET_WORDS for content in contents if word in content}

    assert found("plain") == set(SECRET_WORDS)
    assert found("redacted") == set()


def test_scores_are_what_they_would_have_been(runs: tuple[Path, dict[str, Any], dict[str, Any]]) -> None:
    """Every figure taken from content is the same with and without the texts, vendor by vendor."""
    _, plain, redacted = runs
    ours = _of_content(redacted)
    assert ours == _of_content(plain)
    assert any(vendor["f1"] not in (None, 1.0) for vendor in ours.values())
    assert any("redacted" in warning for warning in redacted["warnings"])


def test_a_redacted_run_is_not_gone_on_with_in_the_open(
    runs: tuple[Path, dict[str, Any], dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Texts never come into a folder that was promised to hold none, nor the other way round."""
    folder, _, _ = runs
    paths = ["--config-file-path", str(folder / "config.yaml"), "--test-file-path", str(folder / "samples.jsonl")]
    paths += ["--temperature", "0"]
    assert run_app([*paths, "-o", str(folder / "redacted"), "--incremental", "--quiet"]) == 2
    assert "was made with other redacted" in capsys.readouterr().err
    assert (
        run_app(
            [
                *paths,
                "-o",
                str(folder / "plain"),
                "--history",
                "none",
                "--incremental",
                "--quiet",
                "--set",
                "run.redact_content=true",
            ]
        )
        == 2
    )
    assert "was made with other redacted" in capsys.readouterr().err


@given(st.text())
def test_a_digest_keeps_length_and_emptiness(text: str) -> None:
    """Figures that count characters, or ask whether there were any, stay what they are; equal stays equal."""
    digest = digest_text(text)
    assert len(digest) == len(text)
    assert bool(digest.strip()) == bool(text.strip())
    assert digest == digest_text(text)
    if text.strip():
        assert len(text) < 4 or text not in digest or text[:7] == "sha256:"


WORDS = st.text(alphabet="abcdefgäöü ,.{}", min_size=30).filter(lambda text: len(text.strip()) > 20)


FIELDS = ["text", "reasoning", "name", "arguments", "id", "message", "code", "finish", "detail"]


@given(WORDS, st.sampled_from(FIELDS))
def test_a_text_survives_nowhere_in_a_record(words: str, where: str) -> None:
    """Whatever field a vendor puts a sentence into, it does not come through; the record can still be read."""
    at: Callable[[str], str] = lambda name: words if name == where else "x"  # noqa: E731
    call = ToolCall(at("name"), at("arguments"), at("id"))
    response = Response(
        text=at("text"), reasoning=at("reasoning"), tool_calls=(call,), finish_raw=at("finish"),
    )  # fmt: skip
    failure = Failure("bad_request", "headers", at("message"), 400, at("code"))
    score = Score(
        "trigger", "called", (CallVerdict(at("name"), "schema_mismatch", at("message"), at("arguments")),),
        details={"error": at("detail"), at("detail")[:3]: [at("detail")]},
    )  # fmt: skip
    record = Record("r", "m", "l", "v", "trigger", "s", 0, (TurnRecord((Attempt(1, None, response, failure),)),))
    line = encode_record(redacted_record(record, score))
    assert words.encode() not in line
    kept = decode_record(line)
    assert kept.score is not None
    assert (kept.score.decision, kept.score.calls[0].verdict) == ("called", "schema_mismatch")


def test_every_evaluation_scores_the_same_without_texts(tmp_path: Path) -> None:
    """Tool calls, pages of BFCL, checks of features: what each of them finds does not need the texts to be stored."""
    lines = ["simulated-model:", "  vendors:"]
    lines += [
        f"    - {{name: {label}, model_id: simulated-model, url: 'sim://{label}', validator: openai}}"
        for label in LABELS[:2]
    ]
    (tmp_path / "config.yaml").write_text("\n".join(lines) + "\n")
    found = []
    for output, more in (("plain", []), ("redacted", ["--set", "run.redact_content=true"])):
        suites = ["toolbench", "mcptoolbench", "tool_correctness", "bfcl", "contract"]
        assert run_app([
            "--config-file-path", str(tmp_path / "config.yaml"), "-o", str(tmp_path / output), "-n", "5", "--quiet",
            "--history", "none", *(word for suite in suites for word in ("--suite", suite)), *more,
        ]) == 0  # fmt: skip
        scores = json.loads((tmp_path / output / "scores.json").read_text())
        vendors = scores["models"]["simulated-model"]["vendors"]
        found.append({label: vendor["suites"] for label, vendor in vendors.items()})
    assert found[0] == found[1]
    assert set(found[0]["quantised"]) == {"toolbench", "mcptoolbench", "tool_correctness", "bfcl", "contract"}
