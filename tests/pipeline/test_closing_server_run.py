"""Whole commands against a server that closes the connections it promised to keep: it is accused of nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from closing_server import ANSWER, ClosingServer


def configure(folder: Path, url: str) -> Path:
    """A config of one vendor at ``url``."""
    path = folder / "config.yaml"
    price = "price: {input: 1, output: 1}"
    entry = f"{{name: simulated, label: shut, model_id: m, validator: openai, url: '{url}', {price}}}"
    path.write_text(f"simulated-model:\n  vendors:\n    - {entry}\n", encoding="utf-8")
    return path


def loses_the_second(_connection: int, nth: int) -> bytes | None:
    return ANSWER if nth == 1 else None


def test_a_run_says_how_many_requests_were_sent_again(bench: Any) -> None:
    """Records and manifest agree on the number; all succeed at the first try."""
    bench.samples(12)
    with ClosingServer(None, loses_the_second) as server:
        configure(bench.folder, server.url())
        _, scores = bench.run("--retries", "0", "--request-concurrency", "1")
    folder = bench.folder / "run"
    (model,) = scores["models"].values()
    shut = model["vendors"]["shut"]
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    marked = [attempt["resent"] for record in records for turn in record["turns"] for attempt in turn["attempts"]]
    resent = sum(marked)
    assert 2 <= resent == server.requests - 12
    assert (shut["success_rate"], shut["failures"], shut["verdict"]["status"]) == (1.0, {}, "not_tested")
    assert json.loads((folder / "manifest.json").read_text())["resent"] == {"simulated-model: shut": resent}
    twice = next(record["sample"] for record in records if record["turns"][0]["attempts"][0]["resent"])
    _, told, _ = bench("explain", folder, "--vendor", "shut", "--sample", twice)
    assert "attempt 1, sent again on a new connection" in told
