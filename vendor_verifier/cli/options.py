"""Options that several commands share, and everything ``run`` takes."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.pipeline.options import JUDGE, OUTPUT, RECORDS, WHAT, RunOptions, flag, many, option

Json = Annotated[bool, flag("Print JSON instead of tables.", OUTPUT)]
History = Annotated[Path | None, option("History file. [default: in the user's data folder]", OUTPUT)]
NoHistory = Annotated[bool, flag("Leave this run out of the history.", OUTPUT)]
Gates = Annotated[tuple[str, ...], many('Exit 1 unless this holds: "f1 >= 0.9", or a preset (repeatable).', JUDGE)]
Slos = Annotated[tuple[str, ...], many('Per-request target, reported as goodput: "tps >= 30" (repeatable).', JUDGE)]
MonthlyRequests = Annotated[int | None, option("Estimate the monthly cost at N requests.", JUDGE, check=Number(gte=1))]
MonthlyTokens = Annotated[int | None, option("Estimate the monthly cost at N tokens.", JUDGE, check=Number(gte=1))]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CommandOptions(RunOptions):
    """Everything ``run`` takes."""

    dry_run: Annotated[bool, flag("Show what would be sent, its time and cost; send nothing.", WHAT)] = False
    quiet: Annotated[bool, flag("Print no progress on stderr.", OUTPUT, "--quiet", "-q")] = False
    verbose: Annotated[bool, flag("Print every failure on stderr as it happens.", OUTPUT, "--verbose", "-v")] = False
    json: Annotated[bool, flag("Print scores.json instead of tables.", OUTPUT)] = False
    history: Annotated[Path | None, option("Keep the history of runs here. [default: user data folder]", RECORDS)] = (
        None
    )
    no_history: Annotated[bool, flag("Leave this run out of the history.", RECORDS)] = False
