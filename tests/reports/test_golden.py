"""Every report of one small scored run, as a file in golden/; ``UPDATE_GOLDEN=1`` writes them again."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_results import unmeasured, verdict
from msgspec import structs
from scored import MODEL

from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.records.plan import LoadShape
from vendor_verifier.records.results import FacetName, Finding, GateResult, Status, SuiteResult
from vendor_verifier.reports import FORMATS, rendered, terminal
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.money import Money

GOLDEN = Path(__file__).with_name("golden")
# Label → status, the facet that decides it, and the reason.
VERDICTS: dict[str, tuple[Status, FacetName, str]] = {
    "official": ("reference", "model", "the baseline"),
    "reseller-a": ("matches", "model", "differences of 10 points would have been seen"),
    "substitute": ("differs", "model", "20 of 20 answers come from simulated-mini-8b."),
    "slow": ("check", "speed", "First token 2.9 times slower than the baseline (84 ms, baseline 29 ms)."),
    "cutter": ("not_tested", "reliability", "20 requests are too few to see 20 % of them failing."),
}


@pytest.fixture(scope="module")
def small(demo: ScoredRun) -> ScoredRun:
    """Six vendors with every status; failures, evaluations, gates, prices, an SLO and samples that show findings."""
    model = demo.report.models[MODEL]
    vendors = {
        label: structs.replace(
            model.vendors[label], verdict=verdict(status, reason, facet, f"explain --vendor {label}")
        )
        for label, (status, facet, reason) in VERDICTS.items()
    }
    scored = SuiteResult(20, 20, 0.75, {"accuracy": 0.75, "precision": None})
    contract = SuiteResult(3, 3, None, {}, {"json_mode": "kept", "parallel": "broken", "vision": "not_offered"})
    vendors["slow"] = structs.replace(
        vendors["slow"],
        suites={"toolbench": scored, "contract": contract},
        intervals={"f1": (0.9, 1.0), "tps": (80.0, 120.5)},
        measured={**vendors["slow"].measured, "tps": 11},
        succeeded=19,
        failures={"timeout_total": 1},
    )
    vendors["gone"] = unmeasured("gone")
    outcomes = {"substitute": "failed", "slow": "passed", "cutter": "not_decided"}
    gates = tuple(GateResult(MODEL, label, "f1 >= 0.9", outcome) for label, outcome in outcomes.items())  # type: ignore[arg-type]
    records = demo.records[demo.records["label"].isin(VERDICTS)].copy()
    failed = records.index[records["label"] == "slow"][0]
    records["failure"] = records["failure"].cat.add_categories(["timeout_total"])
    records.loc[failed, ["failure", "ok"]] = ["timeout_total", False]
    records.loc[failed, "ttft_ms":"decode_s"] = float("nan")  # type: ignore[misc]
    samples = tuple(demo.samples["trigger"].ids[:2])
    seen: dict[str, Any] = {"p_value": 1e-6, "value": 0.35, "low": 0.2, "high": 0.5, "n": 20, "samples": samples}
    findings = tuple(
        Finding(model=MODEL, vendor=label, facet=facet, name=facet, status=status, text=reason, **seen)
        for label, (status, facet, reason) in VERDICTS.items()
        if status in ("differs", "check", "not_tested")
    )
    money = {(MODEL, label): Money(3.2, 0.2, 1.5 + place, 0.002, 20, 0) for place, label in enumerate(VERDICTS)}
    return replace(
        demo,
        manifest=structs.replace(demo.manifest, score=ScoreRequest(slos=("ttft_ms <= 60",))),
        report=structs.replace(
            demo.report,
            models={MODEL: structs.replace(model, vendors=vendors)},
            gates=gates,
            dataset=("line 3: the tool `x` has no name",),
            not_run={"rest": "it needs keys"},
        ),
        records=records,
        attempts=demo.attempts[demo.attempts["label"].isin(VERDICTS)],
        money=money,
        findings=findings,
    )


@pytest.mark.parametrize("name", [*FORMATS.values(), "terminal.txt", "terminal_load.txt"])
def test_report_is_the_golden_file(small: ScoredRun, name: str) -> None:
    """But for style and script of the page, and digits that depend on the processor."""
    if name in FORMATS.values():
        text = rendered(small, [name])[name]
    else:
        load = LoadShape(50, "poisson") if "load" in name else None
        settings = structs.replace(small.manifest.settings, load=load)
        small = replace(small, manifest=structs.replace(small.manifest, settings=settings))
        text = "\n".join(terminal.lines(small)) + "\n"
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>|'sha256-[^']*'", "", text, flags=re.DOTALL)
    text = re.sub(r"\d+\.\d{6,}", lambda number: f"{float(number[0]):.6g}", text)
    file = GOLDEN / name
    if "UPDATE_GOLDEN" in os.environ:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
