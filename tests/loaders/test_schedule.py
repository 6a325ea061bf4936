"""A replayed schedule is a list of seconds; every line that is none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.errors import DataError
from vendor_verifier.loaders.arrival_schedule import read_schedule

FILE = Path("times.csv")


@pytest.mark.parametrize("text", ["0\n1.5\n1.5\n", "\ufeffat_s\r\n0\r\n\r\n1.50\r\n1.5", "# day 1\n0.0\n15e-1\n1.5"])
def test_a_list_of_seconds(text: str) -> None:
    """As a text file or as a spreadsheet saves a column."""
    assert read_schedule(text.encode().splitlines(), FILE) == (0.0, 1.5, 1.5)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", None),
        ("at_s\n", None),
        ("soon", 1),
        ("1\nnan", 2),
        ("-1", 1),
        ("inf", 1),
        ("1,a", 1),
        ("2\n1", 2),
        ("\xff", 1),
    ],
)
def test_lines_that_are_no_time_are_named(text: str, line: int | None) -> None:
    with pytest.raises(DataError) as caught:
        read_schedule(text.encode("latin-1").splitlines(), FILE)
    assert [problem.line for problem in caught.value.problems] == [line]
