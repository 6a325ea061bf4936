"""The command ``capacity``: how much load each vendor bears before success, speed or tool calls give way."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vendor_verifier.console.output import EXIT_INCOMPLETE, EXIT_OK, EXIT_THRESHOLD, SIGNAL_BASE, say
from vendor_verifier.features.capacity.values import CapacityOptions
from vendor_verifier.words import Texts

if TYPE_CHECKING:
    from vendor_verifier.features.capacity.search import CapacityOutcome
    from vendor_verifier.features.capacity.values import CapacityReport, Point
    from vendor_verifier.values.plan import Entry

_NO_OPTIONS = CapacityOptions()


def capacity_command(options: CapacityOptions = _NO_OPTIONS) -> int:
    """Raise the load on one vendor after the other until success, time to first token or tool calls give way.

    The same questions unloaded come first, twice. Limits not given with --slo: success_rate >= 0.99,
    avg_ttft_ms.p95 <= 2000, f1 and schema_accuracy >= ceiling - 0.05 (ceiling: its own unloaded answers).

    Exit codes: 0 found, 1 a vendor misses a limit unloaded or bears less than --at-least, 3 a budget or a vendor
    ended a search before.
    """
    if options.from_folder is not None:
        return _again(options.from_folder, options.slo, options.at_least, as_json=options.json)
    outcome = _measured(options)
    _print(outcome.report, as_json=options.json)
    if not options.quiet:
        say(f"records and report: {outcome.folder.path}/")
    if outcome.signal_number is not None:
        return SIGNAL_BASE + outcome.signal_number
    return _exit_code(outcome.report)


def _measured(options: CapacityOptions) -> CapacityOutcome:
    from vendor_verifier.config import read_environment
    from vendor_verifier.features.capacity.search import measure_capacity
    from vendor_verifier.features.capacity.text import level_line
    from vendor_verifier.pipeline.plan import prepare
    from vendor_verifier.reports.escape import MAX_SENTENCE, plain

    t = Texts("narrow")

    def tell(entry: Entry, point: Point) -> None:
        if not options.quiet:
            say(level_line(entry.label, point, options.by, t))

    def note(words: str) -> None:
        if not options.quiet:
            say(plain(words, MAX_SENTENCE))

    return measure_capacity(options, prepare(options.of_run(), read_environment()), on_point=tell, on_notice=note)


def _again(folder: Path, slos: Sequence[str], at_least: float | None, *, as_json: bool) -> int:
    """A stored search, judged again; its files are written anew."""
    from vendor_verifier.features.capacity.store import judge_again, write_capacity
    from vendor_verifier.redaction import Scrubber
    from vendor_verifier.store import RunFolder

    stored = RunFolder(folder)
    report = judge_again(stored, slos, at_least)
    write_capacity(stored, report, Scrubber(()))
    _print(report, as_json=as_json)
    return _exit_code(report)


def _print(report: CapacityReport, *, as_json: bool) -> None:
    from vendor_verifier.features.capacity import store
    from vendor_verifier.features.capacity.text import capacity_lines

    if as_json:
        sys.stdout.write(store.render(report))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in capacity_lines(report)))


def _exit_code(report: CapacityReport) -> int:
    """3 where a search was ended before it could tell, else 1 where too little is borne."""
    from vendor_verifier.features.capacity.curve import standing
    from vendor_verifier.features.capacity.text import verdict
    from vendor_verifier.reports.escape import plain

    t = Texts("narrow")
    found = [(vendor, standing(vendor, report.at_least)) for vendor in report.vendors]
    for vendor, how in found:
        if how != "enough":
            words = verdict(vendor, report.kind, t)
            say(plain(t(f"standing_{how}", vendor=f"{vendor.model} / {vendor.label}", words=words), 600))
    standings = {how for _, how in found}
    if "unknown" in standings:
        return EXIT_INCOMPLETE
    return EXIT_THRESHOLD if "too_little" in standings else EXIT_OK
