"""One simulated model behind several protocols, compared by the main job from command line to scores."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest
from questions import shipped_bodies

from vendor_verifier.cli.main import run_app

WIRES = ("openai", "openai_responses", "anthropic", "gemini")


def test_the_faithful_vendor_is_itself_over_every_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trigger F1 against chat is 1 over every protocol, every answer succeeds, and the bill is the same."""
    monkeypatch.chdir(tmp_path)
    lines = ["simulated-model:", "  vendors:"]
    for wire in WIRES:
        baseline = ", is_baseline: true" if wire == "openai" else ""
        lines.append(
            f"    - {{name: simulated, label: {wire}, model_id: m, url: 'sim://faithful', validator: {wire}{baseline}}}"
        )
    Path("config.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    bodies = [json.dumps(row) for row in islice(shipped_bodies(), 0, None, 13)]
    Path("samples.jsonl").write_text("\n".join(bodies) + "\n", encoding="utf-8")
    options = ["--config-file-path", "config.yaml", "--test-file-path", "samples.jsonl", "-o", "run", "--quiet"]
    # One answer a sample from each, so that the counts themselves can be compared.
    options += ["--baseline-repeats", "1"]
    assert run_app(options) == 0
    vendors = json.loads(Path("run/scores.json").read_text(encoding="utf-8"))["models"]["simulated-model"]["vendors"]
    assert set(vendors) == set(WIRES)
    for row in vendors.values():
        assert (row["f1"], row["success_rate"]) == (1.0, 1.0)
        assert row["decisions"] == vendors["openai"]["decisions"]
        assert row["counts"]["calls"] == vendors["openai"]["counts"]["calls"] > 0
    exact = {vendors[wire]["avg_tokens"] for wire in WIRES if wire != "gemini"}
    assert max(exact) - min(exact) < 3
