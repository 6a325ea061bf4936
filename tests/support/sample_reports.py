"""Hand-made reports for the renderer tests: figures are chosen, not scored, and every hostile text is in one place."""

from __future__ import annotations

from changing import replace
from manifests import some_manifest

from vendor_verifier.records.score import (
    Distribution,
    Goodput,
    ModelScore,
    RegionScore,
    Report,
    SchemaCounts,
    SuiteScore,
    TriggerCounts,
    VendorScore,
)

SUITE_RESULT = SuiteScore(
    planned=10,
    judged=8,
    values={"resolved": 0.25, "tool_selection_accuracy": 0.5, "parameter_accuracy": None},
    measured={"resolved": 8, "tool_selection_accuracy": 8, "parameter_accuracy": 0},
    groups={"category": {"<b>web|": {"resolved": 1.0, "tool_selection_accuracy": 1.0, "parameter_accuracy": None}}},
    problems={"no answer: `timeout`": 2},
)

RANK_METRICS = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps")

CLOCK = {
    "event_loop": {"watched_s": 9.0, "p50_ms": 0.06, "p99_ms": 1.25, "max_ms": 3.0, "core_share": 0.314, "stalls": 0},
}
HOSTILE = (
    '=HYPERLINK("http://evil.example";"x")',
    "[link=https://evil.example]click[/link] [red]",
    "\x1b]8;;http://evil.example\x07hi\x1b[2J",
    "\u202egnp.exe\u200b|</td><script>alert(1)</script>",
    "::error::owned\n::set-output name=x::y",
    "| `a` | ![x](https://www.evil.example/x.png)",
)
NO_CALLS = SchemaCounts("lenient", 0, {}, None, None, None, None, None, None)


