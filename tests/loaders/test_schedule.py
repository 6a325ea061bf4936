"""Schedules to replay, in every shape that is read, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError
from vendor_verifier.loaders.arrival_schedule import read_schedule
from vendor_verifier.values.plan import Due

FILE = Path("times.txt")


@pytest.mark.parametrize(
    "text",
    [
        '{"at_s": 0}\n{"at_s": 1.5, "sample": "a"}\n{"sample": null, "at_s": 1.5}\n',
        "at_s,sample\n0,\n1.5,a\n1.5\n",
        "\ufeffat_s\r\n0.0\r\n1.5, a\r\n1.5\r\n",
        '# recorded in May\n\n0\n1.5,"a"\n1.5,\n',
        "# recorded in May\nat_s,sample\n0\n1.5,a\n1.5\n",
    ],
)
def test_every_shape_says_the_same(text: str) -> None:
    """JSON lines, a table with or without titles, and plain numbers are the same schedule."""
    assert read_schedule(text.encode().splitlines(), FILE) == (Due(0.0), Due(1.5, "a"), Due(1.5))


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_written_schedule_is_read_back(times: list[float]) -> None:
    """Numbers in rising order come back to the last bit."""
    times.sort()
    assert [due.at_s for due in read_schedule([repr(at).encode() for at in times], FILE)] == times


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("soon", 1, "read 'soon'; expected seconds after the start"),
        ("1\n0.5", 2, "0.5 s comes before the 1 s of line 1; sort the file by time"),
        ("1\n-2", 2, "read -2; expected seconds after the start, from 0 on"),
        ("nan", 1, "read nan; expected seconds after the start"),
        ("1,a,b", 1, "3 columns"),
        ('{"timestamp": 5}', 1, "read the keys 'timestamp'; expected at_s (seconds)"),
        ('{"at_s": "5"}', 1, "at_s: read a string; expected a number of seconds"),
        ('{"at_s": true}', 1, "at_s: read true; expected a number of seconds"),
        ('{"at_s": 5, "sample": 3}', 1, "sample: read a number; expected a sample's id in quotes"),
        ('{"at_s": ', 1, "not JSON"),
        ('{"at_s": ' + "[" * 100_000, 1, "not JSON"),
        ('{"at_s": 1' + "0" * 400 + "}", 1, "read inf; expected seconds after the start"),
        ('1,"' + "x" * 200_000, 1, "no row of a table"),
        ("", None, "holds no time"),
        ("# nothing\n\n", None, "holds no time"),
    ],
)
def test_what_cannot_be_read_is_told_by_line(text: str, line: int | None, words: str) -> None:
    """File, line, what was read and what was expected."""
    with pytest.raises(DataError) as caught:
        read_schedule(text.encode().splitlines(), FILE)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (FILE, line)
    assert words in problem.message


def test_all_problems_are_told_at_once() -> None:
    """Three bad lines of five are three problems."""
    with pytest.raises(DataError) as caught:
        read_schedule([b"0", b"x", b"2", b"1", b"\xff"], FILE)
    assert [problem.line for problem in caught.value.problems] == [2, 4, 5]
