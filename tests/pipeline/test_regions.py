"""What a cluster leaves in a run folder comes out of scoring: regions as figures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vendor_verifier.pipeline.score import score_folder
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
    bench("score", "run", "--history", "none")
    return bench


def test_regions_are_in_the_reports(scattered: Any) -> None:
    """By vendor and region; the counts are those of the records."""
    scored = score_folder(RunFolder(scattered.folder / "run"))
    assert scored.records.groupby(["label", "region"], observed=True).size().tolist() == [5, 1, 5, 1]
    scattered("report", "run", "--format", "html,md")
    for name in ("report.md", "report.html"):
        text = (scattered.folder / "run" / name).read_text()
        assert "Region" in text
        assert "eu" in text
