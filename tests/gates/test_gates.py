"""One grammar, read strictly, and verdicts by interval."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.gates.judge import decide, judge_gate, judge_gates, overall, samples_to_decide
from vendor_verifier.gates.thresholds import (
    PRESETS,
    THRESHOLD_METRICS,
    ThresholdError,
    meets,
    parse_gate,
    parse_threshold,
)
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Threshold
from vendor_verifier.stats.intervals import clopper_pearson


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("f1 >= ceiling - 0.03", Threshold("f1", ">=", -0.03, None, True)),
        ("f1>=ceiling-0.03", Threshold("f1", ">=", -0.03, None, True)),
        ("schema_accuracy >= ceiling", Threshold("schema_accuracy", ">=", 0.0, None, True)),
        ("avg_ttft_ms <= ceiling + 200", Threshold("avg_ttft_ms", "<=", 200.0, None, True)),
        ("schema_accuracy >= 0.98", Threshold("schema_accuracy", ">=", 0.98)),
        ("  avg_ttft_ms.p95  <=  2e3 ", Threshold("avg_ttft_ms", "<=", 2000.0, "p95")),
        ("cost_per_valid_call_usd <= .002", Threshold("cost_per_valid_call_usd", "<=", 0.002)),
        ("tps >= 30", Threshold("tps", ">=", 30.0)),
        ("resolved >= 0.5", Threshold("resolved", ">=", 0.5)),
    ],
)
def test_thresholds_are_read(text: str, read: Threshold) -> None:
    """The examples of the documentation, with and without spaces; what is printed reads back the same."""
    assert parse_threshold(text, extra=["resolved"]) == read
    assert parse_threshold(str(read), extra=["resolved"]) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a metric first"),
        (">= 0.9", "expected a metric first"),
        ("schema_acuracy >= 0.9", "unknown metric schema_acuracy; did you mean schema_accuracy"),
        ("quality >= 0.9", "unknown metric quality; known are f1"),
        ("f1 > 0.9", "read '>' after f1; expected <= or >="),
        ("f1 == 0.9", "read '==' after f1; expected <= or >="),
        ("f1", "it ends after f1; expected <= or >="),
        ("f1 >=", "it ends where a number"),
        ("f1 >= high", "read 'high' where a number or `ceiling - number` was expected"),
        ("f1 >= 98%", "write 0.98 for 98 %"),
        ("f1 >= 98", "f1 lies between 0 and 1; write 0.98 for 98 %"),
        ("f1 >= nan", "read 'nan'"),
        ("tps >= 1e999", "read '1e999'"),
        ("f1 >= ceiling * 2", "read 'ceiling \\* 2'"),
        ("f1 >= ceiling - ", "where a number"),
        ("avg_ttft_ms.p96 <= 1", "read .p96 after avg_ttft_ms; expected one of .p50, .p90, .p95, .p99"),
        ("f1.p95 >= 0.9", "f1 has no percentiles"),
        ("avg_ttft_ms.p95 <= ceiling + 5", "a percentile is compared with a number"),
        ("f1 >= 0.9 and tps >= 3", "where a number"),
    ],
)
def test_what_does_not_fit_is_explained(text: str, message: str) -> None:
    """Each error quotes the threshold, what was read and what was expected."""
    with pytest.raises(ThresholdError, match=message) as error:
        parse_threshold(text)
    assert repr(text) in str(error.value)


@given(
    st.sampled_from(THRESHOLD_METRICS),
    st.sampled_from(["<=", ">="]),
    st.floats(0, 1),
    st.booleans(),
    st.booleans(),
)
def test_every_threshold_survives_printing(
    metric: str, comparison: str, number: float, minus: bool, ceiling: bool
) -> None:
    """str and parse are inverse for any metric and number."""
    signed = -number if minus and ceiling and number else number
    threshold = Threshold(metric, comparison, signed, None, ceiling)  # type: ignore[arg-type]
    assert parse_threshold(str(threshold)) == threshold


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    """Whatever is written, the answer is a threshold or an explanation."""
    with contextlib.suppress(ThresholdError):
        assert isinstance(parse_threshold(text), Threshold)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.95, 0.99, "PASS"),
        (0.90, 0.99, "PASS"),
        (0.85, 0.95, "UNDECIDED"),
        (0.7, 0.9, "UNDECIDED"),
        (0.7, 0.89, "FAIL"),
        (None, 0.8, "FAIL"),
        (None, 0.95, "UNDECIDED"),
        (0.95, None, "PASS"),
    ],
)
def test_the_interval_decides(low: float | None, high: float | None, outcome: str) -> None:
    """Against ``>= 0.9``: all of it, none of it, or some of it; an open side reaches to infinity."""
    assert decide(Threshold("f1", ">=", 0.9), Estimate(0.88, low, high, 10)) == outcome


def test_the_point_estimate_never_decides_alone() -> None:
    """19 of 20 is above 0.9 and 17 of 20 below, and neither is shown by twenty samples."""
    gate = parse_threshold("schema_accuracy >= 0.9")
    assert decide(gate, clopper_pearson(19, 20)) == decide(gate, clopper_pearson(17, 20)) == "UNDECIDED"
    assert decide(gate, clopper_pearson(1900, 2000)) == "PASS"
    assert decide(gate, clopper_pearson(1700, 2000)) == "FAIL"


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 1))
def test_a_verdict_turns_around_with_the_comparison(value: float, below: float, above: float, number: float) -> None:
    """Unless the interval touches the threshold, PASS of one direction is FAIL of the other."""
    estimate = Estimate(value, value - below, value + above)
    up, down = (decide(Threshold("tps", each, number), estimate) for each in (">=", "<="))  # type: ignore[arg-type]
    turned = {"PASS": "FAIL", "FAIL": "PASS", "UNDECIDED": "UNDECIDED"}
    assert turned[up] == down or number in (estimate.low, estimate.high)


def test_a_threshold_of_all_is_never_proven() -> None:
    """No failure in 2,000 does not show that there is none; one failure shows that there is."""
    [gate, *_] = PRESETS["minimax"]
    verdict = judge_gate("v", gate, {"success_rate": clopper_pearson(2000, 2000)}, {})
    assert verdict.outcome == "UNDECIDED"
    assert "no finite number of samples" in verdict.reason
    assert decide(gate, clopper_pearson(1999, 2000)) == "FAIL"


def test_a_run_without_an_outage_says_what_it_cannot_know() -> None:
    """A success gate that passes calls outages unknown; where the run has some, it says what its requests are worth."""
    gate = parse_threshold("success_rate >= 0.95")
    calm = judge_gate("v", gate, {"success_rate": clopper_pearson(1990, 2000)}, {})
    bursts = Estimate(0.99, 0.96, 1.0, 2000, effective=104.2)
    burst = judge_gate("v", gate, {"success_rate": bursts}, {})
    assert calm.outcome == burst.outcome == "PASS"
    assert "this run shows no outage" in calm.reason
    assert "count as about 104 independent ones" in burst.reason
    assert "no outage" not in burst.reason
    other = judge_gate("v", parse_threshold("tps >= 10"), {"tps": Estimate(20.0, 19.0, 21.0, 100)}, {})
    assert "outage" not in other.reason


def test_the_ceiling_is_judged_by_the_gap() -> None:
    """Relative thresholds look at value − ceiling, and say so when the baseline ran once."""
    gate = parse_threshold("f1 >= ceiling - 0.03")
    assert judge_gate("v", gate, {}, {"f1": Estimate(-0.01, -0.02, 0.0)}).outcome == "PASS"
    assert judge_gate("v", gate, {}, {"f1": Estimate(-0.05, -0.07, -0.04)}).outcome == "FAIL"
    verdict = judge_gate("v", gate, {"f1": Estimate(1.0, 1.0, 1.0)}, {})
    assert verdict.outcome == "UNDECIDED"
    assert "the baseline must run twice" in verdict.reason


def test_one_failure_fails_the_whole() -> None:
    """FAIL outweighs UNDECIDED, which outweighs PASS."""
    gates = [parse_threshold(text) for text in ("tps >= 10", "tps >= 50", "tps >= 90")]
    verdicts = judge_gates("v", gates, {"tps": Estimate(50, 40, 60, 9)}, {})
    assert [verdict.outcome for verdict in verdicts] == ["PASS", "UNDECIDED", "FAIL"]
    assert (overall(verdicts), overall(verdicts[:2]), overall(verdicts[:1])) == ("FAIL", "UNDECIDED", "PASS")


def test_a_single_request_keeps_an_slo_or_not() -> None:
    """At the number it is kept; unmeasured is neither; a ceiling means nothing for one request."""
    slo = parse_threshold("avg_ttft_ms <= 2000")
    assert [meets(slo, value) for value in (2000.0, 2000.1, None, float("nan"))] == [True, False, None, None]
    with pytest.raises(ValueError, match="no ceiling"):
        meets(parse_threshold("f1 >= ceiling"), 1.0)


def test_presets_are_the_published_thresholds() -> None:
    """K2-Vendor-Verifier's two and MiniMax's three, in the grammar."""
    told = {name: [str(each) for each in preset] for name, preset in PRESETS.items()}
    assert told == {
        "k2vv-thinking": ["f1 >= 0.73"],
        "k2vv-0905": ["f1 >= 0.8"],
        "minimax": ["success_rate >= 1", "f1 >= 0.98", "schema_accuracy >= 0.98"],
    }


def test_an_undecided_gate_says_about_how_many_samples_would_decide_it() -> None:
    """As many as the exact interval needs: 183 of 183 prove 0.98, and 95 % of so many prove 0.9; not too far off."""
    clean = parse_threshold("schema_accuracy >= 0.98")
    enough = samples_to_decide(clean, clopper_pearson(89, 89))
    assert enough is not None
    assert 170 < enough < 200
    assert decide(clean, clopper_pearson(enough, enough)) == "PASS"
    rate = parse_threshold("success_rate >= 0.9")
    enough = samples_to_decide(rate, clopper_pearson(57, 60))
    assert enough is not None
    assert decide(rate, clopper_pearson(round(0.95 * enough), enough)) == "PASS"
    assert decide(rate, clopper_pearson(round(0.95 * enough / 2), enough // 2)) == "UNDECIDED"
    verdict = judge_gate("v", rate, {"success_rate": clopper_pearson(57, 60)}, {})
    assert "would decide it if the figure stays" in verdict.reason


@pytest.mark.parametrize("found", [Estimate(0.9, 0.8, 0.95, 50), Estimate(None), Estimate(0.95, None, 1.0, 50)])
def test_where_no_number_of_samples_can_be_named_none_is(found: Estimate) -> None:
    """On the threshold itself, without a figure, and with an open end."""
    assert samples_to_decide(parse_threshold("success_rate >= 0.9"), found) is None


def test_a_misspelt_preset_names_the_one_that_was_meant_and_all_of_them() -> None:
    """What holds no comparison is a name, so the message is about presets and not about a broken threshold."""
    with pytest.raises(ThresholdError, match=r"did you mean minimax\?.*presets k2vv-thinking, k2vv-0905, minimax"):
        parse_gate("minimx")
    with pytest.raises(ThresholdError, match="presets k2vv-thinking"):
        parse_gate("k2vv")
    assert parse_gate(" minimax ") == PRESETS["minimax"]
