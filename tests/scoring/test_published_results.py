"""Three public result files over 512 samples give the confusion matrices and schema shares worked out by hand."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.scoring.score_run import score_run
from vendor_verifier.values.event import ToolCall, Usage
from vendor_verifier.values.manifest import EntryInfo
from vendor_verifier.values.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, Source, content_digest, numbered
from vendor_verifier.values.score import PlayedTask, Report, VendorScore

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
FILES = {"official": "deepseek-official", "novita": "openrouter-novita", "ppio": "ppio"}
ENTRIES = [EntryInfo("m", label, label, "m", is_baseline=label == "official") for label in FILES]


def read_samples() -> list[Sample]:
    seen: Counter[str] = Counter()
    samples = []
    with (FOLDER / "samples.jsonl").open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            body = json.loads(line)
            turn = Turn(tuple(body["messages"]), tuple(body["tools"]))
            digest = content_digest(turn)
            seen[digest] += 1
            samples.append(Sample(numbered(digest, seen[digest]), turn, source=Source("set", number)))
    return samples


def read_records(samples: list[Sample], label: str) -> Iterator[Record]:
    with gzip.open(FOLDER / f"results-{FILES[label]}-deepseek-v3.2-exp.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            sample = samples[row["data_index"] - 1].id
            turns = (TurnRecord((attempt_of(row),)),)
            yield Record("run", "m", label, label, "trigger", sample, 0, turns)


def attempt_of(row: dict[str, Any]) -> Attempt:
    if row["status"] != "success":
        return Attempt(1, failure=Failure("bad_request", "headers", "refused", 400))
    body = row["response"]
    choice = body["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    response = Response(
        text=choice["message"].get("content") or "",
        tool_calls=tuple(ToolCall(call["function"]["name"], call["function"]["arguments"]) for call in calls),
        finish_reason=choice["finish_reason"],
        usage=Usage(body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]),
        served_model=body["model"],
        streamed=False,
    )
    return Attempt(1, Timing("2025-09-30T00:00:00Z", row["duration_ms"] * 1_000_000), response)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    """The three files scored under each policy for undecided answers."""
    if not FOLDER.exists():
        pytest.skip("the public result files are not beside this checkout")
    samples = read_samples()
    records = [record for label in FILES for record in read_records(samples, label)]
    return {
        policy: score_run(
            ENTRIES, [PlayedTask("trigger", samples)], records, repeat=1, run="run", complete=True, undecided=policy
        )  # type: ignore[arg-type]
        for policy in ("missed", "exclude")
    }


def vendor(report: Report, label: str) -> VendorScore:
    return next(each for each in report.models[0].vendors if each.label == label)


@pytest.mark.parametrize(
    ("policy", "label", "cells", "f1"),
    [
        ("missed", "novita", (412, 22, 39, 38), 0.931073),
        ("exclude", "novita", (412, 22, 39, 38), 0.931073),
        ("missed", "ppio", (414, 18, 37, 42), 0.937712),
        ("exclude", "ppio", (414, 18, 36, 42), 0.938776),
    ],
)
def test_p02_triggering_is_joined_by_sample(
    reports: dict[str, Report], policy: str, label: str, cells: tuple[int, ...], f1: float
) -> None:
    """The lost row of one file shifts nothing, and the refused sample of the baseline is dropped (P02)."""
    found = vendor(reports[policy], label).trigger
    assert found is not None
    assert (found.tp, found.fp, found.fn, found.tn) == cells
    assert found.f1 == pytest.approx(f1, abs=5e-7)
    assert (found.dropped_baseline, found.not_sent) == (1, 0)


@pytest.mark.parametrize(
    ("label", "valid", "calls", "lenient"),
    [("official", 447, 451, 0.9978), ("novita", 434, 435, 1.0), ("ppio", 432, 433, 1.0)],
)
def test_p41_p42_schema_shares_under_both_policies(
    reports: dict[str, Report], label: str, valid: int, calls: int, lenient: float
) -> None:
    """Strict is what the files themselves recorded, lenient without the dataset's own defect, in both units."""
    schema = vendor(reports["missed"], label).schema
    assert (schema.valid_strict, schema.calls, schema.responses) == (valid, calls, calls)
    assert schema.accuracy_strict == schema.per_response_strict == valid / calls
    assert round(schema.accuracy_lenient or 0, 4) == round(schema.per_response_lenient or 0, 4) == lenient


def test_the_dataset_is_blamed_for_its_own_rows(reports: dict[str, Report]) -> None:
    """Four repeated tool names and one unusable schema are the dataset's, by line."""
    lines = [defect.split(":")[0] for defect in reports["missed"].dataset]
    assert lines == [f"set line {number}" for number in (72, 168, 328, 344, 380)]


def test_p48_the_model_that_answered_is_counted(reports: dict[str, Report]) -> None:
    """The official run asked for one model and was served another, 511 times (P48)."""
    assert vendor(reports["missed"], "official").served_models == {"deepseek-chat": 511}


def test_whole_answers_have_tokens_but_no_streaming_figures(reports: dict[str, Report]) -> None:
    """Files of unstreamed answers give average tokens and neither TTFT nor TPS."""
    metrics = vendor(reports["missed"], "official").metrics
    assert metrics["avg_tokens"] == pytest.approx(279.65, abs=0.01)
    assert (metrics["avg_ttft_ms"], metrics["tps"]) == (None, None)
