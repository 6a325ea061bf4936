"""Facts, ratios, identities and bills in columns: the same as a dictionary of objects, in a fraction of its memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.audit.answer_table import BilledAttempts, Claims, IdentityRows
from vendor_verifier.audit.cost import BilledAttempt
from vendor_verifier.audit.identity import IdentityRow
from vendor_verifier.metrics import METRICS
from vendor_verifier.metrics.throughput import Decoding
from vendor_verifier.scoring.observation import Facts
from vendor_verifier.scoring.observation_table import Key, Rows
from vendor_verifier.stats.ratio_table import RatioColumn, Unit, Units
from vendor_verifier.values.event import Usage

NUMBERS = st.none() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False)
SUMS = st.none() | st.builds(Decoding, st.floats(0, 1e6), st.floats(0, 1e6))
FACTS = st.builds(
    Facts,
    suite=st.just("trigger"),
    succeeded=st.booleans(),
    succeeded_first_try=st.booleans(),
    attempts=st.integers(0, 3),
    decision=st.sampled_from(["called", "not_called", "undecided"]),
    classes=st.sampled_from([(), ("valid",), ("valid", "invalid_json")]),
    values=st.tuples(*[NUMBERS] * len(METRICS)),
    decoding=SUMS,
    delivery=SUMS,
    failure=st.sampled_from([None, "http_5xx", "harness"]),
    finish_reason=st.none(),
    served_model=st.sampled_from([None, "m", "n"]),
    served_provider=st.none(),
    anomalies=st.just(()),
    scores=st.sampled_from([(), (("resolved", 0.5),), (("resolved", None),)]),
)
KEYS: st.SearchStrategy[Key] = st.tuples(st.just("trigger"), st.sampled_from("abcd"), st.integers(0, 2))
COUNT = 3000


def told(facts: Facts) -> str:
    """Exactly, so that 1 is not 1.0."""
    return repr(facts)


@given(st.lists(st.tuples(KEYS, st.none() | FACTS), max_size=12))
def test_rows_are_a_dictionary_of_facts(steps: list[tuple[Key, Facts | None]]) -> None:
    """Set, replaced and taken out in any order: the same facts in the same order, to the last digit."""
    rows, expected = Rows(), dict[Key, Facts]()
    for key, facts in steps:
        if facts is not None:
            rows[key] = expected[key] = facts
        else:
            assert (rows.pop(key, None) is None) == (expected.pop(key, None) is None)
    assert {key: told(facts) for key, facts in rows.items()} == {key: told(facts) for key, facts in expected.items()}
    assert list(rows) == list(expected)
    for place, metric in enumerate(METRICS):
        known = [facts.values[place] for facts in expected.values() if facts.values[place] is not None]
        assert repr(rows.values_of(metric.name, rows.places())) == repr(known)
    for (key, shared, place), (own, facts) in zip(rows.entries(), expected.items(), strict=True):
        assert (key, shared.decision, shared.failure) == (own, facts.decision, facts.failure)
        assert (rows.decoding(place), rows.delivery(place)) == (facts.decoding, facts.delivery)
        assert repr(rows.value(METRICS[1].name, place)) == repr(facts.values[1])


@given(st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("abcd"), st.integers(0, 1), st.floats(0, 9))))
def test_ratio_columns_are_dictionaries_of_sums(steps: list[tuple[str, str, int, float]]) -> None:
    """Two metrics over the same units, each with those that measured it, in the order in which they first did."""
    units = Units()
    found = {metric: RatioColumn(units) for metric in "xy"}
    expected: dict[str, dict[Unit, tuple[float, float]]] = {"x": {}, "y": {}}
    for metric, sample, repetition, value in steps:
        unit = (sample, repetition)
        found[metric].add(units.place_of(unit), value, 1.0)
        before = expected[metric].get(unit, (0.0, 0.0))
        expected[metric][unit] = (before[0] + value, before[1] + 1.0)
    for metric, column in found.items():
        assert column == expected[metric]
        assert list(column.items()) == list(expected[metric].items())
        assert len(column) == len(expected[metric])
        assert ("z", 0) not in column


@given(st.lists(st.tuples(KEYS, st.sampled_from([None, "ab" * 32, "cd" * 32]), st.none() | st.integers(0, 999))))
def test_identity_rows_come_back(steps: list[tuple[Key, str | None, int | None]]) -> None:
    """The row that was put last under a key, in the order in which keys came."""
    rows, expected = IdentityRows(), dict[Key, IdentityRow]()
    for key, digest, tokens in steps:
        row = IdentityRow(key[1], key[2], "asked", "served", None, f"id-{tokens}", digest, tokens, None, "stop")
        rows.put(key, row)
        expected[key] = row
    assert list(rows) == list(expected.values())
    assert [key in rows for key in expected] == [True] * len(rows)


@given(st.lists(st.tuples(KEYS, NUMBERS, NUMBERS, st.booleans(), st.booleans())))
def test_attempts_come_back_and_are_counted_by_sample(
    steps: list[tuple[Key, Any, Any, bool, bool]],
) -> None:
    """Tokens stay whole, what was not reported stays unknown, and claims keep their last numbers."""
    attempts, claims, last = BilledAttempts(), Claims(), dict[Key, tuple[str, int, int]]()
    expected = []
    for number, (key, tokens, cost, useful, retried) in enumerate(steps):
        one = BilledAttempt((key[1], key[2]), Usage(tokens, None, 3, None, cost), useful, retried)
        attempts.add(key, [one])
        expected.append(one)
        claims.put(key, number, -number)
        last[key] = (key[1], number, -number)
    assert repr(list(attempts)) == repr(expected)
    assert len(attempts) == sum(attempts.by_sample().values())
    assert list(claims) == list(last.values())


def test_a_record_takes_little_while_its_run_is_scored() -> None:
    """Facts, eight metrics, who answered and what it cost: under 1400 bytes, half of what objects take."""
    # Columns grow in steps: a number just beyond one of them tells of the step.
    sizes = [_held_bytes(count) for count in (COUNT, 2 * COUNT)]
    assert sum(sizes) / (3 * COUNT) < 1400


def _held_bytes(count: int) -> int:
    tracemalloc.start()
    held = _scored(count)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held["rows"]) == count
    return size


def _scored(count: int) -> Mapping[str, Any]:
    rows, units, identities, attempts = Rows(), Units(), IdentityRows(), BilledAttempts()
    columns = [RatioColumn(units) for _ in range(8)]
    for number in range(count):
        key = ("trigger", f"{number:018}", 0)
        values = tuple(number + place / 7 for place in range(len(METRICS)))
        rows[key] = Facts(
            "trigger", True, True, 1, "called", ("valid",), values, Decoding(number / 3, 1.5), None,
            None, "tool_calls", "m", None, (),
        )  # fmt: skip
        for column in columns:
            column.add(units.place_of((key[1], 0)), number / 9, 1.0)
        row = IdentityRow(key[1], 0, "m", "m", None, f"chatcmpl-{number:024}", f"{number:064x}", number, None, "stop")
        identities.put(key, row)
        attempts.add(key, [BilledAttempt((key[1], 0), Usage(1000 + number, 20), useful=True)])
    return {"rows": rows, "columns": columns, "identities": identities, "attempts": attempts}
