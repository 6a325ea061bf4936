"""Gates on verdicts and findings: their grammar, their outcomes, and the hints for what is misspelt."""

from __future__ import annotations

import pytest
import sample_reports

from vendor_verifier.audit.verdict_table import RULES
from vendor_verifier.gates.judge import judge_finding, judge_status
from vendor_verifier.gates.thresholds import ThresholdError, parse_gate
from vendor_verifier.pipeline.gates import read_gates
from vendor_verifier.records.judgement import Finding, FindingGate, GateOutcome, Threshold, VerdictGate
from vendor_verifier.records.verdict import FACETS, Facet, Status, VendorVerdict


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("verdict >= doubtful", "doubtful"),
        ("verdict>=as sold", "as_sold"),
        (" verdict >= Not_As_Sold ", "not_as_sold"),
        ("verdict >= not as sold", "not_as_sold"),
        ("verdict >= unusable", "unusable"),
    ],
)
def test_a_status_is_written_with_spaces_or_underscores(text: str, least: str) -> None:
    """All spellings are one gate, which is written with spaces again."""
    (gate,) = parse_gate(text)
    assert isinstance(gate, VerdictGate)
    assert gate.least == least
    assert parse_gate(str(gate)) == (gate,)


@pytest.mark.parametrize("name", RULES)
def test_every_finding_can_be_forbidden(name: str) -> None:
    """The table of verdicts names all findings, and `no` before each is a gate."""
    assert parse_gate(f"no {name}", (), RULES) == (FindingGate(name),)
    assert str(FindingGate(name)) == f"no {name}"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("no anoter_model_served", "did you mean another_model_served?"),
        ("no zzz", "findings are another_model_served"),
        ("verdict >= dubtful", "did you mean doubtful?"),
        ("verdict >= too little evidence", "expected one of as sold, doubtful, not as sold, unusable"),
        ("verdict <= doubtful", "expected >="),
        ("verdict", "expected >="),
    ],
)
def test_what_is_misspelt_is_refused_with_the_nearest(text: str, hint: str) -> None:
    """Nobody pays for a run whose gate means nothing."""
    with pytest.raises(ThresholdError, match=hint.replace("?", r"\?")):
        parse_gate(text, (), RULES)


def test_the_later_of_two_gates_on_the_verdict_applies() -> None:
    """As with thresholds, a model's own gate replaces that of all models; each finding is a gate of its own."""
    texts = ["verdict >= doubtful", "f1 >= 0.9", "no id_families", "verdict >= as sold", "no answers_cut"]
    assert read_gates(texts, ()) == (
        VerdictGate("as_sold"),
        Threshold("f1", ">=", 0.9),
        FindingGate("id_families"),
        FindingGate("answers_cut"),
    )


def _verdict(status: Status) -> VendorVerdict:
    return VendorVerdict("a", status, tuple(Facet(name, status, "because") for name in FACETS))


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("as_sold", "PASS"),
        ("doubtful", "PASS"),
        ("not_as_sold", "FAIL"),
        ("unusable", "FAIL"),
        ("too_little_evidence", "UNDECIDED"),
    ],
)
def test_a_verdict_passes_from_its_status_upwards(status: Status, outcome: GateOutcome) -> None:
    """As sold > doubtful > not as sold > unusable; what could not be judged decides nothing."""
    judged = judge_status(VerdictGate("doubtful"), _verdict(status))
    assert judged.outcome == outcome
    assert judged.reason.endswith(": because")


def test_a_finding_fails_its_gate_for_its_own_vendor_only() -> None:
    """Others pass by their answers, and one without any answer leaves it open."""
    found = [Finding("answers_cut", "a", "cut 3 of 10 answers")]
    gate = FindingGate("answers_cut")
    judged = {
        vendor.label: judge_finding(gate, vendor, found)
        for vendor in (sample_reports.vendor("a"), sample_reports.vendor("b"), sample_reports.dead())
    }
    assert [each.outcome for each in judged.values()] == ["FAIL", "PASS", "UNDECIDED"]
    assert judged["a"].reason == "cut 3 of 10 answers"
