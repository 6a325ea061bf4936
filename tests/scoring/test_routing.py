"""Rows served by another provider than the pinned one are found, named and left out."""

from __future__ import annotations

import pytest

from vendor_verifier.records.event import ToolCall
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Attempt, Record, Response, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import PlayedTask, Report, VendorScore
from vendor_verifier.scoring.observation import same_provider
from vendor_verifier.scoring.score_run import score_run

SAMPLES = tuple(Sample(f"s{number}-1", Turn(({"role": "user", "content": str(number)},))) for number in range(4))
BASE = EntryInfo("m", "base", "v", "id", is_baseline=True)
PINNED = EntryInfo("m", "pinned", "openrouter", "id", provider="novita")


@pytest.mark.parametrize(
    ("pin", "served", "same"),
    [
        ("novita", "Novita", True),
        ("novita", "NovitaAI", True),
        ("google-vertex", "Google", True),
        ("google-vertex/europe", "Google Vertex", True),
        ("z-ai", "Z.AI", True),
        ("moonshotai", "Moonshot AI", True),
        ("atlas-cloud", "AtlasCloud", True),
        ("deepinfra/fp8", "DeepInfra", True),
        ("novita", "Together", False),
        ("google-ai-studio", "Amazon Bedrock", False),
        ("minimax", "Google", False),
    ],
)
def test_provider_names_are_compared_by_meaning(pin: str, served: str, same: bool) -> None:
    """Spelling, regions and quantisations do not matter; another company does."""
    assert same_provider(pin, served) is same


def row(entry: EntryInfo, sample: Sample, provider: str | None, *, call: bool) -> Record:
    calls = (ToolCall("f", "{}"),) if call else ()
    response = Response(
        text="" if call else "no",
        tool_calls=calls,
        finish_reason="tool_calls" if call else "stop",
        served_provider=provider,
    )
    turns = (TurnRecord((Attempt(1, response=response),)),)
    return Record("r", entry.model, entry.label, entry.vendor, "trigger", sample.id, 0, turns)


def scored(*providers: str | None) -> tuple[Report, VendorScore]:
    """The pinned vendor called as the baseline did wherever the pin served, and did not elsewhere."""
    records = [row(BASE, sample, None, call=True) for sample in SAMPLES]
    records += [
        row(PINNED, sample, name, call=name in (None, "Novita"))
        for sample, name in zip(SAMPLES, providers, strict=True)
    ]
    report = score_run((BASE, PINNED), [PlayedTask("trigger", SAMPLES)], records, repeat=1, run="r", complete=True)
    return report, next(vendor for vendor in report.models[0].vendors if vendor.label == "pinned")


def test_rows_of_another_provider_count_for_nothing_and_are_named() -> None:
    """Their wrong answers lower neither F1 nor success, and their absence is no lost row."""
    report, vendor = scored("Novita", "Together", "Novita", None)
    assert (vendor.metrics["f1"], vendor.metrics["success_rate"]) == (1.0, 1.0)
    assert vendor.measured["success_rate"] == 3
    assert any("served by Together; 1 row is left out" in warning for warning in report.warnings)


def test_one_unknown_name_on_every_row_is_taken_for_a_spelling_and_said() -> None:
    """A display name we do not know must not empty a vendor's row; the reader is told instead."""
    report, vendor = scored("Nowita Labs", "Nowita Labs", "Nowita Labs", "Nowita Labs")
    assert vendor.recorded == 4
    assert any("taken for another spelling" in warning for warning in report.warnings)


def test_answers_that_name_no_provider_stay() -> None:
    """Most vendors never say who served; nothing is held against them."""
    report, vendor = scored(None, None, None, None)
    assert vendor.recorded == 4
    assert report.warnings == ()
