"""What a check tells: a headline, a line a finding, JSON without NaN, and Slack text in which nobody is mentioned."""

from __future__ import annotations

import json
import math

from advising import REASON, vendor_verdict

from vendor_verifier.features.history.notice import as_json, for_slack, headline, notice_lines
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.history import CheckResult, Trend
from vendor_verifier.records.judgement import Finding, GateVerdict, Threshold

GATE = GateVerdict("<!channel> a", Threshold("f1", ">=", 0.9), "FAIL", Estimate(math.nan, 0.1, math.inf, 5), "why")
TREND = Trend("m", "<https://evil.example|x>", "tps", "ratio", "regression", "worse: -20 %")
FAILED = CheckResult(
    "failed", 1, "run-1", "runs/1", (("m", GATE),), (TREND,), ("b was stopped\n::error::x",), ("note",)
)


def test_the_headline_counts_what_is_wrong() -> None:
    """One sentence that a subject line can hold."""
    assert headline(FAILED) == "check failed: 1 gate failed, 1 regression, 1 vendor incomplete (run run-1)"
    assert headline(CheckResult("passed", 0)) == "check passed"


def test_all_is_well_is_one_line_and_findings_are_one_line_each() -> None:
    """No finding breaks into two lines or into a workflow command."""
    assert notice_lines(CheckResult("passed", 0, "r")) == ["check passed (run r)"]
    lines = notice_lines(FAILED)
    assert len(lines) == 5
    assert [line for line in lines if "\n" in line or "::" in line] == []


def test_the_document_is_strict_json() -> None:
    """NaN and infinity become null."""
    text = json.dumps(as_json(FAILED), allow_nan=False)
    assert json.loads(text)["gates"][0]["value"] is None
    assert json.loads(text)["exit_code"] == 1


def test_slack_text_mentions_nobody_links_nothing_and_is_short() -> None:
    """Angle brackets are how Slack mentions and links; forty findings become twenty lines and a count."""
    text = for_slack(FAILED)["text"]
    assert "<" not in text
    assert "&lt;!channel&gt;" in text
    many = CheckResult("failed", 1, gates=(("m", GATE),) * 40)
    assert len(for_slack(many)["text"].splitlines()) == 21


def test_who_answers_under_another_name_is_said_without_failing() -> None:
    """In the lines and in the data, beside a check that passed."""
    finding = Finding(
        "served_model_changed_since", "v", "served models were a and are b", {"before": "a", "after": "b"}
    )
    result = CheckResult("passed", 0, identity=(("m", finding),))
    assert notice_lines(result) == ["check passed", "  identity: m / v: served models were a and are b"]
    assert as_json(result)["identity"] == [
        {"model": "m", "vendor": "v", "finding": "served_model_changed_since", "before": "a", "after": "b"}
    ]


def test_what_cannot_be_judged_yet_is_one_line_each() -> None:
    """Six undecided gates are one line with the number of samples that would decide them, and so is drift in its first
    runs, about whom it is said where others have a verdict already."""
    undecided = [
        GateVerdict(f"v{n}", Threshold("f1", ">=", 0.9), "UNDECIDED", Estimate(0.95, 0.85, 0.99, 100), "why")
        for n in range(6)
    ]
    young = tuple(Trend("m", f"v{n}", "tps", "ratio", "no_verdict", "young") for n in range(6))
    result = CheckResult("passed", 0, gates=tuple(("m", each) for each in undecided), trends=young)
    assert notice_lines(result)[1:] == [
        "  gates UNDECIDED: f1 >= 0.9: m / v0, m / v1, m / v2, m / v3 and 2 more; "
        "about 421 samples would decide if the figures stay",
        "  no verdict on drift yet: 0 of the 8 comparable runs it takes",
    ]
    partly = CheckResult("passed", 0, trends=(*young[:1], Trend("m", "old", "tps", "ratio", "steady", "")))
    assert notice_lines(partly)[1:] == ["  no verdict on drift of m / v0 yet: 0 of the 8 comparable runs it takes"]


def test_who_is_not_as_sold_or_unusable_stands_in_the_first_line() -> None:
    """By name, before anything that is only counted; the reason follows, and the data hold every verdict."""
    verdicts = (
        vendor_verdict("fine"), vendor_verdict("swap", "not_as_sold"), vendor_verdict("dead", "unusable"),
        vendor_verdict("odd", "doubtful"),
    )  # fmt: skip
    result = CheckResult("failed", 1, "r", "runs/r", (("m", GATE),), verdicts=tuple(("m", each) for each in verdicts))
    lines = notice_lines(result)
    assert lines[0] == "check failed: m / swap not as sold and m / dead unusable, 1 gate failed (run r)"
    assert lines[1] == f"  verdict: m / swap: not as sold: {REASON}"
    assert "odd" not in "".join(lines)
    assert lines[0] in for_slack(result)["text"]
    stated = {each["vendor"]: each["status"] for each in as_json(result)["verdicts"]}
    assert stated == {"fine": "as_sold", "swap": "not_as_sold", "dead": "unusable", "odd": "doubtful"}


def test_the_figures_of_a_first_bad_night_are_one_line_a_vendor() -> None:
    """However many of them are far off; it fails nothing."""
    warned = [
        Trend("m", label, metric, "ratio", "warning", "far off", z=z)
        for label, metric, z in (("v", "ttft_ms.p50", 10.04), ("w", "tps", 4.0), ("v", "tps", 5.5))
    ]
    lines = notice_lines(CheckResult("passed", 0, trends=tuple(warned)))
    assert len(lines) == 3
    assert "warning: m / v: the newest run alone is far off to the worse" in lines[1]
    assert "ttft_ms.p50 10.0, tps 5.5; one run proves nothing" in lines[1]
    assert "tps 4.0" in lines[2]
