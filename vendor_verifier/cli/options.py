"""Options that several commands share."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.config.run_config import INPUT, OUTPUT, RunOptions, option

Settings = Annotated[RunOptions | None, Parameter(name="*")]
Json = Annotated[bool, option("Print JSON instead of tables.", OUTPUT)]
Gates = Annotated[tuple[str, ...], option('Exit 1 unless this holds: "f1 >= 0.9", or a preset (repeatable).', OUTPUT)]
Slos = Annotated[tuple[str, ...], option('Per-request target, reported as goodput: "tps >= 30" (repeatable).', OUTPUT)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Display:
    """How a command shows what it does."""

    quiet: Annotated[bool, option("Print no progress on stderr.", OUTPUT, "--quiet", "-q")] = False
    verbose: Annotated[bool, option("Print every failure on stderr as it happens.", OUTPUT, "--verbose", "-v")] = False
    json: Annotated[bool, option("Print JSON instead of tables.", OUTPUT)] = False


DISPLAY = Display()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The vendors of a command that asks them questions of its own."""

    config_file_path: Annotated[Path, option("Configuration file.", INPUT, "--config-file-path", "-c")] = Path(
        "config.yaml"
    )
    env_file: Annotated[Path | None, option("File with API keys. [default: .env next to the config]", INPUT)] = None
    url: Annotated[tuple[str, ...], option("NAME=URL of a vendor, instead of the file (repeatable).", INPUT)] = ()
    model: Annotated[tuple[str, ...], option("Ask this model only (repeatable).", INPUT)] = ()
    vendor: Annotated[tuple[str, ...], option("Ask this vendor or label only (repeatable).", INPUT)] = ()


CHOSEN = Chosen()
