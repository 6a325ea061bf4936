"""Evidence over the runs of a history: found where one night shows too little, dated, and never of another baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from changing import replace
from histories import night

from vendor_verifier.audit.nightly_evidence import unlike_over_nights
from vendor_verifier.values.history import HistoryRun


def history(p_values: Sequence[float], *, baseline: str = "official", test: str = "probes") -> list[HistoryRun]:
    """Nights on which ``v`` had these p-values beside the baseline, and ``twin`` unremarkable ones."""
    runs = []
    for number, p_value in enumerate(p_values):
        run = night(number, {baseline: 1.0, "v": 1.0, "twin": 1.0})
        chances = {"v": {test: p_value}, "twin": {test: 0.5}}
        entries = tuple(
            replace(each, is_baseline=each.label == baseline, chances=chances.get(each.label, {}))
            for each in run.entries
        )
        runs.append(replace(run, entries=entries))
    return runs


def test_nights_that_prove_nothing_alone_prove_it_together() -> None:
    """Each at 3 %, far from 1 % over two vendors: after some nights it is said, with their number and since when."""
    runs = history([0.03] * 8)
    told = [list(unlike_over_nights(runs[:end])) for end in range(1, 9)]
    assert told[0] == told[1] == []
    [(model, found)] = told[-1]
    assert (model, found.label, found.name) == ("m", "v", "unlike_over_nights")
    assert (found.evidence["nights"], found.evidence["test"], found.evidence["run"]) == (8, "probes", "night-000")
    assert 0 < float(found.evidence["chance"]) <= 0.01
    assert "answers of one token" in found.statement


def test_a_change_after_many_quiet_nights_is_dated() -> None:
    """The quiet nights before it do not bury it."""
    rng = np.random.default_rng(4)
    runs = history([*rng.uniform(0.2, 1, 30), *[0.002] * 5], test="answers")
    [(_, found)] = unlike_over_nights(runs)
    assert str(found.evidence["run"]) in {f"night-{number:03d}" for number in (29, 30, 31)}
    assert list(unlike_over_nights(runs[:30])) == []


def test_one_night_has_its_own_finding() -> None:
    """However small its p-value."""
    assert list(unlike_over_nights(history([1e-9]))) == []
    assert list(unlike_over_nights([])) == []


def test_only_whole_runs_beside_the_same_baseline_count() -> None:
    """A history begins anew with another baseline, and half a run is no night."""
    old, new = history([0.001] * 6, baseline="another"), history([0.3])
    assert list(unlike_over_nights([*old, *new])) == []
    halves = [replace(run, complete=False) for run in history([0.001] * 6)]
    assert list(unlike_over_nights([*halves, *new])) == []
    assert len(list(unlike_over_nights(old))) == 1
