"""Every report says how far the run's clock is to be trusted, or that nobody measured it."""

from __future__ import annotations

from types import ModuleType

import pytest
from changing import replace
from manifests import some_manifest

from vendor_verifier.reports import markdown, terminal
from vendor_verifier.reports.html.page import render
from vendor_verifier.reports.run_conditions import clock_lines
from vendor_verifier.words import Texts


def test_floor_and_lag_are_told_with_their_numbers(reports: ModuleType) -> None:
    """Streams, answers, both percentiles of TTFT and gaps, and the loop's lag and share of a core."""
    floor, loop = clock_lines(reports.single(), Texts())
    for figure in ("20 in flight", "110 answers", "0.28 ms (p50), 0.90 ms (p99)", "0.03 ms (p50), 0.34 ms (p99)"):
        assert figure in floor
    for figure in ("0.06 ms (p50), 1.25 ms (p99)", "31% of a core"):
        assert figure in loop


def test_every_report_shows_it(reports: ModuleType) -> None:
    """Markdown, the terminal's lines and the page, hold the sentences."""
    report = reports.single()
    for told in (markdown.render(report), terminal.plain_lines(report), render(report)):
        assert all(line in told for line in clock_lines(report, Texts()))


def test_what_was_not_measured_has_a_reason(reports: ModuleType) -> None:
    """A floor that could not be measured is said to be missing, with why; an unwatched loop is not mentioned."""
    manifest = some_manifest(calibration={"in_flight": 5, "reason": "every vendor is simulated"}, event_loop=None)
    assert clock_lines(replace(reports.single(), manifest=manifest), Texts()) == [
        "Harness floor: not measured (every vendor is simulated)."
    ]
    short = some_manifest(event_loop={"watched_s": 1.0, "p50_ms": None, "p99_ms": None, "core_share": None})
    assert clock_lines(replace(reports.single(), manifest=short), Texts()) == []


@pytest.mark.parametrize(
    ("executor", "calibration", "words"),
    [
        ({"asked_for": "auto", "workers": [{}] * 3}, {"timed_streams": 350}, "Sent from 3 processes: up to 1,000"),
        ({"asked_for": "auto", "workers": [{}] * 3}, {"timed_streams": 350}, "times 350 truthfully (measured before"),
        ({"asked_for": "auto", "workers": [{}] * 3}, {}, "(as usual, not measured)"),
        ({"asked_for": "auto", "workers": [{}] * 2}, {}, "sent from 2, because there are no cores for more"),
        ({"asked_for": "auto", "streams": 350}, {}, None),
        ({"asked_for": 2, "workers": [{}] * 2}, {}, None),
        ({}, {}, None),
    ],
)
def test_processes_that_chose_themselves_are_told(
    reports: ModuleType, executor: dict[str, object], calibration: dict[str, object], words: str | None
) -> None:
    """How many sent and why, where one could not time them all; not where somebody asked for so many."""
    known = {"streams": 1000, "timed_streams": 350, **executor}
    manifest = some_manifest(calibration=calibration, executors=[{"asked_for": "auto"}, known])
    told = clock_lines(replace(reports.single(), manifest=manifest), Texts())
    assert bool(told) == (words is not None)
    assert words is None or words in told[0]


def test_an_imported_run_knows_of_neither(reports: ModuleType) -> None:
    """Without a word in the manifest nothing is said."""
    assert clock_lines(reports.empty(), Texts()) == []
