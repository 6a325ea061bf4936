"""A sweep: every level that is named, its knee, what falls within its limit, and its files."""

from __future__ import annotations

import csv
import io
from functools import partial
from itertools import count

import capacity_reports
import numpy as np
import pytest
from changing import replace
from load_levels import BOUNDS, SAMPLES, Conduct, curve, told, visit

from vendor_verifier.features.capacity import falls as falls_of
from vendor_verifier.features.capacity.curve import knee, next_step
from vendor_verifier.features.capacity.level import LevelEvidence
from vendor_verifier.features.capacity.limits import read_limits
from vendor_verifier.features.capacity.text import csv_of, told_shape
from vendor_verifier.features.capacity.values import Ended, Point, Session, Stage, Step, Tried
from vendor_verifier.scoring.observation import Observation
from vendor_verifier.words import Texts

SWEPT = replace(BOUNDS, sweep=(1, 2, 4, 8))
GOOD = Conduct()


def test_every_level_is_visited_in_order_whatever_gives_way() -> None:
    """A level that breaks ends no sweep; the outcome is that of a search that saw the same."""
    seen = [Tried(1, "holds", 80)]
    for level, outcome in ((1, "holds"), (2, "broken"), (4, "broken"), (8, "holds")):
        step = next_step(seen, SWEPT)
        assert isinstance(step, Step)
        assert step.level == level
        seen.append(Tried(level, outcome, 40))  # type: ignore[arg-type]
    assert next_step(seen, SWEPT) == Ended("edge", 1)


def test_a_vendor_that_misses_a_limit_without_load_is_swept_all_the_same() -> None:
    """The curve was asked for; that nothing is borne is said at its end."""
    seen = [Tried(1, "broken", 80)]
    assert isinstance(next_step(seen, SWEPT), Step)
    seen += [Tried(level, "broken", 40) for level in SWEPT.sweep]
    assert next_step(seen, SWEPT) == Ended("unloaded", None)


def _point(level: float, per_s: float, seconds: float, **others: object) -> Point:
    point = Point("level", level, 40, 40, 0, {}, "holds", e2e_p50_ms=1000 * seconds, requests_per_s=per_s)
    return replace(point, **others)


def test_the_knee_is_where_power_is_greatest() -> None:
    """Eight at once of two seconds: from eight on no more answers come, and each takes longer."""
    busy = [_point(n, min(n, 8) / 2, 2 * max(1, n / 8)) for n in (1, 2, 4, 8, 16, 32)]
    assert knee(busy) == 8
    assert knee(busy[:4]) is None
    assert knee(busy[:2]) is None
    # A level that our own process spoilt, or that was cut, decides nothing.
    assert knee([*busy[:4], *(replace(one, outcome="client") for one in busy[4:])]) is None
    # Refusals cost no time: power stays where it is, and the lowest level that has it is the knee.
    assert knee([_point(n, min(n, 6), 1.0) for n in (2, 4, 8, 16)]) == 8


def test_a_fall_inside_the_limit_is_said_with_the_level_from_which_on() -> None:
    """Some calls missed from 16 on keep a wide limit, and are told; 8 and less answer as without load."""
    known = curve(("f1 >= ceiling - 0.2",))
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    for level in (2, 8, 16, 32, 64):
        conduct = Conduct(misses=0.15, seed=level) if level >= 16 else GOOD
        assert visit(known, conduct, "level", level, repetitions=4).outcome == "holds"
    found = known.concluded()
    assert [(fall.metric, fall.level) for fall in found.falls] == [("f1", 16)]
    words = next(told_shape(found, "concurrency", Texts()))
    assert words.startswith("F1 against unloaded 1.00 → 0.9")
    assert words.endswith("from 16 in flight on, within the limit you set")


def test_what_misses_its_limit_is_no_fall_inside_it() -> None:
    """The limit says it, and the levels below do not look worse for it."""
    known = curve()
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    visit(known, GOOD, "level", 2)
    visit(known, Conduct(misses=0.5), "level", 4)
    assert known.concluded().falls == ()


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("ttft.p95 <= 2x", "concurrency", "avg_ttft_ms.p95 <= 2x"),
        ("ttft.p95 <= 1.5x", "rate", "ttft_from_schedule_ms.p95 <= 1.5x"),
        ("tps >= 0.5x", "rate", "tps >= 0.5x"),
    ],
)
def test_limits_may_be_so_many_times_the_figure_without_load(text: str, kind: str, shown: str) -> None:
    """``ttft`` is the time that belongs to the kind of load, and replaces the usual limit on it."""
    limits = read_limits([text], kind)  # type: ignore[arg-type]
    assert str(limits[0]) == shown
    assert sum("ttft" in one.metric for one in limits) <= 1


def test_twice_the_time_without_load_is_twice() -> None:
    """At 2.5 times the limit is broken, at 1.5 times kept, and the ratio is what is told."""
    known = curve(("ttft.p95 <= 2x",))
    visit(known, GOOD, "unloaded", 1, repetitions=2)
    kept = visit(known, Conduct(ttft_ms=450), "level", 2, repetitions=4)
    broken = visit(known, Conduct(ttft_ms=750), "level", 4, repetitions=4)
    assert [limit.estimate.value for limit in kept.limits if limit.threshold.times] == [1.5]
    assert kept.outcome == "holds"
    assert [(limit.estimate.value, limit.outcome) for limit in broken.missed] == [(2.5, "broken")]


def test_the_table_has_a_row_for_every_level_of_every_vendor() -> None:
    """Figures as they are, for whoever draws curves of their own; a stranger's label starts no formula."""
    report = capacity_reports.report()
    rows = list(csv.DictReader(io.StringIO(csv_of(report))))
    levels = sum(len(vendor.points) + (vendor.afterwards is not None) for vendor in report.vendors)
    assert len(rows) == levels
    first = rows[0]
    assert (first["stage"], first["level"], first["requests"]) == ("unloaded", "1", str(2 * len(SAMPLES)))
    assert float(first["power"]) == pytest.approx(float(first["requests_per_s"]) / float(first["e2e_p50_ms"]) * 1000)


@pytest.mark.slow
def test_honest_noise_is_said_to_fall_as_rarely_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vendor that misses one call of ten at random, loaded or not: F1 is said to fall in 2.5 % of sweeps of four
    levels at most, as stated; 14 of 200 would be four standard errors more."""
    monkeypatch.setattr(falls_of, "_FIGURES", ("f1",))
    seeds, ids = count(20261123), [sample.id for sample in SAMPLES]

    def rows(stage: Stage, level: int, repetitions: int) -> list[Observation]:
        session = Session("run", stage, level, 0, repetitions, 0)
        return [row for _, row in told(Conduct(misses=0.1, seed=next(seeds)), session)]

    def is_said() -> bool:
        reference = LevelEvidence()
        for row in rows("unloaded", 1, 2):
            reference.add("run", row)
        levels = [falls_of.Loaded(_point(2**k, 1, 1), rows("level", 2**k, 1)) for k in range(4)]
        return any(True for _ in falls_of.falls(levels, reference, ids, partial(np.random.default_rng, 0)))

    assert sum(is_said() for _ in range(200)) < 14
