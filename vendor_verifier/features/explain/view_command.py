"""The command ``view``: look through all runs, samples and answers in the browser."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.cli.output import EXIT_OK, say
from vendor_verifier.config.flags import OUTPUT, flag, option
from vendor_verifier.errors import RunFolderError
from vendor_verifier.pipeline.latest_run import RUNS, run_named
from vendor_verifier.text import counted


def view_command(
    *runs: Annotated[Path, Parameter(help="Run folders, or folders of runs. [default: runs/]")],
    port: Annotated[int, option("Port on loopback; 0 takes a free one.", OUTPUT, check=Number(gte=0, lte=65535))] = 0,
    print_only: Annotated[bool, flag("Print the address, open no browser.", OUTPUT, "--print")] = False,
) -> int:
    """Look through all samples and answers in the browser: filter, search, compare.

    The pages are served to this machine only, read only, and show new runs without a restart. Ctrl-C ends it.
    """
    import webbrowser

    from vendor_verifier.features.explain.view import runs_in
    from vendor_verifier.features.explain.view_server import ViewServer

    places = [run if run.is_dir() else run_named(run) for run in runs or (RUNS,)]
    found = runs_in(places)
    if not found:
        raise RunFolderError(f"there is no run in {' or '.join(map(str, places))}; name a run folder, or run the demo")
    server = ViewServer(places, port)
    address = server.address + (f"run?{urlencode({'run': next(iter(found))})}" if len(found) == 1 else "")
    say(f"{counted(len(found), 'run')} at {address} (Ctrl-C ends it)")
    if not print_only:
        webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever(poll_interval=0.2)
    return EXIT_OK
