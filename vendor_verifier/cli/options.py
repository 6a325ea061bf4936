"""Options that several commands share."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.config.run_config import CONFIG, INPUT, OUTPUT, ConfigFile, EnvFile, RunOptions, Urls, option

Settings = Annotated[RunOptions | None, Parameter(name="*")]
Json = Annotated[bool, option("Print JSON instead of tables.", OUTPUT)]
Gates = Annotated[tuple[str, ...], option('Exit 1 unless this holds: "f1 >= 0.9", or a preset (repeatable).', OUTPUT)]
Slos = Annotated[tuple[str, ...], option('Per-request target, reported as goodput: "tps >= 30" (repeatable).', OUTPUT)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Display:
    """How a command shows what it does."""

    quiet: Annotated[bool, option("Print no progress on stderr.", OUTPUT, "-q")] = False
    verbose: Annotated[bool, option("Print every failure on stderr as it happens.", OUTPUT, "-v")] = False
    json: Json = False


DISPLAY = Display()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The vendors of a command that asks them questions of its own."""

    config_file_path: ConfigFile = CONFIG
    env_file: EnvFile = None
    url: Urls = ()
    model: Annotated[tuple[str, ...], option("Ask this model only (repeatable).", INPUT)] = ()
    vendor: Annotated[tuple[str, ...], option("Ask this vendor or label only (repeatable).", INPUT)] = ()


CHOSEN = Chosen()
