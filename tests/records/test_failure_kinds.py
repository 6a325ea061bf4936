"""One table says what a kind of failure is; a kind that nobody has heard of needs one row to be treated everywhere."""

from __future__ import annotations

import msgspec
import pytest

from vendor_verifier.records.record import Attempt, Failure, Record, Response, TurnRecord, supersedes


def test_no_other_kind_can_be_made_or_read() -> None:
    """A misspelt kind is refused where a failure is made, and in a file of records."""
    with pytest.raises(ValueError, match="no kind of failure"):
        Failure("timout", "stream", "words")
    with pytest.raises(msgspec.ValidationError, match="no kind of failure"):
        msgspec.json.decode(b'{"kind": "timout", "phase": "stream", "message": ""}', type=Failure)


@pytest.mark.parametrize(("new", "old", "wins"), [(True, False, True), (True, True, False), (False, False, False)])
def test_a_success_supersedes_a_failure_only(new: bool, old: bool, wins: bool) -> None:
    """Of two records under one key the first counts, unless the later one succeeded where it had failed."""

    def record(is_success: bool) -> Record:
        attempt = Attempt(1, response=Response("hi")) if is_success else Attempt(1, failure=Failure.of("dns", "gone"))
        return Record("r", "m", "v", "v", "trigger", "s", 0, (TurnRecord((attempt,)),))

    assert supersedes(record(new), record(old)) == wins
