"""The attempts of a record, however it went."""

from __future__ import annotations

from any_turns import TURNS
from hypothesis import given
from observed import observed

from vendor_verifier.records.record import Record, TurnRecord
from vendor_verifier.scoring.observation import tries_of


@given(TURNS)
def test_the_short_way_of_one_attempt_finds_what_the_long_way_finds(turns: list[TurnRecord]) -> None:
    """A row has every attempt as it is told of any record, also where it was the only one and succeeded."""
    record = Record("run", "m", "l", "v", "trigger", "s", 0, tuple(turns))
    row = observed(record)
    assert row.tries == tries_of(record)
    assert row.traits.attempts == sum(len(turn.attempts) for turn in turns)
    assert row.traits.resent == record.resent
    assert row.traits.succeeded_first_try == record.succeeded_first_try
    assert row.sent_s == (row.tries[0].begin_s if row.tries else None)
