"""What a cluster leaves in a run folder comes out of scoring: regions as figures, records made twice as cost alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

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
    bench("score", "run", "--no-history")
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


def test_records_made_twice_are_in_the_costs_only(scattered: Any) -> None:
    """With duplicates.jsonl only the vendor's total grows, a warning says so, and a torn line is named."""
    folder = RunFolder(scattered.folder / "run")
    before = score_folder(folder)
    line = next(line for line in folder.records_file.read_bytes().splitlines() if b'"label": "twin"' in line)
    folder.duplicates_file.write_bytes(line + b"\n" + line[:50])
    after = score_folder(folder)
    assert after.report.models == before.report.models
    was, is_now = (scored.money["simulated-model", "twin"] for scored in (before, after))
    twice = is_now.duplicates_usd or 0
    assert twice > 0
    assert is_now == structs.replace(was, duplicates_usd=twice, total_usd=pytest.approx(was.total_usd + twice))
    new = [warning for warning in after.report.warnings if warning not in before.report.warnings]
    assert new[0].startswith("duplicates.jsonl:2 cannot be read, so its cost is missing")
    assert new[1].startswith("1 record came twice (duplicates.jsonl)")
