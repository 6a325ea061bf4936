"""A baseline that is asked everything twice ends together with its equals, and is neither better nor worse for it."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime

import equal_vendors
import numpy as np
import pytest
from equal_vendors import entries
from scipy.stats import chisquare
from synthetic_run import samples

from vendor_verifier.audit.behaviour import conduct
from vendor_verifier.records.judgement import Finding, RankingJudgement
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Record
from vendor_verifier.records.score import ModelScore, PlayedTask
from vendor_verifier.run.baseline_pace import BaselinePace
from vendor_verifier.run.work_queue import Stream
from vendor_verifier.scoring.collect import Tables
from vendor_verifier.scoring.score_run import score_run
from vendor_verifier.stats.judge_ranking import judge_ranking
from vendor_verifier.stats.ratio_table import trials_of

VENDORS, SAMPLES, RUNS = 7, 60, 100


def sent_s(record: Record) -> float:
    timing = record.turns[0].attempts[0].timing
    assert timing is not None
    return datetime.fromisoformat(timing.sent_at).timestamp()


def scored(records: list[Record]) -> tuple[ModelScore, RankingJudgement, list[Finding]]:
    """The scores of a run of equal vendors, its judged order and the findings on its vendors."""
    asked = samples(SAMPLES)
    infos = [
        EntryInfo("m", f"v{n}", "plain", "m", is_baseline=n == 0, repeat=2 if n == 0 else 1) for n in range(VENDORS)
    ]
    tables = Tables()
    report = score_run(infos, [PlayedTask("trigger", asked)], records, repeat=1, run="run", tables=tables)
    ids = {"trigger": [sample.id for sample in asked]}
    order = list(dict.fromkeys(record.sample for record in sorted(records, key=sent_s)))
    rows = {info.label: tables.rows["m", info.label] for info in infos}
    trials = [trials_of(i.label, rows[i.label], ids, repeat=i.repeat or 1, complete=True) for i in infos]
    ranking = judge_ranking(trials, order, np.random.default_rng(0), baseline="v0", resamples=200)
    return report.models[0], ranking, list(conduct(rows, "v0", ranking, ()))


def over(records: list[Record], label: str) -> float:
    """When the last of a vendor's requests was sent."""
    return max(sent_s(record) for record in records if record.label == label)


def test_all_end_together() -> None:
    """Of the baseline's requests, twice as many as anybody's, next to none is sent after the others are through."""
    records = equal_vendors.run(0, VENDORS, SAMPLES)
    others = min(over(records, f"v{n}") for n in range(1, VENDORS))
    alone = sum(record.label == "v0" and sent_s(record) > others for record in records)
    assert Counter(record.label for record in records) == {"v0": 2 * SAMPLES} | {
        f"v{n}": SAMPLES for n in range(1, VENDORS)
    }
    assert alone <= 0.1 * 2 * SAMPLES


def test_a_slower_vendor_is_not_held_back() -> None:
    """One that takes three times as long ends no later than it would beside a baseline that is asked once."""
    held, free = (equal_vendors.run(0, 2, SAMPLES, repeats, {"v1": 3.0}) for repeats in (2, 1))
    begin = min(map(sent_s, held))
    assert over(held, "v1") - begin <= 1.1 * (over(free, "v1") - begin)


def test_nobody_waits_for_a_baseline_that_is_asked_nothing_more() -> None:
    """Once it was stopped, or the run takes nothing new, whoever waited for it goes on to its end."""

    async def everything() -> int:
        lead, held = (
            Stream(entry, 2, left, iter(()), left // 10) for entry, left in zip(entries(2), (20, 10), strict=True)
        )
        pace = BaselinePace([lead, held])
        waiting = [asyncio.create_task(pace.wait(held)) for _ in range(held.left)]
        await asyncio.sleep(0)
        before = sum(task.done() for task in waiting)
        pace.end_one(lead, is_last=True)
        async with asyncio.timeout(5):
            await asyncio.gather(*waiting)
        return before

    assert asyncio.run(everything()) == 1


def test_ranks_and_their_resamples_go_by_the_same_times() -> None:
    """Where a slow vendor goes on alone, IRF in the ranking and in its judgement are the same number for everybody, and
    which rows the times were compared over is said."""
    model, ranking, _ = scored(equal_vendors.run(1, VENDORS, SAMPLES, slowness={"v6": 3.0}))
    assert {each.label: each.irf.value for each in ranking.irf} == pytest.approx(
        {vendor.label: vendor.irf for vendor in model.vendors}
    )
    assert any(each.second == "v6" and each.second_n < each.second_of for each in ranking.overlaps)


@pytest.mark.slow
def test_among_equals_being_first_is_chance_and_nobody_is_accused() -> None:
    """100 runs of a baseline and six equals on a machine that warms up and whose load drifts: who comes first is
    uniform (chi-square at 1 %), and no finding names anybody."""
    first: Counter[str] = Counter()
    for seed in range(100):
        model, _, findings = scored(equal_vendors.run(seed, VENDORS, SAMPLES))
        best = [vendor.label for vendor in model.vendors if (vendor.irf or 0) >= (model.vendors[0].irf or 0) - 1e-12]
        first.update({label: 1 / len(best) for label in best})
        assert not findings, (seed, findings)
    assert chisquare([first[f"v{n}"] for n in range(VENDORS)]).pvalue > 0.01, first
