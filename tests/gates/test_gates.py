"""Gates and SLOs: the grammar with its hints, and outcomes by interval."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.findings.gates import (
    COSTS,
    PRESETS,
    REQUEST_METRICS,
    SHARES,
    Gate,
    GateError,
    meets,
    parse_gate,
    parse_slo,
    read_gates,
)

METRICS = (*SHARES, *REQUEST_METRICS, *COSTS)


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("schema_accuracy >= 0.98", Gate("schema_accuracy", ">=", 0.98)),
        ("f1>=.9", Gate("f1", ">=", 0.9)),
        ("  avg_ttft_ms.p95  <=  2e3 ", Gate("avg_ttft_ms", "<=", 2000.0, 95)),
        ("cost_per_valid_call_usd <= .002", Gate("cost_per_valid_call_usd", "<=", 0.002)),
        ("toolbench >= 0.5", Gate("toolbench", ">=", 0.5)),
        ("ttft.p95 <= 200", Gate("ttft_ms", "<=", 200.0, 95)),
        ("verdict >= matches", Gate("verdict", ">=", status="matches")),
        ("verdict>=Not_Tested", Gate("verdict", ">=", status="not_tested")),
    ],
)
def test_gates_are_read(text: str, gate: Gate) -> None:
    assert parse_gate(text, ["toolbench"]) == [gate]
    assert parse_gate(str(gate), ["toolbench"]) == [gate]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a limit with <= or >="),
        ("minimx", "did you mean minimax?"),
        ("f1 > 0.9", "expected a limit with <= or >="),
        ("f1 >=", "expected a limit with <= or >="),
        ("schema_acuracy >= 0.9", "unknown metric schema_acuracy; did you mean schema_accuracy?"),
        ("quality >= 0.9", "known are success_rate, "),
        ("f1 >= ceiling - 0.03", "read 'ceiling - 0.03' where a number was expected"),
        ("f1 >= 98%", "write 0.98 for 98 %"),
        ("f1 >= 98", "f1 lies between 0 and 1"),
        ("tps >= 1e999", "read '1e999'"),
        ("tps >= nan", "read 'nan'"),
        ("ttft_ms.p96 <= 1", "expected a limit with <= or >="),
        ("f1.p95 >= 0.9", "f1 has no percentiles"),
        ("f1 >= 0.9 and tps >= 3", "where a number was expected"),
        ("verdict >= as sold", "read 'as sold' where 'verdict >= <status>' was expected"),
        ("verdict >= chek", "did you mean check?"),
        ("verdict <= check", "'verdict >= <status>'"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, message: str) -> None:
    with pytest.raises(GateError) as error:
        parse_gate(text)
    assert message in str(error.value)
    assert repr(text) in str(error.value)


@given(st.sampled_from(METRICS), st.sampled_from(["<=", ">="]), st.integers(0, 1000))
def test_every_gate_reads_back(metric: str, comparison: Any, thousandths: int) -> None:
    gate = Gate(metric, comparison, thousandths / 1000)
    assert parse_gate(str(gate)) == [gate]


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    with contextlib.suppress(GateError):
        assert parse_gate(text)


def test_presets_are_the_published_thresholds() -> None:
    assert {name: [str(gate) for gate in preset] for name, preset in PRESETS.items()} == {
        "k2vv-thinking": ["f1 >= 0.73"],
        "k2vv-0905": ["f1 >= 0.8"],
        "minimax": ["success_rate >= 1", "f1 >= 0.98", "schema_accuracy >= 0.98"],
    }
    assert parse_gate(" minimax ") == list(PRESETS["minimax"])


@pytest.mark.parametrize("text", ["ttft_ms.p95 <= 200", "f1 >= 0.9", "minimax", "verdict >= check"])
def test_an_slo_is_about_one_request(text: str) -> None:
    with pytest.raises(GateError, match="--gate"):
        parse_slo(text)


def test_a_request_keeps_an_slo_or_not() -> None:
    kept = meets(parse_slo("ttft_ms <= 2000"), pd.Series([2000.0, 2000.1, math.nan, math.inf]))
    assert kept.fillna(-1).tolist() == [1, 0, -1, 0]
    assert meets(parse_slo("tps >= 30"), pd.Series([29.0, 30.0])).tolist() == [0, 1]


def test_the_later_of_two_gates_applies() -> None:
    texts = ("f1 >= 0.5", "verdict >= check", "f1 >= 0.8")
    assert [str(gate) for gate in read_gates(texts, ())] == ["f1 >= 0.8", "verdict >= check"]
