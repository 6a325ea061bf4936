"""The command ``view``: look through all samples and answers of runs in the browser."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.console.output import EXIT_OK, say
from vendor_verifier.pipeline.latest_run import RUNS, pointed_to, run_named
from vendor_verifier.pipeline.options import OUTPUT, flag, option
from vendor_verifier.words import Texts


def view_command(
    *runs: Annotated[Path, Parameter(help="Run folders. [default: the last one under runs/]")],
    port: Annotated[
        int, option("Serve on this port of loopback; 0 takes a free one.", OUTPUT, check=Number(gte=0, lte=65535))
    ] = 0,
    print_only: Annotated[bool, flag("Print the address, open no browser.", OUTPUT, "--print")] = False,
) -> int:
    """Look through all samples and answers in the browser: filter, search, compare, see every piece arrive.

    The page is served to this machine alone, for who has its address, and only reads. Ctrl-C ends it.
    """
    import webbrowser

    from vendor_verifier.features.explain.run_index import build_index
    from vendor_verifier.features.explain.view_server import Site, ViewServer
    from vendor_verifier.store import RunFolder

    index = build_index([RunFolder(run_named(run)) for run in runs or (pointed_to(RUNS),)])
    t = Texts()
    server = ViewServer(Site(index, t), port)
    say(t("view_serving", questions=len(index.cells), answers=index.answers, address=server.address))
    if not print_only:
        webbrowser.open(server.address)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()
    return EXIT_OK
