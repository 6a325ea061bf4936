"""The flags of a command that makes a run: those of the run, and how it is shown and remembered."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.pipeline.options import OUTPUT, RECORDS, WHAT, RunOptions, flag, option


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CommandOptions(RunOptions):
    """Everything ``run`` takes."""

    dry_run: Annotated[bool, flag("Show what would be sent; send nothing.", WHAT)] = False
    quiet: Annotated[bool, flag("Print no progress on stderr.", OUTPUT, "--quiet", "-q")] = False
    verbose: Annotated[bool, flag("Print every failure on stderr as it happens.", OUTPUT, "--verbose", "-v")] = False
    json: Annotated[bool, flag("Print scores.json instead of tables.", OUTPUT)] = False
    history: Annotated[Path | None, option("Keep the history of runs here. [default: user data folder]", RECORDS)] = (
        None
    )
    no_history: Annotated[bool, flag("Leave this run out of the history.", RECORDS)] = False
