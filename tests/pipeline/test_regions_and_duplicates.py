"""What a cluster leaves in a run folder comes out of scoring: regions as figures, records made twice as cost alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.store import RunFolder


@pytest.fixture
def scattered(bench: Any) -> Any:
    """A run of two priced vendors over six samples, whose records were then made in two regions."""
    config = bench.configure("official: faithful", "twin: faithful")
    price = "validator: openai\n      price: {input: 1.0, output: 2.0}\n"
    config.write_text(config.read_text().replace("validator: openai\n", price))
    bench.samples(6)
    bench.run("--baseline-repeats", "1")
    records = bench.folder / "run" / "records.jsonl"
    rows = [json.loads(line) for line in records.read_bytes().splitlines()]
    met: set[str] = set()
    for row in rows:
        # Each vendor's first record, whichever vendor was quicker.
        row["region"] = "eu" if row["label"] in met else "us"
        met.add(row["label"])
    records.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bench("score", "run", "--no-history")
    return bench


def scores_of(bench: Any) -> Any:
    scores = json.loads((bench.folder / "run" / "scores.json").read_text())
    return scores, scores["models"]["simulated-model"]


def test_regions_stand_in_every_report(scattered: Any) -> None:
    """By vendor and region in scores.json, report.md and report.html; the counts are those of the records."""
    _, model = scores_of(scattered)
    for figures in model["vendors"].values():
        assert [seen["region"] for seen in figures["regions"]] == ["eu", "us"]
        assert sum(seen["succeeded"] for seen in figures["regions"]) == figures["counts"]["succeeded"]
        assert all(seen["ttft_ms"]["n"] == seen["asked"] for seen in figures["regions"])
    scattered("report", "run", "--format", "html,md")
    for name in ("report.md", "report.html"):
        assert "Latency by region" in (scattered.folder / "run" / name).read_text()


def test_records_made_twice_cost_and_count_nowhere_else(scattered: Any) -> None:
    """With duplicates.jsonl only the vendor's total grows, a warning tells it, and a torn line is named only."""
    before, model_before = scores_of(scattered)
    folder = RunFolder(scattered.folder / "run")
    line = next(line for line in folder.records_file.read_bytes().splitlines() if b'"label": "twin"' in line)
    folder.duplicates_file.write_bytes(line + b"\n" + line[:50])
    assert scattered("score", "run", "--no-history")[0] == 0
    after, model_after = scores_of(scattered)
    was, is_now = (model["judgement"].pop("money") for model in (model_before, model_after))
    assert model_after == model_before
    assert is_now["official"] == was["official"]
    twice = is_now["twin"]["duplicates_usd"]
    assert twice > 0
    assert is_now["twin"] == was["twin"] | {
        "duplicates_usd": twice,
        "total_usd": pytest.approx(was["twin"]["total_usd"] + twice),
    }
    new = [warning for warning in after["warnings"] if warning not in before["warnings"]]
    assert new[0] == "1 record came twice (duplicates.jsonl), paid for and in no score"
    assert new[1].startswith("duplicates.jsonl:2 cannot be read and its cost is not known")
    assert "on records made twice" in (folder.path / "report.md").read_text()
