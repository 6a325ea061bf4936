"""The command that opens a run's report in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.console.output import EXIT_OK, say
from vendor_verifier.errors import RunFolderError
from vendor_verifier.pipeline.latest_run import RUNS, pointed_to
from vendor_verifier.pipeline.options import OUTPUT, flag


def open_command(
    run: Annotated[Path | None, Parameter(help="A run folder. [default: the last one under runs/]")] = None,
    /,
    *,
    print_only: Annotated[bool, flag("Print where it lies, open no browser.", OUTPUT, "--print")] = False,
) -> int:
    """Open a run's report.html in the browser, and print its path."""
    import webbrowser

    folder = pointed_to(RUNS) if run is None else run
    page = folder / "report.html"
    if not page.is_file():
        raise RunFolderError(f"{folder} holds no report.html; `report {folder} --format html -o {folder}` writes it")
    sys.stdout.write(f"{page}\n")
    if not print_only and not webbrowser.open(page.resolve().as_uri()):
        say("no browser can be started here; open the file yourself")
    return EXIT_OK