def vendor(label: str, **changes: object) -> VendorScore:
    """A vendor that measured everything on ten samples, with ``changes``."""
    metrics = dict(zip(RANK_METRICS, (0.8427, 1.0, 0.9985, 1816.4, 777.25, 92.81), strict=True))
    classes = {"valid": 6, "empty_arguments": 1}
    base = VendorScore(
        label=label,
        vendor="acme",
        model_id="acme/model-1",
        is_baseline=False,
        provider=None,
        planned=10,
        recorded=10,
        succeeded=10,
        succeeded_first_try=9,
        metrics=metrics,
        measured=dict.fromkeys(RANK_METRICS, 10),
        distributions={
            "ttft_ms": Distribution(10, 777.25, 700.0, 900.0, 950.0, 990.0, 500.0, 1000.0),
            "ttft_cold_ms": Distribution(2, 950.0, 950.0, 990.0, 995.0, 999.0, 900.0, 1000.0),
            "ttft_warm_ms": Distribution(8, 734.1, 690.0, 800.0, 810.0, 820.0, 500.0, 825.0),
            "icl_ms": Distribution(640, 10.0, 0.0, 20.0, 20.4, 41.0, 0.0, 80.0),
            "tls_ms": Distribution(0),
            "tps": Distribution(9, 93.5, 92.0, 99.0, 99.5, 99.9, 80.0, 100.0),
            "e2e_ms": Distribution(10, 2500.0, 2400.0, 3000.0, 3100.0, 12345.6, 1500.0, 12345.6),
        },
        schema=SchemaCounts("lenient", 7, classes, 1.0, 1.0, 6 / 7, 1.0, 1.0, 5 / 6, 7, 6, 6),
        trigger=TriggerCounts(5, 1, 1, 3, precision=5 / 6, recall=5 / 6, f1=5 / 6),
        tps_mean=93.5,
        tps_p50=92.0,
        e2e_tps=61.25,
        finish_reasons={"tool_calls": 6, "stop": 4},
        decisions={"called": 6, "not_called": 4},
        served_models={"model-1": 10},
        attempts=11,
        irf=0.8690,
        irf_metrics=6,
        irf_global=0.4321,
        ranks=dict.fromkeys(RANK_METRICS, 1.5),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def baseline() -> VendorScore:
    """The reference vendor: F1 is 1 by definition, one figure just below 1, one pair dropped."""
    metrics = dict(zip(RANK_METRICS, (1.0, 0.99996, 0.8, 999.96, 12345.6, 246.0), strict=True))
    trigger = TriggerCounts(6, 0, 0, 3, dropped_baseline=1, precision=1.0, recall=1.0, f1=1.0)
    return vendor("official", is_baseline=True, metrics=metrics, trigger=trigger, anomalies={"bad_event": 2})


def dead() -> VendorScore:
    """A vendor that failed everything: success 0, and nothing else was measured."""
    return vendor(
        "totdürr 死 💀",
        succeeded=0,
        succeeded_first_try=0,
        metrics=dict.fromkeys(RANK_METRICS) | {"success_rate": 0.0, "f1": 0.0},
        measured=dict.fromkeys(RANK_METRICS, 0) | {"success_rate": 10, "f1": 10},
        distributions={"ttft_ms": Distribution(0)},
        schema=NO_CALLS,
        trigger=TriggerCounts(0, 0, 10, 0, recall=0.0, f1=0.0, failed_as_missed=10),
        tps_mean=None,
        tps_p50=None,
        e2e_tps=None,
        failures={"timeout_total": 4, "auth": 2, "http_5xx": 4},
        finish_reasons={},
        decisions={"undecided": 10},
        served_models={},
        attempts=40,
        irf=0.2,
        irf_metrics=2,
        ranks={"success_rate": 5.0, "f1": 5.0},
    )


def hostile(index: int) -> VendorScore:
    """A vendor whose every text is an attack."""
    text = HOSTILE[index]
    return vendor(
        text,
        vendor=text,
        model_id=text,
        provider=text,
        irf=0.5,
        anomalies={text: 1},
        finish_reasons={text: 1},
        served_models={text: 10},
        failures={text: 1},
    )


def full() -> Report:
    """Ties, a dead vendor, hostile texts, a model without a baseline and a single vendor, missing and odd figures."""
    first = ModelScore(
        "kimi-k2",
        "official",
        (vendor("twin a"), vendor("twin_b"), baseline(), *map(hostile, range(len(HOSTILE))), dead()),
    )
    metrics = dict.fromkeys(RANK_METRICS) | {"success_rate": 1.0, "tps": float("nan"), "toolbench": 0.25}
    alone = vendor(
        "alone", metrics=metrics, trigger=None, schema=NO_CALLS, irf=None, irf_metrics=0, ranks={},
        suites={"toolbench": SUITE_RESULT},
    )  # fmt: skip
    second = ModelScore(HOSTILE[1], None, (replace(alone, measured={}, irf_global=None, distributions={}),))
    return Report(
        run="2026-01-02T03-04-05Z",
        models=(first, second),
        rank_metrics=RANK_METRICS,
        k=5,
        undecided="missed",
        schema_policy="lenient",
        samples=10,
        dataset=("line 344: tool `a|b` has an unusable schema", HOSTILE[4]),
        warnings=(HOSTILE[2], "no baseline for one model"),
        complete=False,
        manifest=some_manifest(),
    )


def regional() -> Report:
    """Two vendors asked from a hostile region, from a region where one failed, and from workers that named none."""
    near = Distribution(6, 210.0, 200.0, 240.0, 250.0, 260.0, 150.0, 260.0)
    seen = (
        RegionScore(HOSTILE[3], 6, 6, 1.0, near, near),
        RegionScore("us-east", 3, 0, 0.0, Distribution(0), Distribution(0)),
        RegionScore(None, 1, 1, 1.0, near, near),
    )
    vendors = (vendor("twin a", regions=seen[:1]), vendor("twin_b", regions=seen))
    return replace(single(), run="regional", models=(ModelScore("glm-4.7", None, vendors),))


def empty() -> Report:
    """A run that never got anywhere."""
    return Report("empty", (), RANK_METRICS, 5, "exclude", "strict", 0)


def single() -> Report:
    """One vendor that was asked but never called a tool."""
    lonely = vendor("only", schema=NO_CALLS, trigger=None, metrics={"success_rate": 1.0}, irf=1 / 6, irf_metrics=1)
    model = ModelScore("glm-4.7", None, (lonely,))
    return Report(
        "single", (model,), RANK_METRICS, 5, "missed", "lenient", 10, repeat=3, manifest=some_manifest(**CLOCK)
    )


SHAPE = {"request_rate": 20.0, "arrival": "poisson", "ramp_up_s": 0, "warmup": 5, "duration_s": 60.0}
OFFERED = {
    "begun": 1200, "repetitions": 4, "most_under_way": 31, "cap": 30, "held_back": 7, "warmup": 5, "warmup_failed": 2,
    "lag_p50_ms": 0.51, "lag_p99_ms": 12.25, "lag_max_ms": 40.0,
}  # fmt: skip
GOOD = Goodput(1200, 900, 20, 30, {"tps >= 30": 1000, "ttft_ms <= 2000": 950}, 0.75, 61.5, 14.634)


def loaded() -> Report:
    """The full report as a run under load would have left it, the first vendor with goodput and what it was offered."""
    report = full()
    model = report.models[0]
    first, *others = model.vendors
    none = replace(GOOD, good=0, share=0.0, per_s=None, seconds=None, unmeasured=0, failed=0)
    vendors = (replace(first, goodput=GOOD), *(replace(vendor, goodput=none) for vendor in others))
    offered = {f"{model.model}: {first.label}": OFFERED}
    manifest = report.manifest.changed(settings={"repeat": 1, "load": SHAPE}, load=offered)
    return replace(report, models=(replace(model, vendors=vendors), *report.models[1:]), manifest=manifest)
