"""The verdict on every vendor of a model, and the advice: docs/verdict.md has the rules."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vendor_verifier.findings.base import ModelRun, Reach, Test
from vendor_verifier.findings.baseline import changed, faults
from vendor_verifier.findings.bill import bill_reach, bill_tests
from vendor_verifier.findings.calls import call_reach, call_tests
from vendor_verifier.findings.evaluations import evaluation_reach, evaluation_tests
from vendor_verifier.findings.first_line import choice_of
from vendor_verifier.findings.known_answers import known_answer_tests
from vendor_verifier.findings.model import model_reach, model_tests
from vendor_verifier.findings.probes import probe_reach, probe_tests
from vendor_verifier.findings.reliability import reliability_reach, reliability_tests
from vendor_verifier.findings.speed import speed_reach, speed_tests
from vendor_verifier.records.results import (
    FACETS,
    WORST_FIRST,
    Choice,
    Facet,
    FacetName,
    Finding,
    Status,
    VendorResult,
    Verdict,
)
from vendor_verifier.stats.compare import holm
from vendor_verifier.text import listed

CHECK, DIFFERS = 0.01, 0.001
_TESTS = (
    model_tests, probe_tests, known_answer_tests, call_tests, evaluation_tests, bill_tests, reliability_tests,
    speed_tests,
)  # fmt: skip
_REACHES = (model_reach, probe_reach, call_reach, evaluation_reach, bill_reach, reliability_reach, speed_reach)


@dataclass(frozen=True)
class ModelVerdict:
    """The findings on a model's vendors, worst first, the verdicts by label, and the advice."""

    findings: tuple[Finding, ...]
    verdicts: Mapping[str, Verdict]
    choice: Choice


def judge(run: ModelRun, results: Mapping[str, VendorResult]) -> ModelVerdict:
    """The verdict on every vendor; ``results`` are for the advice."""
    needing: tuple[str, ...] = ("model", "tool_calls") if changed(run) else ()
    made = [test for each in _TESTS for test in each(run)]
    # Facts need no baseline.
    tests = [test for test in made if test.p_value is None or test.facet not in needing]
    reaches = [reach for each in _REACHES for reach in each(run)]
    findings = _findings(run, tests)
    verdicts = {
        label: _verdict(
            [each for each in findings if each.vendor == label], [each for each in reaches if each.vendor == label]
        )
        for label in run.vendors
    }
    if run.baseline is not None:
        reason = "; ".join(reason for _, reason in faults(run)) or "the reference of the others"
        facets = {name: Facet(status="reference", reason=reason) for name in FACETS}
        verdicts[run.baseline] = Verdict("reference", reason, facets)
    verdicts = {label: verdicts[label] for label in run.labels}
    return ModelVerdict(tuple(findings), verdicts, choice_of(run, results, verdicts, reaches))


def _findings(run: ModelRun, tests: Sequence[Test]) -> list[Finding]:
    """Facts as they are, and the tests whose p-value, corrected within the facet, is at most 1 %; worst first."""
    found = [_finding(run, test, test.status, None) for test in tests if test.p_value is None]
    for facet in FACETS:
        family = [test for test in tests if test.facet == facet and test.p_value is not None and test.counts]
        for test, p_value in zip(family, holm([test.p_value or 0.0 for test in family]), strict=True):
            if p_value <= CHECK:
                differs = p_value <= DIFFERS and test.beyond and facet != "speed"
                found.append(_finding(run, test, "differs" if differs else "check", p_value))
    return sorted(found, key=lambda each: (WORST_FIRST.index(each.status), each.p_value or 0.0))


def _finding(run: ModelRun, test: Test, status: Status, p_value: float | None) -> Finding:
    words = ["agent-vendor-verifier", "explain", run.run, "--vendor", test.vendor, "--facet", test.facet]
    return Finding(
        model=run.model, vendor=test.vendor, facet=test.facet, name=test.name, status=status, text=test.text,
        p_value=p_value, value=test.value, low=test.low, high=test.high, n=test.n, samples=test.samples,
        command=shlex.join(words),
    )  # fmt: skip


def _verdict(findings: Sequence[Finding], reaches: Sequence[Reach]) -> Verdict:
    """The worst facet that counts: an untested bill and a facet that the run did not mean to measure do not."""
    facets: dict[FacetName, Facet] = {}
    counted: list[FacetName] = []
    for name in FACETS:
        own = [reach for reach in reaches if reach.facet == name]
        facets[name] = _facet([each for each in findings if each.facet == name and each.status != "matches"], own)
        untested = facets[name].status == "not_tested"
        if not (untested and (name == "bill" or not any(reach.meant for reach in own))):
            counted.append(name)
    if not counted:
        return Verdict("not_tested", "Nothing of this run is compared with a baseline.", facets)
    worst = min(counted, key=lambda name: WORST_FIRST.index(facets[name].status))
    status, reason = facets[worst].status, facets[worst].reason
    if status == "matches":
        reason = "No difference from the baseline was found."
    elif status == "not_tested":
        names = [name.replace("_", " ") for name in counted if facets[name].status == status]
        reason = f"{listed(names, 5).capitalize()} not tested: {reason}"
    return Verdict(status, reason, facets)


def _facet(findings: Sequence[Finding], reaches: Sequence[Reach]) -> Facet:
    """The worst finding; without any what would have been found, or why the facet is not tested.

    Every comparison of a facet needs its reach; of the model's either answers or probes will do.
    """
    if findings:
        worst = findings[0]
        return Facet(
            status=worst.status, reason=worst.text, p_value=worst.p_value, value=worst.value, low=worst.low,
            high=worst.high, n=worst.n, samples=worst.samples, command=worst.command,
        )  # fmt: skip
    meant = [reach for reach in reaches if reach.meant] or list(reaches)
    if not meant:
        return Facet(status="not_tested", reason="Not measured in this run.")
    lacking = [reach for reach in meant if not reach.enough]
    enough = len(lacking) < len(meant) if meant[0].facet == "model" else not lacking
    shown = next(reach for reach in meant if reach.enough) if enough else lacking[0]
    if enough and shown.meant:
        return Facet(status="matches", reason=shown.text, value=shown.value, n=shown.n)
    needed = f"; about {shown.needed} would do" if shown.needed else ""
    return Facet(status="not_tested", reason=f"{shown.text}{needed}.", value=shown.value, n=shown.n)
