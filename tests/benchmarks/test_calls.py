"""Counting calls by the part of the product that makes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from calls import ELSEWHERE, CallCounter, part_of, per_request, table


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("wire/sse.py", "read"),
        ("run/engine.py", "play"),
        ("run/journal.py", "journal"),
        ("suites/schema.py", "judge"),
        ("store.py", "journal"),
        ("reportsmith.py", ELSEWHERE),
    ],
)
def test_a_module_belongs_to_the_longest_path_that_fits(module: str, part: str) -> None:
    """The journal lies in the folder of the engine and is a part of its own; half a name fits nothing."""
    assert part_of(module) == part


def test_a_library_s_calls_count_for_the_function_of_the_package_that_called_it() -> None:
    """What json does in Python and in C is charged to whoever called json, and nothing is counted twice."""

    def ours() -> None:
        json.dumps({"a": 1}, indent=1)

    counter = CallCounter(Path(__file__).parent)
    sys.setprofile(counter)
    ours()
    sys.setprofile(None)
    own = {kind: times for (kind, module, name), times in counter.calls.items() if name.endswith("ours")}
    # Of Python: itself, and the encoder below it; the library's own functions have no row.
    assert own["call"] > 5
    assert {module for _, module, _ in counter.calls} - {ELSEWHERE} == {"test_calls.py"}


def test_start_up_is_in_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 1,000 + 7 a request costs 7 a request, in the row of its part and in the sum."""
    key = ("call", "wire/sse.py", "f")
    monkeypatch.setattr("calls.counted", lambda _port, requests, _flight: {key: 1000 + 7 * requests})
    found = per_request(0, (100, 300), 1)
    assert found == {key: 7.0}
    assert {"| read | 7 | 0 | 7 |", "| **all** | 7 | 0 | 7 |"} <= set(table(found))
