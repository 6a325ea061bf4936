"""junit.xml for CI: a suite for each model and vendor, a case for each facet, gate and feature check.

*differs*, *down*, a failed gate, a broken check and what is worse than before are failures; what was not tested or not
decided is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from vendor_verifier.records.results import Facet, Report, VendorResult
from vendor_verifier.reports import formats
from vendor_verifier.reports.escape import MAX_SENTENCE, visible
from vendor_verifier.scoring.figures import ScoredRun

_OF_STATUS = {"differs": "failure", "down": "failure", "not_tested": "skipped"}
_OF_GATE = {"failed": "failure", "not_decided": "skipped"}
_OF_CHECK = {"broken": "failure", "not_offered": "skipped", "not_measurable": "skipped"}


class Regression(NamedTuple):
    """A facet or figure of a vendor that is worse than in the runs before."""

    model: str
    label: str
    name: str
    reason: str


def render(scored: ScoredRun, worse: Sequence[Regression] = ()) -> str:
    """The document with its XML declaration; ``worse`` is what a check found by the history."""
    report = scored.report
    root = ET.Element("testsuites", name="agent-vendor-verifier")
    for name, model in report.models.items():
        for label, vendor in model.vendors.items():
            own = [each for each in worse if (each.model, each.label) == (name, label)]
            root.append(_suite(scored, name, vendor, own))
    for count in ("tests", "failures", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    root.set("errors", "0")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(scored: ScoredRun, model: str, vendor: VendorResult, worse: Sequence[Regression]) -> ET.Element:
    suite = ET.Element("testsuite", name=visible(f"{model} / {vendor.label}"))
    properties = ET.SubElement(suite, "properties")
    facts = {"run": scored.report.run, "verdict": vendor.verdict.status, "model_id": vendor.model_id}
    figures = {name: vendor.metric(name) for name in ("irf", "f1", "success_rate", "schema_accuracy")}
    facts |= {name: repr(value) for name, value in figures.items() if formats.finite(value) is not None}
    for name, text in facts.items():
        ET.SubElement(properties, "property", name=name, value=visible(text))
    cases = list(_cases(scored.report, model, vendor))
    cases += [_case("history", each.name, {"worse": "failure"}, "worse", each.reason) for each in worse]
    suite.extend(cases)
    counts = {word: sum(case.find(word) is not None for case in cases) for word in ("failure", "skipped")}
    suite.set("tests", str(len(cases)))
    suite.set("errors", "0")
    suite.set("failures", str(counts["failure"]))
    suite.set("skipped", str(counts["skipped"]))
    if scored.manifest.created_at is not None:
        suite.set("timestamp", scored.manifest.created_at[:19])
    return suite


def _cases(report: Report, model: str, vendor: VendorResult) -> Iterator[ET.Element]:
    verdict = vendor.verdict
    facets: Mapping[Any, Facet] = verdict.facets or {"verdict": Facet(status=verdict.status, reason=verdict.reason)}
    for name, facet in facets.items():
        message = f"{formats.STATUS_WORDS[facet.status]}: {facet.reason}"
        message += f" ({facet.command})" if facet.command and facet.status in ("differs", "down") else ""
        yield _case("verdict", name, _OF_STATUS, facet.status, message)
    for gate in report.gates:
        if (gate.model, gate.vendor) == (model, vendor.label):
            message = f"{gate.outcome.replace('_', ' ')}: {gate.reason}"
            yield _case("gates", gate.text, _OF_GATE, gate.outcome, message)
    for suite, result in vendor.suites.items():
        for check, status in result.checks.items():
            yield _case(suite, check, _OF_CHECK, status, status.replace("_", " "))


def _case(group: str, name: str, outcomes: Mapping[str, str], kind: str, message: str) -> ET.Element:
    """A test case of this kind; ``outcomes`` name the element of each kind that is not a pass."""
    case = ET.Element("testcase", classname=visible(group), name=visible(name))
    message = visible(message, MAX_SENTENCE)
    if kind not in outcomes:
        ET.SubElement(case, "system-out").text = message
    else:
        why = ET.SubElement(case, outcomes[kind], message=message)
        if outcomes[kind] == "failure":
            why.set("type", kind)
    return case
