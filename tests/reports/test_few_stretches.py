"""Too few independent stretches of time are said in every format."""

from __future__ import annotations

import json

import pytest
import sample_reports as reports
from msgspec import structs

from vendor_verifier.pipeline.judge import stretches_warnings
from vendor_verifier.records.judgement import FewStretches, ModelVerdict
from vendor_verifier.records.score import Report
from vendor_verifier.reports import REPORTS
from vendor_verifier.reports.terminal import plain_lines


def narrow() -> Report:
    """A report of whose first vendor a time, and a difference from the second, rests on seven stretches."""
    report = reports.full()
    model = report.models[0]
    first, second = (vendor.label for vendor in model.vendors[:2])
    few = (FewStretches("avg_ttft_ms", first, None, 7.2), FewStretches("avg_ttft_ms", first, second, 6.8))
    verdict = structs.replace(report.verdicts.get(model.model, ModelVerdict()), few_stretches=few)
    warnings = tuple(stretches_warnings({model.model: verdict}))
    return structs.replace(report, verdicts={model.model: verdict}, warnings=(*report.warnings, *warnings))


@pytest.mark.parametrize("name", [each.name for each in REPORTS if each.name != "failed"])
def test_every_format_says_so(name: str) -> None:
    """Each holds words of the warning, or the figure of the vendor with its number; none does without."""
    form = next(each for each in REPORTS if each.name == name)
    marks = {"csv": "few_stretches", "junit": 'value="avg_ttft_ms 7"', "openmetrics": "few_stretches{"}
    mark = marks.get(name, "too few independent stretches")
    assert mark in form.text(narrow()).replace("\\n", " ")
    if name != "csv":
        assert mark not in form.text(reports.full())


def test_the_terminal_says_so() -> None:
    """Both sentences stand among the warnings."""
    text = "\n".join(plain_lines(narrow()))
    assert "too few independent stretches" in text
    assert "fewer than 20 independent stretches" in text


def test_values_are_there_for_programs() -> None:
    """The lines of CSV and the judgement in JSON name the metric of both vendors and of no third."""
    forms = {each.name: each for each in REPORTS}
    lines = forms["csv"].text(narrow()).splitlines()
    column = lines[0].split(",").index("few_stretches")
    assert column == len(lines[0].split(",")) - 1
    assert sum(line.endswith(",avg_ttft_ms") for line in lines[1:]) == 2
    document = json.loads(forms["json"].text(narrow()))
    (judged,) = (model["judgement"] for model in document["models"].values() if "judgement" in model)
    assert [each["stretches"] for each in judged["few_stretches"]] == [7.2, 6.8]


def test_many_are_counted() -> None:
    """More than six figures are named by their number."""
    few = tuple(FewStretches("tps", f"v{place}", None, 3.0) for place in range(9))
    (text,) = stretches_warnings({"m": ModelVerdict(few_stretches=few)})
    assert "v5 (3), … +3" in text
    assert "v6" not in text
