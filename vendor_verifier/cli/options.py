"""Options that several commands share."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.config.run_config import OUTPUT, RunOptions, option

Json = Annotated[bool, option("Print JSON instead of tables.", OUTPUT)]
History = Annotated[Path | None, option("History file, or none. [default: in the user's data folder]", OUTPUT)]
Gates = Annotated[tuple[str, ...], option('Exit 1 unless this holds: "f1 >= 0.9", or a preset (repeatable).', OUTPUT)]
Slos = Annotated[tuple[str, ...], option('Per-request target, reported as goodput: "tps >= 30" (repeatable).', OUTPUT)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Display:
    """How a command shows what it does."""

    quiet: Annotated[bool, option("Print no progress on stderr.", OUTPUT, "--quiet", "-q")] = False
    verbose: Annotated[bool, option("Print every failure on stderr as it happens.", OUTPUT, "--verbose", "-v")] = False
    json: Annotated[bool, option("Print scores.json instead of tables.", OUTPUT)] = False


Settings = Annotated[RunOptions | None, Parameter(name="*")]
