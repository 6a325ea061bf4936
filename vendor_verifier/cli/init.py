"""The command ``init``: a commented config.yaml, .env and .gitignore in a folder. Nothing is ever overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.cli.console import say
from vendor_verifier.cli.exit_codes import EXIT_OK
from vendor_verifier.cli.options import WHAT, many


def init_command(
    folder: Annotated[Path, Parameter(help="Folder to write to.")] = Path(),
    /,
    *,
    model: Annotated[tuple[str, ...], many("Begin with this model (repeatable); `models` lists them.", WHAT)] = (),
    vendor: Annotated[tuple[str, ...], many("With these vendors only (repeatable).", WHAT)] = (),
) -> int:
    """Write config.yaml (commented), .env (for you alone), .gitignore and a schema for editors; keep what exists.

    Without --model the configuration asks simulated vendors: it runs as it is, with no key.
    """
    from vendor_verifier.pipeline.initialising import write_first_files

    done = write_first_files(folder, models=model, vendors=vendor)
    for path in done.written:
        say(f"wrote {path}")
    for path in done.kept:
        say(f"kept {path}: it exists")
    for warning in done.warnings:
        say(f"warning: {warning}")
    if done.keys:
        say(f"next: fill in {', '.join(done.keys)} in {folder / '.env'}, then `agent-vendor-verifier doctor`")
    else:
        say("next: `agent-vendor-verifier`, or name your own vendors in config.yaml")
    return EXIT_OK
