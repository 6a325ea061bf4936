"""tool_call_error_rate counts requests as OpenRouter publishes it for its providers."""

from __future__ import annotations

import csv
import io

import pytest
import synthetic_run

from vendor_verifier.gates.thresholds import ThresholdError, parse_threshold
from vendor_verifier.metrics.outcome import schema_counts
from vendor_verifier.records.score import CallClass
from vendor_verifier.reports import markdown, scores_json
from vendor_verifier.reports.ranking import render_csv


@pytest.mark.parametrize("bad", ["invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments"])
def test_one_bad_call_makes_a_request_bad(bad: CallClass) -> None:
    """A request counts once, however many of its calls are bad; one without calls counts as good."""
    counts = schema_counts([], "lenient", [("valid", bad, bad), ("valid",), (), ()])
    assert (counts.tool_call_error_rate, counts.tool_requests) == (1 / 4, 4)


@pytest.mark.parametrize("good", ["schema_unusable", "valid_in_dialect"])
def test_a_schema_that_is_not_the_vendors_fault_counts_as_valid(good: CallClass) -> None:
    """Where the caller's schema is broken, or written for another draft, nothing is held against the vendor."""
    assert schema_counts([], "strict", [(good,), ("valid",)]).tool_call_error_rate == 0.0


def test_what_was_not_judged_is_left_out() -> None:
    """It is neither good nor bad, unless another call of its request is bad; without any request there is no rate."""
    counts = schema_counts([], "lenient", [("not_judged",), ("not_judged", "invalid_json"), ("valid",)])
    assert (counts.tool_call_error_rate, counts.tool_requests) == (1 / 2, 2)
    assert schema_counts([], "lenient", [("not_judged",)]).tool_call_error_rate is None


def test_a_gate_may_bound_it() -> None:
    """It is a share between 0 and 1 in the grammar of gates."""
    assert parse_threshold("tool_call_error_rate <= 0.02").number == 0.02
    with pytest.raises(ThresholdError, match="between 0 and 1"):
        parse_threshold("tool_call_error_rate <= 2")


def test_every_format_shows_it() -> None:
    """CSV, JSON, Markdown and its interval hold the same number, and it ranks nobody."""
    report = synthetic_run.report(40, ("official", "bad"))
    vendor = report.models[0].vendors[0]
    rate = vendor.schema.tool_call_error_rate
    assert rate is not None
    assert vendor.schema.tool_requests > 0
    row = next(each for each in csv.DictReader(io.StringIO(render_csv(report))) if each["label"] == vendor.label)
    assert float(row["tool_call_error_rate"]) == pytest.approx(rate)
    assert '"tool_call_error_rate"' in scores_json.render(report)
    assert "Tool call error rate" in markdown.render(report)
    assert "tool_call_error_rate" not in vendor.ranks
