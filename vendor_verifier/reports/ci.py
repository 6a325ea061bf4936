"""The report for CI, junit.xml.

A failed sample fails with its reason, our own failures are errors, samples never asked are skipped. Times
are those of the requests. Without details there is one case a vendor instead of one a sample. Text written by strangers
is made visible, so no character that XML 1.0 forbids can occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET

import msgspec

from vendor_verifier.records.details import Case, VendorDetails
from vendor_verifier.records.failures import KINDS, Charge
from vendor_verifier.records.score import ModelScore, Report, VendorScore
from vendor_verifier.records.verdict import FAILING
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.verdicts import status_word
from vendor_verifier.words import Texts, counted

_OUTCOMES: Mapping[Charge, str] = {"us": "error", "unasked": "skipped"}


class _Line(msgspec.Struct, frozen=True):
    """One test case: ``outcome`` is the element's name, None for a pass; ``note`` is what a pass prints."""

    classname: str
    name: str
    seconds: float | None = None
    outcome: str | None = None
    kind: str = ""
    message: str = ""
    note: str = ""


def render_junit(report: Report) -> str:
    """The document with its XML declaration, UTF-8-encodable."""
    root = ET.Element("testsuites", name="agent-vendor-verifier")
    suites = [_suite(vendor, model, report) for model in report.models for vendor in model.vendors]
    root.extend(suites)
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in suites):.3f}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(vendor: VendorScore, model: ModelScore, report: Report) -> ET.Element:
    details = None if report.details is None else report.details.models.get(model.model, {}).get(vendor.label)
    lines = [
        *_verdict(vendor, model, report),
        *_gates(vendor, model, report),
        *_checks(vendor),
        *_samples(vendor, details),
        *_missing(vendor, report),
    ]
    suite = ET.Element("testsuite", name=visible(f"{model.model} / {vendor.label}"), tests=str(len(lines)))
    for name, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(line.outcome == outcome for line in lines)))
    suite.set("time", f"{sum(line.seconds or 0.0 for line in lines):.3f}")
    if report.details is not None and report.details.started_at is not None:
        suite.set("timestamp", report.details.started_at[:19])
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(vendor, model, details, report):
        ET.SubElement(properties, "property", name=name, value=value)
    suite.extend(map(_element, lines))
    return suite


def _element(line: _Line) -> ET.Element:
    case = ET.Element("testcase", classname=visible(line.classname), name=visible(line.name))
    if line.seconds is not None:
        case.set("time", f"{line.seconds:.3f}")
    if line.outcome is not None:
        why = ET.SubElement(case, line.outcome, message=visible(line.message or line.kind))
        if line.outcome != "skipped":
            why.set("type", visible(line.kind))
    elif line.note:
        ET.SubElement(case, "system-out").text = visible(line.note)
    return case


def _properties(
    vendor: VendorScore, model: ModelScore, details: VendorDetails | None, report: Report
) -> Iterator[tuple[str, str]]:
    yield "run", visible(report.run)
    yield "vendor", visible(vendor.vendor)
    yield "model_id", visible(vendor.model_id)
    yield "irf", number_format.fusion(vendor.irf)
    for name in report.rank_metrics:
        value = number_format.finite(vendor.metrics.get(name))
        if value is not None:
            yield visible(name), repr(value)
    if details is not None and details.records > len(details.cases):
        yield "samples_not_listed", str(details.records - len(details.cases))
    verdict = report.verdicts.get(model.model)
    for metric, stretches in ({} if verdict is None else verdict.few_stretches_of(vendor.label)).items():
        yield "few_stretches", f"{visible(metric)} {stretches:.0f}"


def _verdict(vendor: VendorScore, model: ModelScore, report: Report) -> Iterator[_Line]:
    """The vendor's verdict: a failure where it is not as sold or unusable, skipped without enough evidence."""
    advice = report.advice.get(model.model)
    if advice is None:
        return
    verdict = advice.vendors[vendor.label]
    outcome = "failure" if verdict.status in FAILING else "skipped" if verdict.status == "too_little_evidence" else None
    message = f"{vendor.label}: {status_word(verdict, Texts())}: {verdict.reason}"
    yield _Line("verdict", "verdict", None, outcome, verdict.status, message, message)


def _gates(vendor: VendorScore, model: ModelScore, report: Report) -> Iterator[_Line]:
    verdict = report.verdicts.get(model.model)
    for gate in () if verdict is None else verdict.gates:
        if gate.label == vendor.label:
            outcome = {"PASS": None, "FAIL": "failure", "UNDECIDED": "skipped"}[gate.outcome]
            yield _Line("gates", str(gate.threshold), None, outcome, gate.outcome, gate.reason)


def _checks(vendor: VendorScore) -> Iterator[_Line]:
    for suite, score in sorted(vendor.suites.items()):
        for name, check in sorted(score.checks.items()):
            if check.status == "kept":
                yield _Line(suite, name)
            else:
                outcome = "failure" if check.status == "broken" else "skipped"
                yield _Line(suite, name, None, outcome, check.status, check.evidence)


def _samples(vendor: VendorScore, details: VendorDetails | None) -> Iterator[_Line]:
    if details is not None:
        yield from map(_sample, details.cases)
        return
    failed = vendor.recorded - vendor.succeeded
    why = f"{failed} of {counted(vendor.recorded, 'sample')} failed: {number_format.tally(vendor.failures, visible)}"
    summary = vendor.distributions.get("e2e_ms")
    seconds = None if summary is None or summary.mean is None else summary.mean * summary.n / 1e3
    if not vendor.recorded:
        yield _Line("samples", "all samples", None, "skipped", "not measured", "there is no record of this vendor")
    else:
        yield _Line("samples", "all samples", seconds, "failure" if failed else None, "failed samples", why)


def _missing(vendor: VendorScore, report: Report) -> Iterator[_Line]:
    """Samples without a record: lost in a run that is complete, otherwise not sent yet."""
    missing = vendor.planned - vendor.recorded
    if vendor.recorded and missing > 0:
        outcome = "failure" if report.complete else "skipped"
        why = f"{missing} of {vendor.planned} planned samples have no record"
        yield _Line("samples", "samples without a record", None, outcome, "no record", why)


def _sample(case: Case) -> _Line:
    name = f"{case.sample} #{case.repetition + 1}"
    if case.failure is None:
        return _Line(case.suite, name, case.seconds)
    outcome = _OUTCOMES.get(KINDS[case.failure].charge, "failure")
    message = f"{case.failure}: {case.message}" if case.message else case.failure
    return _Line(case.suite, name, case.seconds, outcome, case.failure, message)
