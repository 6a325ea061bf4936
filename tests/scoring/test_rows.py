"""Observations and ratios in columns: the same as a dictionary of objects, in a fraction of its memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from observed import table_of

from vendor_verifier.metrics import POOLED, RECORD_METRICS
from vendor_verifier.records.event import Usage
from vendor_verifier.scoring.observation import Observation, Traits, Try
from vendor_verifier.scoring.observation_table import ObservationTable, known
from vendor_verifier.scoring.row_keys import Key, Unit, Units
from vendor_verifier.stats.ratio_table import RatioColumn, trials_of

COUNTS = st.none() | st.integers(0, 2**53)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, st.none() | st.floats(0, 9))
TRIES = st.builds(Try, USAGES, *[st.booleans()] * 5, st.none() | st.floats(0, 1e9), st.none() | st.floats(0, 1e9))
ROWS = st.builds(
    Observation,
    sample=st.sampled_from("abcd"),
    repetition=st.integers(0, 2),
    traits=st.builds(
        Traits,
        suite=st.just("trigger"),
        succeeded=st.booleans(),
        decision=st.sampled_from(["called", "not_called", "undecided"]),
        failure=st.sampled_from([None, "http_5xx", "harness"]),
        served_model=st.sampled_from([None, "m", "n"]),
    ),
    values=st.tuples(*(COUNTS if each.unit == "tokens" else st.none() | st.floats(0, 1e9) for each in RECORD_METRICS)),
    pooled=st.tuples(*[st.none() | st.tuples(st.floats(0, 1e6), st.floats(0, 1e6))] * len(POOLED)),
    sent_s=st.none() | st.floats(0, 1e9),
    response_id=st.none() | st.text(min_size=1),
    digest=st.none() | st.integers(1, 2**64 - 1),
    tries=st.lists(TRIES, max_size=2).map(tuple),
)
COUNT = 3000


@given(st.lists(ROWS, max_size=12))
def test_a_table_is_a_dictionary_of_the_rows_that_stand(came: list[Observation]) -> None:
    """A success replaces a failure under its key, else the first stands; all come back to the last digit."""
    table, expected = table_of(came), dict[Key, Observation]()
    for row in came:
        if row.key not in expected or (row.traits.succeeded and not expected[row.key].traits.succeeded):
            expected[row.key] = row
    assert dict(table.entries()) == {key: row.traits for key, row in expected.items()}
    for found, row in zip(table.every(), expected.values(), strict=True):
        assert (found.key, found.traits, found.sent_s) == (row.key, row.traits, row.sent_s)
        assert (found.response_id, found.digest, found.tries) == (row.response_id, row.digest, row.tries[-1:])
    for place, metric in enumerate(RECORD_METRICS):
        values = [row.values[place] for row in expected.values() if row.values[place] is not None]
        assert repr(known(table.column(metric.name), metric.name)) == repr(values)
    assert list(table.tries) == [each for row in came for each in row.tries]


@given(st.lists(ROWS, min_size=1, max_size=12))
def test_a_frame_of_pandas_holds_the_same(came: list[Observation]) -> None:
    """A row a record that stands, a column a metric, what was not measured missing."""
    table = table_of(came)
    frame = table.frame()
    assert list(zip(frame["suite"], frame["sample"], frame["repetition"], strict=True)) == [
        key for key, _ in table.entries()
    ]
    assert list(frame["decision"]) == [traits.decision for traits in table.traits()]
    assert frame["ttft_ms"].dropna().tolist() == known(table.column("ttft_ms"))


def test_what_another_provider_served_is_set_aside_for_figures_alone() -> None:
    """It is in no count and no column, but its bill is."""
    mine, theirs = (
        Observation(name, 0, Traits(succeeded=True, served_provider=name), tries=(Try(Usage(1, 2)),))
        for name in ("mine", "theirs")
    )
    table = table_of([mine, theirs])
    assert table.set_misrouted_aside("mine") == "theirs"
    assert [key for key, _ in table.entries()] == [mine.key]
    assert (len(table), len(list(table.every()))) == (1, 2)
    assert table.lacking(theirs.key[0], ["theirs", "other"], 0) == ["other"]
    assert [unit for unit, _ in table.billed()] == [("mine", 0), ("theirs", 0)]


@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("abcd"), st.integers(0, 1), st.integers(0, 9))))
def test_ratio_columns_are_dictionaries_of_sums(steps: list[tuple[str, str, int, int]]) -> None:
    """Two metrics over the same units, each with those that measured it."""
    units: list[Unit] = [(sample, number) for sample in "abcd" for number in (0, 1)]
    for metric in "xy":
        own = [((sample, number), value) for name, sample, number, value in steps if name == metric]
        column = RatioColumn(Units.of(units), [units.index(unit) for unit, _ in own], [value for _, value in own])
        expected: dict[Unit, tuple[float, float]] = {}
        for unit, value in own:
            before = expected.get(unit, (0.0, 0.0))
            expected[unit] = (before[0] + value, before[1] + 1.0)
        assert column == expected
        assert dict(column.items()) == expected
        assert (len(column), ("z", 0) in column) == (len(expected), False)


def test_a_record_takes_little_while_its_run_is_scored() -> None:
    """Facts, eight metrics, who answered and what it cost: under 700 bytes, a quarter of what objects take."""
    # Columns grow in steps: a number just beyond one of them tells of the step.
    sizes = [_held_bytes(count) for count in (COUNT, 2 * COUNT)]
    assert sum(sizes) / (3 * COUNT) < 700


def test_judging_holds_no_column_longer_than_it_is_used() -> None:
    """The statistics' input takes under 270 bytes a record at its peak, most of them the decisions by sample."""
    table = _scored(3 * COUNT)["table"]
    planned = {"trigger": [sample for (_, sample, _), _ in table.entries()]}
    trials_of("a", table, planned, repeat=1, complete=True)
    tracemalloc.start()
    trials_of("a", table, planned, repeat=1, complete=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak / (3 * COUNT) < 270


def _held_bytes(count: int) -> int:
    tracemalloc.start()
    held = _scored(count)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held["table"]) == count
    return size


def _scored(count: int) -> Mapping[str, Any]:
    table = ObservationTable()
    for number in range(count):
        traits = Traits(succeeded=True, attempts=1, decision="called", classes=("valid",), served_model="m")
        table.add(
            Observation(
                f"{number:018}", 0, traits,
                values=tuple(number + place / 7 for place in range(len(RECORD_METRICS))),
                pooled=((number / 3, 1.5), None),
                sent_s=number / 9,
                response_id=f"chatcmpl-{number:024}",
                digest=number + 1,
                tries=(Try(Usage(1000 + number, 20), useful=True, begin_s=1.0, seconds=2.0),),
            )
        )  # fmt: skip
    units = table.units()
    columns = [RatioColumn(units, range(count), table.sent()) for _ in range(8)]
    return {"table": table, "columns": columns}
