"""The stored demo run as a scored run: real records and figures with verdicts made by hand, for tests of what reads it.

Nothing here depends on how vendors are judged.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from vendor_verifier.records.manifest import manifest_of
from vendor_verifier.records.results import (
    FACETS,
    Choice,
    Facet,
    FacetName,
    Finding,
    GateResult,
    ModelResult,
    Report,
    Status,
    TriggerCounts,
    VendorResult,
    Verdict,
)
from vendor_verifier.scoring.scored_run import ScoredRun
from vendor_verifier.scoring.table import read_frames
from vendor_verifier.scoring.texts import AnswerTexts
from vendor_verifier.store import RunFolder
from vendor_verifier.suites.trigger import TriggerSuite

ORACLES = Path(__file__).parents[1] / "oracles"
MODEL, RUN = "simulated-model", "20261124T182918Z-10b4a8"
CHOICE = "Choose reseller-a: the only one of 9 vendors that matches the baseline (2 differ, 3 to check, 3 not tested)."
# Label → the facet that decides its verdict, its status and the reason.
REASONS: Mapping[str, tuple[FacetName, Status, str]] = {
    "substitute": ("model", "differs", "20 of 20 answers come from simulated-mini-8b, not from simulated-model."),
    "padded": ("bill", "differs", "Bills 88 % more prompt tokens: 120 a request and 35 % a token."),
    "text-leaker": ("tool_calls", "check", "14 calls missed, 0 extra in 20 samples (F1 0.696, the baseline 1)."),
    "slow": ("speed", "check", "First token 2.9 times slower than the baseline (84 ms, baseline 29 ms)."),
    "buffering": ("speed", "check", "Did not stream: 20 of 20 answers came in one piece."),
    "cutter": ("reliability", "not_tested", "20 samples show no failure rate below 30 %; 315 would."),
    "bursty": ("reliability", "not_tested", "20 samples show no failure rate below 30 %; 315 would."),
    "quantised": ("model", "not_tested", "Decoded at temperature 0; run again with --temperature 0.7."),
}


def write_demo(folder: Path) -> Path:
    """The stored demo run as a run folder, made in ``folder``."""
    run = folder / "demo"
    (run / "samples").mkdir(parents=True, exist_ok=True)
    for name in ("manifest.json", "samples/trigger.jsonl"):
        (run / name).write_bytes((ORACLES / "demo_run" / name).read_bytes())
    (run / "records.jsonl").write_bytes(gzip.decompress((ORACLES / "demo_run" / "records.jsonl.gz").read_bytes()))
    return run


def scored_demo(folder: Path) -> ScoredRun:
    """Ten vendors of one model: a baseline, one that matches, and others with each status but *down*."""
    run = RunFolder(write_demo(folder))
    samples = {"trigger": run.read_samples("trigger")}
    frames = read_frames(
        run.read_records(lambda line, reason: None),
        {"trigger": TriggerSuite()},
        samples,
        texts=AnswerTexts.of(samples),
    )
    return ScoredRun(
        manifest=manifest_of(json.loads((ORACLES / "demo_run" / "manifest.json").read_text(encoding="utf-8"))),
        report=demo_report(),
        records=frames.records,
        attempts=frames.attempts,
        evaluations=frames.evaluations,
        samples=samples,
        texts=frames.texts,
        findings=demo_findings(),
    )


def bare_run(report: Report, manifest: Mapping[str, Any] | None = None) -> ScoredRun:
    """A scored run with this report and no records; ``manifest`` are keys of its manifest."""
    keys = {"run": report.run, "entries": [], "tasks": [], "settings": {"repeat": 1}, **(manifest or {})}
    frames = read_frames([], {}, {})
    return ScoredRun(
        manifest=manifest_of(keys),
        report=report,
        records=frames.records,
        attempts=frames.attempts,
        evaluations=frames.evaluations,
        samples={},
        texts=frames.texts,
    )


@cache
def demo_report() -> Report:
    """The report of the demo run."""
    stored: dict[str, dict[str, Any]] = json.loads((ORACLES / "demo_figures.json").read_text(encoding="utf-8"))
    vendors = [vendor_result(label, figures) for label, figures in stored.items()]
    vendors.sort(key=lambda vendor: -(vendor.irf or 0.0))
    model = ModelResult(
        baseline="official",
        choice=Choice("recommended", ("reseller-a",), CHOICE),
        vendors={vendor.label: vendor for vendor in vendors},
    )
    gate = GateResult(MODEL, "substitute", "f1 >= 0.9", "failed", 0.786, 0.61, 0.92, 40, "0.786 is below 0.9")
    return Report(
        run=RUN,
        settings={"repeat": 1, "undecided": "missed", "schema_policy": "lenient"},
        warnings=("Temperature 0 hides differences between models. Run again with --temperature 0.7.",),
        models={MODEL: model},
        gates=(gate,),
    )


def demo_findings() -> tuple[Finding, ...]:
    """A finding for each reason."""
    return tuple(
        Finding(
            model=MODEL,
            vendor=label,
            facet=facet,
            name="slower" if facet == "speed" else facet,
            status=status,
            text=text,
            p_value=1e-6 if status != "not_tested" else None,
            value=0.35,
            low=0.2,
            high=0.5,
            n=20,
            command=f"agent-vendor-verifier explain runs/{RUN} --vendor {label}",
        )
        for label, (facet, status, text) in REASONS.items()
    )


def vendor_result(label: str, figures: Mapping[str, Any]) -> VendorResult:
    """A vendor with these figures and its verdict of ``REASONS``."""
    is_baseline = label == "official"
    planned = 40 if is_baseline else 20
    places = ("official", "reseller-a", "bursty", "cutter", "substitute", "quantised", "slow", "padded", "buffering")
    place = places.index(label) + 1 if label in places else 10
    counts = TriggerCounts(**{name: figures[name] for name in ("tp", "fp", "fn", "tn")}, pairs=2)
    ranked = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps")
    return VendorResult(
        label=label,
        vendor="simulated",
        model_id=MODEL,
        is_baseline=is_baseline,
        verdict=demo_verdict(label),
        place=float(place),
        irf=1 - place / 20,
        **{name: figures[name] for name in ranked},
        counts=counts,
        measured={name: 0 if figures[name] is None else planned for name in ranked},
        planned=planned,
        recorded=planned,
        succeeded=planned,
    )


def demo_verdict(label: str) -> Verdict:
    """The verdict on a vendor of the demo: five facets, one of which decides."""
    base: Status = "reference" if label == "official" else "matches"
    seen = "differences of 10 points would have been seen"
    facets = {name: Facet(status=base, reason=seen, value=0.1, n=20) for name in FACETS}
    if label not in REASONS:
        return Verdict(base, "the baseline" if label == "official" else seen, facets)
    facet, status, reason = REASONS[label]
    found = next(finding for finding in demo_findings() if finding.vendor == label)
    facets[facet] = Facet(
        status=status,
        reason=reason,
        p_value=found.p_value,
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        command=found.command,
    )
    return Verdict(status, reason, facets)
