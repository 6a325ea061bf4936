"""One table says what a kind of failure is; a kind that nobody has heard of needs one row to be treated everywhere."""

from __future__ import annotations

import msgspec
import pytest

from vendor_verifier.records.record import Failure


def test_no_other_kind_can_be_made_or_read() -> None:
    """A misspelt kind is refused where a failure is made, and in a file of records."""
    with pytest.raises(ValueError, match="no kind of failure"):
        Failure("timout", "stream", "words")
    with pytest.raises(msgspec.ValidationError, match="no kind of failure"):
        msgspec.json.decode(b'{"kind": "timout", "phase": "stream", "message": ""}', type=Failure)
