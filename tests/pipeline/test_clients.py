"""A whole run through the official SDK gives the same records and scores as our own client."""

from __future__ import annotations

import json
from typing import Any

CONFIG = """
simulated-model:
  vendors:
    - {name: simulated, label: official, url: 'sim://faithful', is_baseline: true}
    - {name: simulated, label: poor, url: 'sim://quantised'}
"""


def figures(bench: Any, run: str) -> dict[str, Any]:
    """What does not depend on the clock, by label."""
    scores = json.loads((bench.folder / run / "scores.json").read_text())
    vendors = scores["models"]["simulated-model"]["vendors"]
    keys = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "counts", "failures")
    return {label: {key: row[key] for key in keys} for label, row in vendors.items()}


def test_the_sdk_client_makes_the_same_records(bench: Any) -> None:
    """Same scores; only the manifest tells the clients apart."""
    (bench.folder / "config.yaml").write_text(CONFIG)
    samples = bench.samples(8)
    for client in ("direct", "sdk"):
        code, _, err = bench(
            "--set", f"run.client={client}", "--test-file-path", samples, "-o", client, "--quiet", "--temperature", "0"
        )
        assert code == 0, err
        manifest = json.loads((bench.folder / client / "manifest.json").read_text())
        assert manifest["settings"]["client"] == client
    assert figures(bench, "sdk") == figures(bench, "direct")


def test_a_protocol_without_an_sdk_is_refused(bench: Any) -> None:
    """Before anything is sent."""
    gemini = CONFIG.replace("sim://quantised'", "http://127.0.0.1:9', validator: gemini")
    (bench.folder / "config.yaml").write_text(gemini)
    code, _, err = bench("--set", "run.client=sdk", "--test-file-path", bench.samples(2), "-o", "run")
    assert code == 2
    assert "gemini" in err
