"""The command ``capacity``: a run for each level of a sweep, one table, and a sentence for each vendor."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts.validators import Number

from vendor_verifier.cli.options import CHOSEN, Chosen
from vendor_verifier.cli.output import EXIT_INCOMPLETE, EXIT_OK, EXIT_THRESHOLD, SIGNAL_BASE, say, warn
from vendor_verifier.config.run_config import INPUT, OUTPUT, PACE, option, run_options
from vendor_verifier.errors import Problem, ProblemsError, UsageError

if TYPE_CHECKING:
    from vendor_verifier.features.capacity.sweep import VendorSweep
    from vendor_verifier.redaction import Scrubber

_POSITIVE, _AT_LEAST_1 = Number(gt=0), Number(gte=1)
# Settings that a sweep decides itself or ignores.
_OF_RUNS = "workers suite job bfcl_data bfcl_category repeat request_rate duration arrival ramp_up warmup gate".split()
_HEAD = "vendor,level,requests,success,TTFT p50 ms,p95 ms,TPS,in flight,per second,F1,schema,lag ms,misses".split(",")


def capacity_command(
    *,
    test_file_path: Annotated[str | None, option("Sample file, hf://… or URL. [default: shipped]", INPUT)] = None,
    chosen: Chosen = CHOSEN,
    limit: Annotated[int, option("Number of samples.", INPUT, "-n", check=_AT_LEAST_1)] = 50,
    sweep: Annotated[str, option("Requests in flight to test, separated by commas.", PACE)] = "1,2,4,8",
    max_cost: Annotated[float | None, option("Maximum spend in US dollars.", PACE, check=_POSITIVE)] = None,
    slo: Annotated[tuple[str, ...], option('Limit for a level: "avg_ttft_ms.p95 <= 2000" (repeatable).', OUTPUT)] = (),
    at_least: Annotated[int | None, option("Exit 1 if a vendor holds less.", OUTPUT, check=_AT_LEAST_1)] = None,
    output_dir: Annotated[Path | None, option("Folder. [default: under runs/]", OUTPUT, "-o")] = None,
    quiet: Annotated[bool, option("Print no progress.", OUTPUT, "-q")] = False,
    json: Annotated[bool, option("Print capacity.json instead of the table.", OUTPUT)] = False,
) -> int:
    """Find the highest load that each vendor sustains without losing speed or tool-call quality.

    Exit codes: 0 done, 1 a vendor misses a limit without load or holds less than --at-least, 3 a budget, a stopped
    vendor or this machine ended a sweep before that was known.
    """
    from vendor_verifier.config.document import read_environment
    from vendor_verifier.config.entries import NO_F1
    from vendor_verifier.features.capacity.sweep import read_limits, sweep_vendors
    from vendor_verifier.pipeline.plan import prepare
    from vendor_verifier.reports.escape import json_text
    from vendor_verifier.store import RunFolder

    folder = RunFolder(output_dir or Path("runs") / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-capacity")
    if folder.path.is_dir() and any(folder.path.iterdir()):
        raise UsageError(f"--output-dir: {folder.path} is not empty; name another folder")
    levels, limits = _levels(sweep, at_least), read_limits(slo)
    asked = run_options(test_file_path=test_file_path, **vars(chosen), limit=limit, max_cost=max_cost, retries=0)
    prepared = prepare(asked.by_default(_OF_RUNS), read_environment())
    # F1 compares with level 1 here and needs no baseline.
    for warning in (words for words in prepared.plan.warnings if NO_F1 not in words):
        warn(warning)
    scrubber, progress = prepared.scrubber, (lambda _words: None) if quiet else say
    found = list(sweep_vendors(prepared, levels, limits, folder.path, progress))
    code = _exit_code(found, at_least)
    about = {"limits": [*map(str, limits)], "at_least": at_least, "exit_code": code, "vendors": found}
    document = scrubber.text(json_text(about)) + "\n"
    folder.write("capacity.json", document)
    sys.stdout.write(document if json else _table(found, scrubber))
    if not quiet:
        say(f"runs and capacity.json: {folder.path}/")
    return code if found[-1].signal_number is None else SIGNAL_BASE + found[-1].signal_number


def _table(found: Sequence["VendorSweep"], scrubber: "Scrubber") -> str:
    """A row for each level, then a sentence for each vendor."""
    from vendor_verifier.reports.escape import plain
    from vendor_verifier.reports.formats import aligned, quantity, written

    rows = [_HEAD]
    for each in found:
        for size, *figures, misses in (level.values() for level in each.levels):
            shown = [written(figure, quantity) for figure in figures]
            rows.append([plain(each.label), str(size), *shown, plain("; ".join(misses))])
    lines = [*aligned(rows, left=1, prose=1), "", *(plain(scrubber.text(each.summary), 600) for each in found)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _levels(words: str, at_least: int | None) -> tuple[int, ...]:
    """The levels of ``--sweep`` in rising order; a ProblemsError where they cannot be meant."""
    found = {int(word) if word.strip().isdecimal() else 0 for word in words.split(",")}
    if 0 in found:
        raise ProblemsError([Problem(f"read {words!r}; expected numbers such as 1,2,4,8", key="--sweep")])
    if at_least is not None and at_least > max(found):
        raise ProblemsError([Problem("is above every level; add a higher one to --sweep", key="--at-least")])
    return tuple(sorted(found))


def _exit_code(found: Sequence["VendorSweep"], at_least: int | None) -> int:
    """3 where a sweep ended before the answer was known, else 1 where a vendor holds too little."""
    codes = {EXIT_OK}
    for each in found:
        is_known = each.ended_by in ("highest", "not_reached") or (each.ended_by == "missed" and len(each.levels) > 1)
        if not (is_known if at_least is None else (each.holds or 0) >= at_least):
            codes.add(EXIT_THRESHOLD if each.ended_by == "missed" else EXIT_INCOMPLETE)
    return max(codes)
