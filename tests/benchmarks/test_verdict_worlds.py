"""Verdicts on simulated runs that earlier judges got wrong, and the script that measures error rates."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
import verdict_rates
from verdict_worlds import BASELINE, HONEST, SUITE, Vice, draw_run, draw_world, results

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.findings.verdict import ModelVerdict, judge
from vendor_verifier.scoring.table import RECORD_COLUMNS

ACCUSED = ("check", "differs", "down")
# A model that gives its likeliest wording nine times in ten.
SURE = 4


def drawn(n: int, *vices: Vice, seed: int = 1, family: str = "independent") -> ModelRun:
    """A run in which nobody fails or breaks a schema without a vice that says so."""
    rng = np.random.default_rng([seed, n])
    world = dataclasses.replace(draw_world(rng, family, n), fails=0.0, breaks=0.0, retried=0.0)
    return draw_run(rng, world, vices)


def judged(run: ModelRun) -> ModelVerdict:
    return judge(run, results(run))


def changed(run: ModelRun, label: str, rows: Sequence[int], **columns: Any) -> ModelRun:
    """The run with some of a vendor's records changed, given by their places in its order of sending."""
    records = run.records.astype(object)
    for name, value in columns.items():
        records.loc[run.rows[label].index[list(rows)], name] = value
    return dataclasses.replace(run, records=typed(records))


def typed(records: pd.DataFrame) -> pd.DataFrame:
    return records.astype({column.name: column.dtype for column in RECORD_COLUMNS})


def failing(run: ModelRun, label: str, rows: Sequence[int]) -> ModelRun:
    unknown = [
        "ttft_ms",
        "decode_s",
        "e2e_ms",
        "input_tokens",
        "output_tokens",
        "tokens_after",
        "digest",
        "call_digest",
    ]
    return changed(
        run, label, rows, ok=False, failure="http_5xx", charge="vendor", decision="undecided", calls=0, classes=None,
        **dict.fromkeys(unknown, np.nan),
    )  # fmt: skip


@pytest.mark.parametrize(("failures", "n"), [(5, 60), (6, 24), (8, 8), (26, 315)])
@pytest.mark.parametrize("rivals", [0, 4])
def test_a_vendor_that_keeps_failing_is_not_chosen(failures: int, n: int, rivals: int) -> None:
    run = failing(drawn(n, *[HONEST] * (rivals + 1)), "v0", np.linspace(0, n - 1, failures).astype(int).tolist())
    found = judged(run)
    assert found.verdicts["v0"].status in ("check", "differs", "down", "not_tested")
    assert found.verdicts["v0"].facets["reliability"].status != "matches"
    assert "v0" not in found.choice.labels


@pytest.mark.parametrize("seed", range(3))
def test_one_changed_character_in_arguments_differs(seed: int) -> None:
    found = judged(drawn(315, Vice(rewrites=0.9), HONEST, HONEST, HONEST, seed=seed))
    assert found.verdicts["v0"].facets["tool_calls"].status == "differs"


@pytest.mark.parametrize("seed", range(5))
def test_a_shorter_template_is_not_a_cut_prompt(seed: int) -> None:
    run = drawn(315, HONEST, HONEST, seed=seed)
    records = run.records.copy()
    records.loc[records.label == "v0", "input_tokens"] -= 40
    found = judged(dataclasses.replace(run, records=records))
    assert found.verdicts["v0"].status not in ACCUSED


def test_outages_of_twenty_requests_are_rarely_accused() -> None:
    """2 % of the time down, in stretches, as often as the baseline; of 40 at 1 % more than 3 happen once in 1,000."""
    statuses: Counter[str] = Counter()
    for seed in range(10):
        run = drawn(315, *[HONEST] * 4, seed=seed, family="drifting")
        statuses.update(judged(run).verdicts[label].facets["reliability"].status for label in run.vendors)
    assert sum(statuses[each] for each in ACCUSED) <= 3


def test_a_tenth_of_calls_breaking_their_schema_hardly_matches() -> None:
    """The reach is found in 8 of 10 runs; with little evidence the facet is not tested."""
    runs = [judged(drawn(150, Vice(breaks=0.1), HONEST, seed=seed)) for seed in range(10)]
    statuses = Counter(each.verdicts["v0"].facets["tool_calls"].status for each in runs)
    assert statuses["matches"] <= 3
    assert statuses["check"] + statuses["differs"] >= 5


@pytest.mark.parametrize("seed", range(3))
def test_slowness_is_tested_against_the_line(seed: int) -> None:
    found = judged(drawn(315, Vice(slower=1.27), Vice(slower=2.0), HONEST, seed=seed))
    assert found.verdicts["v0"].facets["speed"].status in ("matches", "check")
    assert found.verdicts["v1"].facets["speed"].status == "check"
    assert all(finding.name != "slow" or finding.vendor != "v2" for finding in found.findings)


def test_a_baseline_that_changes_its_model_tests_nothing() -> None:
    """By its served name, and by its answers alone, where the other model repeats itself less."""
    run = drawn(315, HONEST, HONEST)
    renamed = changed(run, BASELINE, range(315, 630), served_model="simulated-mini-8b")
    other = drawn(315, HONEST, HONEST, Vice(other=1), Vice(other=1), seed=SURE)
    for found in (judged(renamed), judged(_replaced(other))):
        assert found.verdicts["v0"].facets["tool_calls"].status == "not_tested"
        assert found.verdicts["v0"].facets["model"].status == "not_tested"
        assert found.choice.kind == "undecided"


def _replaced(run: ModelRun) -> ModelRun:
    """The run whose baseline answers as v2 and v3 do in the second half; they are left out."""
    late = {f"s{i}" for i in range(run.planned["v0"] // 2, run.planned["v0"])}
    records = run.records.astype({"label": object, "sample": object})
    is_late = records["sample"].isin(late)
    kept = records[records["label"].isin(["v0", "v1"]) | ((records["label"] == BASELINE) & ~is_late)]
    swapped = [records[is_late & (records["label"] == label)] for label in ("v2", "v3")]
    parts = [part.assign(label=BASELINE, repetition=turn) for turn, part in enumerate(swapped)]
    texts = {label: dict(run.texts[label]) for label in (BASELINE, "v0", "v1")}
    for sample in late:
        question = (SUITE, sample)
        both = {turn: run.texts[label].get(question, {}).get(0) for turn, label in enumerate(("v2", "v3"))}
        texts[BASELINE][question] = {turn: answer for turn, answer in both.items() if answer is not None}
    return dataclasses.replace(
        run,
        labels=(BASELINE, "v0", "v1"),
        records=typed(pd.concat([kept, *parts], ignore_index=True)),
        attempts=run.attempts.iloc[:0],
        texts=texts,
    )


def test_the_rates_are_measured_in_few_runs(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.argv", ["verdict_rates.py", "--share", "0.001", "--family", "independent"])
    monkeypatch.setattr(verdict_rates, "VICES", (HONEST, Vice("another model", other=1)))
    assert verdict_rates.main() == 0
    assert "| another model | 100 % |" in capsys.readouterr().out
