"""Verdicts on simulated runs that earlier judges got wrong, and the script that measures error rates."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import verdict_rates
from verdict_worlds import HONEST, Vice, draw_run, draw_world, results

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.findings.verdict import ModelVerdict, judge

ACCUSED = ("check", "differs", "down")


def drawn(n: int, *vices: Vice, seed: int = 1, family: str = "independent") -> ModelRun:
    """A run in which nobody fails or breaks a schema without a vice that says so."""
    rng = np.random.default_rng([seed, n])
    world = dataclasses.replace(draw_world(rng, family, n), fails=0.0, breaks=0.0, retried=0.0)
    return draw_run(rng, world, vices)


def judged(run: ModelRun) -> ModelVerdict:
    return judge(run, results(run))


def test_outages_are_rarely_accused() -> None:
    """2 % of the time down, in stretches, as often as the baseline; more than 2 accusations are rare."""
    statuses: Counter[str] = Counter()
    for seed in range(2):
        found = judged(drawn(315, *[HONEST] * 4, seed=seed, family="drifting"))
        statuses.update(each.facets["reliability"].status for each in found.verdicts.values())
    assert sum(statuses[each] for each in ACCUSED) <= 2


def test_a_tenth_of_calls_breaking_their_schema_hardly_matches() -> None:
    """The reach is found in 8 of 10 runs; with little evidence the facet is not tested."""
    runs = [judged(drawn(150, Vice(breaks=0.1), HONEST, seed=seed)) for seed in range(4)]
    statuses = Counter(each.verdicts["v0"].facets["tool_calls"].status for each in runs)
    assert statuses["matches"] <= 1
    assert statuses["check"] + statuses["differs"] >= 2


@pytest.mark.parametrize("seed", range(2))
def test_slowness_is_tested_against_the_line(seed: int) -> None:
    found = judged(drawn(315, Vice(slower=1.27), Vice(slower=2.0), HONEST, seed=seed))
    assert found.verdicts["v0"].facets["speed"].status in ("matches", "check")
    assert found.verdicts["v1"].facets["speed"].status == "check"
    assert all(finding.name != "slow" or finding.vendor != "v2" for finding in found.findings)


def test_the_rates_are_written_into_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "verdict.md"
    page.write_text(verdict_rates.PAGE.read_text("utf-8"), "utf-8")
    monkeypatch.setattr(verdict_rates, "PAGE", page)
    monkeypatch.setattr(verdict_rates, "VICES", (HONEST, Vice("another model", other=1)))
    monkeypatch.setattr(verdict_rates, "SIZES", (60,))
    monkeypatch.setattr(verdict_rates, "HONEST_RUNS", {1: 1})
    monkeypatch.setattr("sys.argv", ["verdict_rates.py", "--share", "0.001", "--family", "independent", "--write"])
    assert verdict_rates.main() == 0
    before, written, after = re.split("<!-- (?:error rates|end of error rates) -->", page.read_text("utf-8"))
    assert "| another model | 100 |" in written
    assert before.startswith("# The verdict")
    assert after.endswith("\n")
