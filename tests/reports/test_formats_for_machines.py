"""JUnit, OpenMetrics and the schema of scores.json: readable by the programs they are for."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
import sample_reports
import synthetic_run
from changing import replace
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.score import FeatureCheck, Report, SuiteScore
from vendor_verifier.reports import ci, openmetrics, scores_json

CASES = ("full", "empty", "single")
_SERIES = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)')


@pytest.fixture(scope="module")
def judged() -> Report:
    """Ten vendors, two hundred samples, with details and gates."""
    return synthetic_run.report(200)


def checked() -> Report:
    """A vendor with one feature check of every status."""
    statuses = ("kept", "broken", "not_offered", "not_measurable")
    checks = {f"check {status}": FeatureCheck(status, f"saw {status}") for status in statuses}  # type: ignore[arg-type]
    suite = SuiteScore(4, 2, {"kept": 0.5}, {"kept": 2}, checks=checks)
    vendor = sample_reports.vendor("examined", suites={"contract": suite})
    single = sample_reports.single()
    return replace(single, models=(replace(single.models[0], vendors=(vendor,)),))


def test_junit_has_a_case_a_sample_with_its_real_time_and_reason(judged: Report) -> None:
    """Every record is one case; its time is what its requests took and a failure tells kind and message."""
    root = ET.fromstring(ci.render_junit(judged))
    details = judged.details
    assert details is not None
    for suite, vendor in zip(root, judged.models[0].vendors, strict=True):
        cases = {case.get("name"): case for case in suite.findall("testcase[@classname='trigger']")}
        assert len(cases) == 200
        for line in details.models[synthetic_run.MODEL][vendor.label].cases:
            case = cases[f"{line.sample} #1"]
            assert case.get("time") == f"{line.seconds:.3f}"
            failure = case.find("failure")
            assert (failure is None) == (line.failure is None)
            if failure is not None:
                assert failure.get("type") == line.failure
                assert "the vendor said" in failure.get("message", "")
        total = sum(float(case.get("time", "0")) for case in suite.iter("testcase"))
        assert float(suite.get("time", "0")) == pytest.approx(total, abs=0.2)


@pytest.mark.parametrize("case", [*CASES, "judged", "checked", "regional"])
def test_junit_counts_are_those_of_its_cases(judged: Report, case: str) -> None:
    """Totals of suites and of the document agree with what stands below them."""
    report = {"judged": judged, "checked": checked()}.get(case) or getattr(sample_reports, case)()
    root = ET.fromstring(ci.render_junit(report))
    for element in [root, *root]:
        assert int(element.get("tests", "")) == len(list(element.iter("testcase")))
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.get(count, "")) == len(list(element.iter(tag)))


def test_gates_and_feature_checks_are_junit_cases(judged: Report) -> None:
    """FAIL and broken fail; UNDECIDED and what could not be measured are skipped with their reason."""
    outcomes: dict[str, set[str]] = {}
    for case in ET.fromstring(ci.render_junit(judged)).iter("testcase"):
        if case.get("classname") == "gates":
            outcomes.setdefault(case[0].tag if len(case) else "pass", set()).add(case.get("name") or "")
    assert outcomes == {tag: {"f1 >= ceiling - 0.03"} for tag in ("pass", "failure", "skipped")}
    cases = ET.fromstring(ci.render_junit(checked())).findall(".//testcase[@classname='contract']")
    found = {case.get("name"): (case[0].tag, case[0].get("message")) for case in cases if len(case)}
    assert found == {
        "check broken": ("failure", "saw broken"),
        "check not_offered": ("skipped", "saw not_offered"),
        "check not_measurable": ("skipped", "saw not_measurable"),
    }


@pytest.mark.parametrize(("complete", "tag"), [(True, "failure"), (False, "skipped")])
def test_samples_without_a_record_are_not_passed_over(complete: bool, tag: str) -> None:
    """A lost row fails in a complete run, as in the success rate; in an interrupted one it was not sent yet."""
    single = sample_reports.single()
    vendors = (sample_reports.vendor("loses", recorded=8, succeeded=8),)
    report = replace(single, complete=complete, models=(replace(single.models[0], vendors=vendors),))
    cases = {case.get("name"): case for case in ET.fromstring(ci.render_junit(report)).iter("testcase")}
    assert cases["samples without a record"][0].tag == tag
    assert cases["samples without a record"][0].get("message") == "2 of 10 planned samples have no record"


@given(st.text(st.characters(exclude_categories=())))
def test_no_text_makes_junit_unreadable(text: str) -> None:
    """Control characters, lone surrogates and brackets in labels and kinds leave legal XML behind."""
    vendor = sample_reports.vendor(text, vendor=text, model_id=text, failures={text: 3}, succeeded=7)
    single = sample_reports.single()
    report = replace(single, run=text, models=(replace(single.models[0], vendors=(vendor,)),))
    assert ET.fromstring(ci.render_junit(report).encode()).get("failures") == "1"


@pytest.mark.parametrize("case", [*CASES, "judged"])
def test_openmetrics_text_is_what_the_format_asks_for(judged: Report, case: str) -> None:
    """One block a family, units in names, every series once, finite values, ``# EOF`` at the end."""
    text = openmetrics.render(judged if case == "judged" else getattr(sample_reports, case)())
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    family, seen, families = "", set(), set()
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            family, kind = line.split(" ")[2:]
            assert family not in families
            families.add(family)
        elif line.startswith("# UNIT "):
            assert line.split(" ")[2] == family
            assert family.endswith("_" + line.split(" ")[3])
        elif not line.startswith(f"# HELP {family} "):
            match = _SERIES.fullmatch(line)
            assert match is not None, line
            assert match[1] == (family + "_info" if kind == "info" else family)
            assert match.group(1, 2) not in seen
            seen.add(match.group(1, 2))


def test_labels_that_read_the_same_are_still_different_series() -> None:
    """Two labels that differ in hidden white space only do not write one series twice."""
    single = sample_reports.single()
    vendors = (sample_reports.vendor("a b"), sample_reports.vendor("a  b"))
    text = openmetrics.render(replace(single, models=(replace(single.models[0], vendors=vendors),)))
    assert "agent_vendor_verifier_tps" not in text
    assert re.findall(r'irf\{model="glm-4.7",vendor="([^"]+)"\}', text) == ["a b", "a b (2)"]


@pytest.mark.parametrize("case", [*CASES, "judged", "checked"])
def test_scores_fit_the_shipped_schema(judged: Report, case: str) -> None:
    """Every scores.json is valid, and every key of a vendor is described or a number."""
    report = {"judged": judged, "checked": checked()}.get(case) or getattr(sample_reports, case)()
    jsonschema_rs.validator_for(scores_json.scores_schema()).validate(scores_json.scores(report))


def test_the_schema_refuses_what_is_not_a_score() -> None:
    """A missing key, a share above 1 and another version are noticed."""
    validator = jsonschema_rs.validator_for(scores_json.scores_schema())
    good = scores_json.scores(sample_reports.single())
    vendor = good["models"]["glm-4.7"]["vendors"]["only"]
    assert validator.is_valid(good)
    assert not validator.is_valid({key: value for key, value in good.items() if key != "run"})
    assert not validator.is_valid(good | {"schema": 1})
    vendor["success_rate"] = 1.5
    assert not validator.is_valid(good)
