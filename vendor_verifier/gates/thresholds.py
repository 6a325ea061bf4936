"""The one grammar of thresholds, for gates and SLOs alike, and the two kinds of gates that are no thresholds.

    <metric>[.p50|p90|p95|p99] <=|>= <number>          schema_accuracy >= 0.98        avg_ttft_ms.p95 <= 2000
    <metric> <=|>= ceiling [+|- <number>]              f1 >= ceiling - 0.03
    verdict >= <status>                                verdict >= doubtful            gates only
    no <finding>                                       no another_model_served        gates only

``ceiling`` is the baseline's own figure: for ``f1`` its self-F1. Numbers
are plain: shares from 0 to 1, no units, no ``%``. A percentile is taken over single requests.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping
from typing import cast, get_args

from vendor_verifier.errors import UsageError
from vendor_verifier.metrics import RANKED, RECORD_METRICS
from vendor_verifier.metrics.outcome import TOOL_CALL_ERROR_RATE
from vendor_verifier.records.judgement import (
    Comparison,
    FindingGate,
    Gate,
    Percentile,
    Standing,
    Threshold,
    VerdictGate,
)

# Figure → the metric of a single request that it is computed from.
_OF_ONE = [metric.name for metric in RECORD_METRICS if metric.name != "success"]
REQUEST_METRICS: Mapping[str, str] = {
    **{name: metric.name for name, metric in RANKED.items() if metric.name in _OF_ONE and metric.name != name},
    **dict(zip(_OF_ONE, _OF_ONE, strict=True)),
}
COST_METRICS: tuple[str, ...] = (
    "cost_per_1000_requests_usd",
    "cost_per_valid_call_usd",
    "wasted_per_1000_requests_usd",
)
THRESHOLD_METRICS: tuple[str, ...] = tuple(
    dict.fromkeys([*RANKED, "first_attempt_success_rate", TOOL_CALL_ERROR_RATE.name, *REQUEST_METRICS, *COST_METRICS])
)
# Published by the makers of the models: K2-Vendor-Verifier for two versions of Kimi K2, MiniMax-Provider-Verifier.
PRESETS: Mapping[str, tuple[Threshold, ...]] = {
    "k2vv-thinking": (Threshold("f1", ">=", 0.73),),
    "k2vv-0905": (Threshold("f1", ">=", 0.80),),
    "minimax": (
        Threshold("success_rate", ">=", 1.0),
        Threshold("f1", ">=", 0.98),
        Threshold("schema_accuracy", ">=", 0.98),
    ),
}
_SHARES = {
    *("first_attempt_success_rate", TOOL_CALL_ERROR_RATE.name),
    *(name for name, metric in RANKED.items() if metric.unit == "share"),
}
_SUBJECT = re.compile(r"\s*([A-Za-z_]\w*)(?:\.(\w*))?\s*")
_CEILING = re.compile(r"ceiling(?:\s*([+-])\s*(.+))?", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


_VERDICT = re.compile(r"\s*verdict\b\s*([<>=!]*)\s*(.*?)\s*", re.DOTALL)
_NO_FINDING = re.compile(r"\s*no\s+(.*?)\s*", re.DOTALL)


class ThresholdError(UsageError):
    """A threshold that does not follow the grammar."""


def parse_gate(text: str, extra: Collection[str] = (), findings: Collection[str] = ()) -> tuple[Gate, ...]:
    """Read one gate: a threshold, ``verdict >= <status>``, ``no <finding>``, or those of the preset of that name.

    ``extra`` as in :func:`parse_threshold`; ``findings`` are the known names of findings.

    Raises:
        ThresholdError: with what was read and what was expected.
    """
    name = text.strip()
    if name in PRESETS:
        return PRESETS[name]
    if (verdict := _VERDICT.fullmatch(text)) is not None:
        return (VerdictGate(_status(text, *verdict.groups())),)
    if (finding := _NO_FINDING.fullmatch(text)) is not None:
        return (FindingGate(_finding(text, finding.group(1), findings)),)
    if name and not any(sign in name for sign in "<>="):
        near = difflib.get_close_matches(name.casefold(), PRESETS, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise _error(
            text, f"{hint}expected a threshold such as 'f1 >= 0.9', or one of the presets {', '.join(PRESETS)}"
        )
    return (parse_threshold(text, extra),)


def _status(text: str, comparison: str, word: str) -> Standing:
    if comparison != ">=":
        raise _error(text, f"read {comparison or word!r} after verdict; expected >=, as in `verdict >= doubtful`")
    known = get_args(Standing)
    name = "_".join(word.casefold().replace("_", " ").split())
    if name not in known:
        words = [each.replace("_", " ") for each in known]
        near = difflib.get_close_matches(name.replace("_", " "), words, 1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(words)}"
        raise _error(text, f"read {word!r} after >=; {hint}")
    return cast(Standing, name)


def _finding(text: str, word: str, findings: Collection[str]) -> str:
    name = "_".join(word.split())
    if name not in findings:
        near = difflib.get_close_matches(name, findings, 1)
        hint = f"did you mean {near[0]}?" if near else f"findings are {', '.join(findings)}"
        raise _error(text, f"read {word!r} where the name of a finding was expected; {hint}")
    return name


def parse_threshold(text: str, extra: Collection[str] = ()) -> Threshold:
    """Read one threshold; ``extra`` names metrics beside ``THRESHOLD_METRICS``, such as the scores of suites.

    Raises:
        ThresholdError: with what was read and what was expected.
    """
    subject = _SUBJECT.match(text)
    if subject is None:
        raise _error(text, f"expected a metric first, such as {THRESHOLD_METRICS[0]}")
    metric, percentile = subject.group(1), subject.group(2)
    _check_metric(text, metric, extra)
    if percentile is not None:
        _check_percentile(text, metric, percentile)
    rest = text[subject.end() :]
    comparison = rest[:2]
    if comparison not in get_args(Comparison):
        read = f"read {rest.split()[0]!r}" if rest.strip() else "it ends"
        raise _error(text, f"{read} after {subject.group(0).strip()}; expected <= or >=")
    right = rest[2:].strip()
    number, ceiling = _right_side(text, right)
    if ceiling and percentile is not None:
        raise _error(text, "a percentile is compared with a number, not with the ceiling")
    if not ceiling and metric in _SHARES and not 0 <= number <= 1:
        raise _error(text, f"{metric} lies between 0 and 1; write 0.98 for 98 %")
    bound = cast("Percentile | None", percentile)
    return Threshold(metric, cast(Comparison, comparison), number, bound, ceiling)


def meets(threshold: Threshold, value: float | None) -> bool | None:
    """Whether one request's own ``value`` keeps an SLO; ``None`` when it was not measured.

    Raises:
        ValueError: the threshold is relative to the ceiling, which no single request has.
    """
    if threshold.ceiling:
        raise ValueError("a single request has no ceiling")
    if value is None or math.isnan(value):
        return None
    return value <= threshold.number if threshold.comparison == "<=" else value >= threshold.number


def parse_slo(text: str) -> Threshold:
    """Read an SLO, a threshold for every single request.

    Raises:
        ThresholdError: it does not follow the grammar, or is about more than one request.
    """
    slo = parse_threshold(text)
    gate = f"write --gate {text.strip()!r}"
    if slo.percentile is not None:
        raise _error(text, f"a single request has no percentile, it keeps an SLO or not; {gate} to judge the run")
    if slo.metric not in REQUEST_METRICS or slo.ceiling:
        known = ", ".join(REQUEST_METRICS)
        raise _error(text, f"no single request has it; an SLO is about one of {known}; {gate} to judge the run")
    return slo


def _check_metric(text: str, metric: str, extra: Collection[str]) -> None:
    known = (*THRESHOLD_METRICS, *extra)
    if metric not in known:
        near = difflib.get_close_matches(metric, known, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
        raise _error(text, f"unknown metric {metric}{hint}")


def _check_percentile(text: str, metric: str, percentile: str) -> None:
    known = get_args(Percentile)
    if percentile not in known:
        raise _error(text, f"read .{percentile} after {metric}; expected one of .{', .'.join(known)}")
    if metric not in REQUEST_METRICS:
        raise _error(text, f"{metric} has no percentiles; only what single requests measure has")


def _right_side(text: str, right: str) -> tuple[float, bool]:
    """(number, whether it is relative to the ceiling)."""
    relative = _CEILING.fullmatch(right)
    if relative is None:
        return _number(text, right), False
    sign, number = relative.groups()
    return (_number(text, number) * (-1 if sign == "-" else 1) if sign else 0.0), True


def _number(text: str, word: str) -> float:
    if not _NUMBER.fullmatch(word.strip()) or not math.isfinite(float(word)):
        read = f"read {word!r}" if word else "it ends"
        percent = "; write 0.98 for 98 %" if word.endswith("%") else ""
        raise _error(text, f"{read} where a number or `ceiling - number` was expected{percent}")
    return float(word)


def _error(text: str, what: str) -> ThresholdError:
    return ThresholdError(f"threshold {text!r}: {what}")
