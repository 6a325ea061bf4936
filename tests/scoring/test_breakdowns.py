"""Tables of times, calls, groups, pace and goodput."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_records import BASE, MS, RIVAL, SAMPLES, bad, everything, frames, ok, record, timing
from msgspec import structs

from vendor_verifier.findings.gates import parse_slo
from vendor_verifier.records.record import Score
from vendor_verifier.records.sample import Samples
from vendor_verifier.scoring.breakdowns import distributions, goodput, group_scores, pace, regions
from vendor_verifier.scoring.table import has_bad_call, judged_calls, read_frames
from vendor_verifier.suites.trigger import TriggerSuite


def at(place: int, second: float, took_s: float = 1.0, **changes: Any) -> Any:
    """An answer that was sent at a second of the first minute of 2026."""
    moment = f"2026-01-01T00:00:{second:06.3f}+00:00"
    end = int(took_s * 1e9)
    timed = timing(100, sent_at=moment, end_ns=end, last_token_ns=end)
    return record(RIVAL, place, ok(timed=timed), **changes)


def test_distributions() -> None:
    """Numpy's percentiles, by label and metric; what nobody was measured on is left out."""
    made = [record(RIVAL, place, ok(timed=timing(float(100 * (place + 1))))) for place in range(6)]
    found = distributions(frames([*made, record(BASE, 0, bad())]).records)
    row = found.loc["rival", "ttft_ms"]
    times = [100.0, 200, 300, 400, 500, 600]
    assert row.tolist() == pytest.approx([6, 350, *np.percentile(times, [50, 90, 95, 99]), 100, 600])
    assert set(found.loc["rival"].index) == {"ttft_ms", "ttfat_ms", "tpot_ms", "request_tps", "e2e_ms"}
    assert found.loc[("rival", "tpot_ms"), "mean"] == pytest.approx(1000 / 99)
    assert found.loc[("official", "ttft_ms"), "n"] == 0
    assert distributions(frames([]).records).empty


@pytest.mark.lateness
def test_a_distribution_with_too_many_discarded() -> None:
    late = ok(timed=timing(our_lateness_ns=60 * MS))
    found = distributions(frames([record(RIVAL, place, ok() if place else late) for place in range(4)]).records)
    assert found.loc[("rival", "ttft_ms"), "n"] == 0
    assert np.isnan(found.loc[("rival", "ttft_ms"), "p95"])
    assert found.loc[("rival", "e2e_ms"), "n"] == 4


@pytest.mark.parametrize(
    ("classes", "lenient", "strict", "bad_call"),
    [
        (None, (0, 0), (0, 0), 0),
        ("valid", (1, 1), (1, 1), 0),
        ("valid,invalid_json", (1, 2), (1, 2), 1),
        ("empty_arguments", (1, 1), (0, 1), 1),
        ("valid_in_dialect,schema_unusable", (1, 1), (0, 2), 0),
        ("not_judged,valid", (1, 1), (1, 1), np.nan),
        ("not_judged,unknown_tool", (0, 1), (0, 1), 1),
    ],
)
def test_verdicts_on_calls(
    classes: str | None, lenient: tuple[int, int], strict: tuple[int, int], bad_call: float
) -> None:
    """Valid and counted calls under both policies, and whether one is bad as OpenRouter counts."""
    column = pd.Series([classes], dtype="category")
    assert tuple(counts[0] for counts in judged_calls(column)) == lenient
    assert tuple(counts[0] for counts in judged_calls(column, "strict")) == strict
    assert has_bad_call(column)[0] == pytest.approx(bad_call, nan_ok=True)


def test_scores_of_groups() -> None:
    """Means by category, without what is not charged to the vendor."""
    tags: list[dict[str, Any]] = [{"category": "a"}, {"category": "a"}, {"category": "b", "difficulty": "hard"}, {}]
    samples = Samples([structs.replace(SAMPLES[place], tags=each) for place, each in enumerate(tags)])
    made = [
        record(RIVAL, place, each, suite="toolbench", score=Score("toolbench", values={"resolved": value}))
        for place, (each, value) in enumerate([(ok(), 1.0), (bad("harness"), 0.0), (bad(), 0.0), (ok(), 1.0)])
    ]
    found = read_frames(made, {"toolbench": TriggerSuite("toolbench")}, {"toolbench": samples})
    assert group_scores(found.evaluations, found.records) == {
        ("m", "rival", "toolbench"): {
            "category": {"a": {"resolved": 1.0}, "b": {"resolved": 0.0}}, "difficulty": {"hard": {"resolved": 0.0}},
        }
    }  # fmt: skip


def test_regions() -> None:
    """By vendor and region; empty where no worker names one."""
    made = [at(0, 0, region="eu"), at(1, 0, region="eu"), record(RIVAL, 2, bad(), region="us"), at(3, 0)]
    found = regions(frames(made).records)
    assert found["asked"].to_dict() == {("rival", "eu"): 2, ("rival", "us"): 1}
    assert found["success_rate"].tolist() == [1.0, 0.0]
    assert regions(frames(everything(RIVAL)).records).empty


def test_pace() -> None:
    """Requests in flight and answers a second, over the time in which anything was in flight; of a rate over all."""
    found = frames([at(0, 0), at(1, 0.5), at(2, 10)])
    row = pace(found.records, found.attempts).loc["rival"]
    assert row["seconds"] == pytest.approx(2.5)
    assert (row["requests"], row["most_in_flight"]) == (3, 2)
    assert row["in_flight"] == pytest.approx(3 / 2.5)
    assert row["answers_per_s"] == row["requests_per_s"] == pytest.approx(3 / 2.5)
    assert row["tokens_per_s"] == pytest.approx(300 / 2.5)
    whole = pace(found.records, found.attempts, counts_idle=True).loc["rival"]
    assert (whole["seconds"], whole["requests_per_s"]) == pytest.approx((11, 3 / 11))


@pytest.mark.lateness
def test_goodput() -> None:
    """A failure keeps nothing, an answer in one piece has no TTFT, and what we read late is not asked."""
    late = ok(timed=timing(our_lateness_ns=90 * MS))
    made = [ok(), ok(timed=timing(500)), bad(), bad("harness"), ok(streamed=False), late]
    rows = frames([record(RIVAL, place, each) for place, each in enumerate(made)]).records
    found = goodput(rows, [parse_slo("ttft_ms <= 200"), parse_slo("e2e_ms <= 5000")]).loc["rival"]
    assert found[["asked", "good", "failed", "unmeasured", "share"]].tolist() == [4, 1, 1, 1, 0.25]
