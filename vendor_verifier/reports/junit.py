"""junit.xml for CI: a suite for each model and vendor, a case for each facet, gate and feature check.

*differs*, *down*, a failed gate and a broken check are failures; what was not tested or not decided is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree as ET

from vendor_verifier.records.results import FACETS, Report, VendorResult
from vendor_verifier.reports import formats
from vendor_verifier.reports.escape import MAX_SENTENCE, visible
from vendor_verifier.scoring.scored_run import ScoredRun

_OF_STATUS = {"differs": "failure", "down": "failure", "not_tested": "skipped"}
_OF_GATE = {"failed": "failure", "not_decided": "skipped"}
_OF_CHECK = {"broken": "failure", "not_offered": "skipped", "not_measurable": "skipped"}


class _Case(NamedTuple):
    """A test case; ``outcome`` is the name of its element, None for a pass."""

    group: str
    name: str
    outcome: str | None
    kind: str
    message: str


def render(scored: ScoredRun) -> str:
    """The document with its XML declaration."""
    report = scored.report
    root = ET.Element("testsuites", name="agent-vendor-verifier")
    for name, model in report.models.items():
        root.extend(_suite(scored, name, vendor) for vendor in model.vendors.values())
    for count in ("tests", "failures", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("errors", "0")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(scored: ScoredRun, model: str, vendor: VendorResult) -> ET.Element:
    cases = list(_cases(scored.report, model, vendor))
    suite = ET.Element("testsuite", name=visible(f"{model} / {vendor.label}"), tests=str(len(cases)), errors="0")
    suite.set("failures", str(sum(case.outcome == "failure" for case in cases)))
    suite.set("skipped", str(sum(case.outcome == "skipped" for case in cases)))
    if scored.manifest.created_at is not None:
        suite.set("timestamp", scored.manifest.created_at[:19])
    properties = ET.SubElement(suite, "properties")
    facts = {"run": scored.report.run, "verdict": vendor.verdict.status, "model_id": vendor.model_id}
    figures = {name: vendor.metric(name) for name in ("irf", "f1", "success_rate", "schema_accuracy")}
    facts |= {name: repr(value) for name, value in figures.items() if formats.finite(value) is not None}
    for name, text in facts.items():
        ET.SubElement(properties, "property", name=name, value=visible(text))
    for case in cases:
        element = ET.SubElement(suite, "testcase", classname=visible(case.group), name=visible(case.name))
        message = visible(case.message, MAX_SENTENCE)
        if case.outcome is None:
            ET.SubElement(element, "system-out").text = message
        else:
            why = ET.SubElement(element, case.outcome, message=message)
            if case.outcome == "failure":
                why.set("type", case.kind)
    return suite


def _cases(report: Report, model: str, vendor: VendorResult) -> Iterator[_Case]:
    verdict = vendor.verdict
    for facet in FACETS:
        if (found := verdict.facets.get(facet)) is not None:
            message = f"{formats.STATUS_WORDS[found.status]}: {found.reason}"
            message += f" ({found.command})" if found.command and found.status in ("differs", "down") else ""
            yield _Case("verdict", facet, _OF_STATUS.get(found.status), found.status, message)
    if not verdict.facets:
        message = f"{formats.STATUS_WORDS[verdict.status]}: {verdict.reason}"
        yield _Case("verdict", "verdict", _OF_STATUS.get(verdict.status), verdict.status, message)
    for gate in report.gates:
        if (gate.model, gate.vendor) == (model, vendor.label):
            message = f"{gate.outcome.replace('_', ' ')}: {gate.reason}"
            yield _Case("gates", gate.text, _OF_GATE.get(gate.outcome), gate.outcome, message)
    for suite, result in vendor.suites.items():
        for check, status in result.checks.items():
            yield _Case(suite, check, _OF_CHECK.get(status), status, status.replace("_", " "))
