"""The stored demo run as a scored run, and runs of a report alone, for tests of what reads them."""

from __future__ import annotations

import functools
import gzip
import json
import tempfile
from pathlib import Path

from made_values import replace, some_manifest

from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.records.results import Choice, GateResult, Report
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.table import read_frames
from vendor_verifier.store import RunFolder

ORACLES = Path(__file__).parents[1] / "oracles"
MODEL, RUN = "simulated-model", "20261124T182918Z-10b4a8"


def write_demo(folder: Path, *labels: str) -> Path:
    """The stored demo run as a run folder, made in ``folder``; with these vendors only, if any are given."""
    run = folder / "demo"
    (run / "samples").mkdir(parents=True, exist_ok=True)
    (run / "samples" / "trigger.jsonl").write_bytes((ORACLES / "demo_run" / "samples" / "trigger.jsonl").read_bytes())
    manifest = json.loads((ORACLES / "demo_run" / "manifest.json").read_text(encoding="utf-8"))
    lines = gzip.decompress((ORACLES / "demo_run" / "records.jsonl.gz").read_bytes()).splitlines(keepends=True)
    if labels:
        manifest["entries"] = [entry for entry in manifest["entries"] if entry["label"] in labels]
        lines = [line for line in lines if json.loads(line)["label"] in labels]
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (run / "records.jsonl").write_bytes(b"".join(lines))
    return run


@functools.cache
def scored_demo() -> ScoredRun:
    """Ten vendors of one model, with every status but *matches* and *down*; choice, warning and gate are made up."""
    with tempfile.TemporaryDirectory() as folder:
        scored = score_folder(RunFolder(write_demo(Path(folder))))
    gate = GateResult(MODEL, "substitute", "f1 >= 0.9", "failed", 0.786, 0.61, 0.92, 40, "0.786 is below 0.9")
    choice = Choice("recommended", ("reseller-a",), "Choose reseller-a: the only one that matches the baseline.")
    models = {MODEL: replace(scored.report.models[MODEL], choice=choice)}
    report = replace(scored.report, models=models, warnings=("Temperature 0 hides differences.",), gates=(gate,))
    return replace(scored, report=report)


def bare_run(report: Report) -> ScoredRun:
    """A scored run with this report and no records."""
    found = read_frames([], {}, {})
    frames = {name: getattr(found, name) for name in ("records", "attempts", "evaluations", "texts")}
    return ScoredRun(manifest=some_manifest(run=report.run), report=report, samples={}, **frames)
