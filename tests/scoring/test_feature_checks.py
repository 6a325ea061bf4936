"""Feature checks are summed up with their evidence, and stand apart from every other figure of the vendor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Attempt, Failure, Record, Response, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import PlayedTask, Report, SuiteScore
from vendor_verifier.reports import markdown, scores_json
from vendor_verifier.scoring.score_run import score_run
from vendor_verifier.suites.contract import ContractSuite, contract_samples
from vendor_verifier.suites.trigger import TriggerSuite

SAMPLES = {sample.tags["check"]: sample for sample in contract_samples()}
STOP, LIMIT = SAMPLES["stop"], SAMPLES["refuses_n_0"]
TALK = Sample("t-1", Turn(({"role": "user", "content": "hi"},)))
ENTRY = EntryInfo("m", "a", "a", "m-1")
PINNED = EntryInfo("m", "a", "a", "m-1", provider="novita")
SUITES = {"contract": ContractSuite(), "trigger": TriggerSuite()}
REFUSED = Attempt(1, failure=Failure("bad_request", "headers", "n | must be 1", 400))
DOWN = Attempt(1, failure=Failure("http_5xx", "headers", "oops", 500))


def said(text: str, provider: str | None = None) -> Attempt:
    return Attempt(1, response=Response(text, finish_reason="stop", served_provider=provider))


def record(sample: Sample, *finals: Attempt, repetition: int = 0, suite: str = "contract") -> Record:
    return Record(
        "run", "m", "a", "a", suite, sample.id, repetition, tuple(TurnRecord((attempt,)) for attempt in finals)
    )


def scored(records: Sequence[Record], *, entry: EntryInfo = ENTRY, **options: Any) -> Report:
    tasks = [PlayedTask("trigger", (TALK,)), PlayedTask("contract", (STOP, LIMIT), "kept", apart=True)]
    return score_run([entry], tasks, records, suites=SUITES, **{"repeat": 1, "run": "run", "complete": True, **options})


def contract(report: Report) -> SuiteScore:
    return report.models[0].vendors[0].suites["contract"]


KEPT = [record(STOP, said("The sea")), record(LIMIT, REFUSED, said("Hello"))]


def test_kept_is_a_share_of_what_was_measurable() -> None:
    """One of two kept; a check that shows nothing counts neither way, nor does one without a record."""
    half = contract(scored([record(STOP, said("The sea. Blue.")), KEPT[1]]))
    assert (half.planned, half.judged, half.values) == (2, 2, {"kept": 0.5})
    assert {name: check.status for name, check in half.checks.items()} == {"stop": "broken", "refuses_n_0": "kept"}
    blind = contract(scored([record(STOP, DOWN), KEPT[1]]))
    assert (blind.judged, blind.values) == (1, {"kept": 1.0})
    lost = contract(scored(KEPT[1:]))
    assert lost.values == {"kept": 1.0}
    assert (lost.checks["stop"].status, lost.checks["stop"].evidence) == ("not_measurable", "no record")
    assert contract(scored([record(STOP, DOWN), record(LIMIT, DOWN)])).values == {"kept": None}


def test_the_contract_joins_no_other_figure() -> None:
    """Refusals on purpose are no failures of the vendor: everything else is as if nobody had checked."""
    talk = record(TALK, said("hi"), suite="trigger")
    both, alone = scored([talk, *KEPT]), scored([talk])
    vendor, without = both.models[0].vendors[0], alone.models[0].vendors[0]
    assert (vendor.planned, vendor.recorded, vendor.succeeded, vendor.failures) == (1, 1, 1, {})
    assert {name: value for name, value in vendor.metrics.items() if name != "contract"} == dict(without.metrics)
    assert vendor.metrics["contract"] == 1.0
    assert (vendor.distributions, vendor.attempts, vendor.irf) == (
        without.distributions,
        without.attempts,
        without.irf,
    )
    assert "contract" not in without.suites


def test_a_missing_check_makes_a_run_incomplete() -> None:
    """As a missing sample does."""
    talk = record(TALK, said("hi"), suite="trigger")
    assert scored([talk, *KEPT], complete=None).complete
    assert not scored([talk, KEPT[0]], complete=None).complete


def test_a_finding_replaces_an_empty_handed_record() -> None:
    """On resume a vendor that is up again is measured, though a refusal is no success; the first finding stands."""
    again = [record(LIMIT, DOWN), KEPT[1], record(LIMIT, said("Hello"))]
    assert contract(scored(again)).checks["refuses_n_0"].status == "kept"


def test_one_broken_repetition_is_a_broken_promise() -> None:
    """The worst finding with its own evidence, and how often."""
    records = [record(STOP, said("The sea")), record(STOP, said("The sea. Blue."), repetition=1)]
    check = contract(scored(records, repeat=2)).checks["stop"]
    assert check.status == "broken"
    assert "The sea. Blue." in check.evidence
    assert check.statuses == {"kept": 1, "broken": 1}


def test_answers_of_another_provider_measure_nothing() -> None:
    """Unless one other name served everything, which is then another spelling."""
    talk = record(STOP, said("The sea. Blue.", "Together"))
    mixed = contract(scored([talk, record(LIMIT, REFUSED, said("Hello", "Novita AI"))], entry=PINNED))
    assert (mixed.checks["stop"].status, mixed.checks["stop"].evidence) == ("not_measurable", "served by Together")
    assert mixed.checks["refuses_n_0"].status == "kept"
    assert contract(scored([talk], entry=PINNED)).checks["stop"].status == "broken"


def test_the_reports_show_one_row_a_check_with_its_evidence() -> None:
    """Markdown escapes what the vendor said; scores.json names checks, and other suites have no such key."""
    report = scored(KEPT)
    page = markdown.render(report)
    assert "| refuses_n_0 | a | kept | HTTP 400: n \\| must be 1 |" in page
    assert "| stop | a | kept | finish stop, said 'The sea' |" in page
    suites = json.loads(scores_json.render(report))["models"]["m"]["vendors"]["a"]["suites"]
    assert suites["contract"]["checks"]["refuses_n_0"] == {
        "status": "kept",
        "evidence": "HTTP 400: n | must be 1",
        "statuses": {"kept": 1},
    }
