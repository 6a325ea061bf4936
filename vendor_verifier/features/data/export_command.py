"""The command ``export``: a stored run as tables for spreadsheets and programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.console.output import EXIT_OK
from vendor_verifier.features.data.export import export_run
from vendor_verifier.features.data.run_data import load_run
from vendor_verifier.features.data.table_files import TableFormat
from vendor_verifier.pipeline.latest_run import run_named
from vendor_verifier.pipeline.options import OUTPUT, flag, many, option


def export_command(
    run: Annotated[Path, Parameter(help="A run folder.")],
    /,
    *,
    format: Annotated[
        TableFormat | None, option("Write files of this kind. [default: as --output ends, or csv]", OUTPUT)
    ] = None,
    table: Annotated[
        tuple[str, ...],
        many("Write samples, records, … or all, with commas. [default: ranking,verdicts,findings]", OUTPUT),
    ] = (),
    wide: Annotated[bool, flag("Write all columns, figures in full.", OUTPUT)] = False,
    output: Annotated[
        Path | None,
        option("Write to this folder or file. [default: export in the run's folder]", OUTPUT, "--output", "-o"),
    ] = None,
) -> int:
    """Write a stored run as tables that Excel, pandas or a database opens, and print the files (docs/data.md)."""
    for path in export_run(load_run(run_named(run)), format, table, output, wide=wide):
        sys.stdout.write(f"{path}\n")
    return EXIT_OK
