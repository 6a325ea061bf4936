"""A row that no vendor could take: told once, by its line, and held against nobody."""

from __future__ import annotations

import pytest

from vendor_verifier.audit.verdict_table import success
from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source
from vendor_verifier.records.score import PlayedTask, Report, VendorScore
from vendor_verifier.scoring.score_run import score_run

BASE = EntryInfo("m", "official", "official", "m-1", is_baseline=True)
RIVAL = EntryInfo("m", "rival", "rival", "m-1")
ASKED = ({"role": "user", "content": "x"},)
REFUSED = Attempt(1, Timing("t", 1), failure=Failure("bad_request", "headers", "x", 400))
CALLED = Attempt(1, Timing("t", 9), Response("hi", tool_calls=(ToolCall("f", '{"a": 1}'),), finish_reason="tool_calls"))


def _record(entry: EntryInfo, row: Sample, attempt: Attempt) -> Record:
    return Record("run", "m", entry.label, entry.vendor, "trigger", row.id, 0, (TurnRecord((attempt,)),))


def _vendor(report: Report, label: str) -> VendorScore:
    return next(each for model in report.models for each in model.vendors if each.label == label)


def test_p42_a_broken_sample_is_reported_once_and_never_as_a_schema_error() -> None:
    """The dataset's defect is named with its line; a refusal of that sample is marked as such (P42)."""
    tools = ({"type": "function", "function": {"name": "f", "parameters": {"type": "wizard"}}},)
    broken = Sample("s-broken", Turn(ASKED, tools), source=Source("set", 9))
    rows = [
        _record(BASE, broken, REFUSED),
        _record(RIVAL, broken, CALLED),
    ]
    played = [PlayedTask("trigger", (broken,))]
    report = score_run((BASE, RIVAL), played, rows, repeat=1, run="run", complete=True)
    assert len(report.dataset) == 1
    assert report.dataset[0].startswith("set line 9: the schema of tool 'f' is unusable")
    assert _vendor(report, "official").anomalies == {"refused_defective_sample": 1}
    rival = _vendor(report, "rival")
    assert (rival.metrics["schema_accuracy"], rival.schema.classes) == (None, {"schema_unusable": 1})
    told = score_run(
        (BASE,), [PlayedTask("trigger", (broken,))], rows, repeat=1, run="run", dataset=("line 1: odd",) * 2
    )
    assert told.dataset == ("line 1: odd",)


@pytest.mark.parametrize(("temperature", "of_the_row"), [("hot", True), (1.5, False)])
def test_a_refusal_that_a_row_brings_upon_itself_is_nobodys(temperature: object, of_the_row: bool) -> None:
    """The verdict on reliability counts it where the vendor could have taken the row, and not where nobody can."""
    row = Sample("s-hot", Turn(ASKED, (), {"temperature": temperature}))
    rows = [_record(BASE, row, REFUSED)]
    official = _vendor(
        score_run((BASE,), [PlayedTask("trigger", (row,))], rows, repeat=1, run="run", complete=True), "official"
    )
    assert success(official).n == (0 if of_the_row else 1)
    assert official.anomalies == ({"refused_defective_sample": 1} if of_the_row else {})
