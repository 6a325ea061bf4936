"""Trends as lines and as a plot: everything is in its place and nothing of a stranger's breaks a line."""

from __future__ import annotations

import pytest

from vendor_verifier.features.history.text import plot, trend_lines
from vendor_verifier.records.history import LevelChange, Night, Scale, Trend


def trend(values: list[float], scale: Scale = "ratio", label: str = "a", verdict: str = "steady") -> Trend:
    nights = tuple(Night(f"r{i}", f"2026-01-{i % 28 + 1:02d}", value, 9, value) for i, value in enumerate(values))
    change = LevelChange(len(values) - 1, "r", 0.1, 0.1, 0.001, True)
    return Trend("m", label, "ttft_ms.p50", scale, verdict, "why", nights, (change,))  # type: ignore[arg-type]


def test_a_plot_has_every_night_once_highest_on_top_and_marks_the_change() -> None:
    """Ten rows, a column a night; the first run of a new level is an x."""
    lines = plot(trend([100.0, 110.0, 105.0, 200.0]))
    body = [line.split("|", 1)[1] for line in lines[1:11]]
    assert body[0] == "   x"
    assert body[-1].startswith("o")
    assert sum(row.count("o") + row.count("x") for row in body) == 4
    assert lines[1].startswith("  200") or lines[1].startswith("200")
    assert "2026-01-01 … 2026-01-04" in lines[-1]


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_nothing_one_night_and_equal_nights_can_be_plotted(values: list[float]) -> None:
    """No division by a span of zero."""
    lines = plot(trend(values, "difference"))
    assert sum(line.count("o") + line.count("x") for line in lines[1:-2]) == len(values)


def test_a_long_history_shows_its_newest_nights() -> None:
    """The plot stays as wide as asked, and says how many runs there are."""
    lines = plot(trend([float(i + 1) for i in range(300)]), columns=50)
    assert "50 of 300 runs" in lines[0]
    assert max(len(line) for line in lines[1:]) < 70


def test_lines_put_alarms_first_and_count_what_has_no_verdict() -> None:
    """Young series are one line, and a hostile label stays inside its own."""
    found = [trend([1.0], verdict="no_verdict"), trend([1.0], verdict="no_verdict"), trend([1.0]),
             trend([1.0], label="x\n::error::y", verdict="regression")]  # fmt: skip
    lines = trend_lines(found)
    assert [line.split(":")[0] for line in lines] == ["regression", "steady", "no verdict yet on 2 figures"]
    assert "\n" not in lines[0]
    assert "::" not in lines[0]
