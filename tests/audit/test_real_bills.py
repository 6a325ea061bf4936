"""Three public result files show the signatures that are known of them: tokens, aliases, and whose fault row 344 is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from observed import observed, table_of

from vendor_verifier.audit.billing import PromptPair, prompt_token_findings, same_counter_findings
from vendor_verifier.audit.failure_causes import NO_OUTCOMES, Outcomes, blame, outcomes_of
from vendor_verifier.audit.identity import identity_findings
from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.scoring.observation import Observation, Traits
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
FILES = {"official": "deepseek-official", "novita": "openrouter-novita", "ppio": "ppio"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the public result files are not beside the checkout")


def rows_of(label: str) -> dict[int, dict[str, Any]]:
    with gzip.open(FOLDER / f"results-{FILES[label]}-deepseek-v3.2-exp.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row["data_index"]: row for row in map(json.loads, lines) if row["status"] == "success"}


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[int, dict[str, Any]]]:
    return {label: rows_of(label) for label in FILES}


def prompt_tokens(rows: dict[int, dict[str, Any]]) -> dict[str, float]:
    return {str(index): float(row["response"]["usage"]["prompt_tokens"]) for index, row in rows.items()}


def test_novita_and_ppio_show_four_to_eleven_tokens_more(rows: dict[str, dict[int, dict[str, Any]]]) -> None:
    """A constant of +4 … +11 whatever the prompt's length, and one counter behind both names."""
    counts = {label: prompt_tokens(each) for label, each in rows.items()}
    for label in ("novita", "ppio"):
        common = sorted(counts["official"].keys() & counts[label].keys())
        pairs = [PromptPair(name, counts["official"][name], counts[label][name]) for name in common]
        [finding] = prompt_token_findings(label, pairs)
        assert finding.name == "prompt_tokens_constant"
        assert (finding.evidence["least"], finding.evidence["most"]) == (4, 11)
    [same] = same_counter_findings(counts, "official")
    assert (same.name, same.label, same.evidence["other"]) == ("same_token_counter", "novita", "ppio")


def test_the_aliased_model_is_reported_on_every_row(rows: dict[str, dict[int, dict[str, Any]]]) -> None:
    """The official file asks one name and is served under another, every time."""
    told = [
        Observation(
            str(index), 0, Traits(is_answered=True, served_model=row["response"]["model"]),
            response_id=row["response"]["id"],
        )
        for index, row in rows["official"].items()
    ]  # fmt: skip
    found = identity_findings("official", table_of(told).answers(), "deepseek-reasoner")
    [finding] = [each for each in found if each.name == "another_model_served"]
    assert (finding.evidence["asked"], finding.evidence["served"]) == ("deepseek-reasoner", "deepseek-chat")
    assert finding.evidence["answers"] == finding.evidence["of"] == len(told)


def outcomes_of_row_344(label: str) -> Outcomes:
    """The row as scoring sees it: record → observation → table → outcomes."""
    body = json.loads((FOLDER / "samples.jsonl").read_text(encoding="utf-8").splitlines()[343])
    sample = Sample("344", Turn(tuple(body["messages"]), tuple(body["tools"])))
    record = Record("run", "m", label, label, "trigger", "344", 0, (TurnRecord((attempt_of(row_344(label)),)),))
    suite = TriggerSuite(checkers=KeptCheckers())
    return outcomes_of(table_of([observed(record, sample, suite, defective=suite.checkers(sample).may_be_refused)]))


def row_344(label: str) -> dict[str, Any]:
    with gzip.open(FOLDER / f"results-{FILES[label]}-deepseek-v3.2-exp.jsonl.gz", "rt", encoding="utf-8") as lines:
        found: dict[str, Any] = next(row for row in map(json.loads, lines) if row["data_index"] == 344)
    return found


def attempt_of(row: dict[str, Any]) -> Attempt:
    if row["status"] != "success":
        return Attempt(1, failure=Failure("bad_request", "headers", "refused", 400))
    calls = row["response"]["choices"][0]["message"]["tool_calls"]
    told = tuple(ToolCall(call["function"]["name"], call["function"]["arguments"]) for call in calls)
    return Attempt(1, Timing("2025-09-30T00:00:00Z", 1), Response(tool_calls=told, finish_reason="tool_calls"))


def test_row_344_is_the_datasets() -> None:
    """The official API refuses its broken schema, and the others' calls cannot be judged by it: no vendor's fault."""
    for label in FILES:
        baseline = NO_OUTCOMES if label == "official" else outcomes_of_row_344("official")
        found = blame(outcomes_of_row_344(label), baseline)
        assert (found.failed, found.causes["dataset"], found.attributable) == (1, 1, None)
