"""The command ``convert``: a public data set, already on disk, into our own evaluation rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.cli.console import say
from vendor_verifier.cli.exit_codes import EXIT_OK
from vendor_verifier.cli.options import OUTPUT, WHAT, flag, option
from vendor_verifier.pipeline.converting import convert_file

_SHOWN = 20


def convert_command(
    source: Annotated[Path, Parameter(help="Data set to read: JSON lines or a JSON array (.gz too).")],
    target: Annotated[Path, Parameter(help="File to write.")],
    /,
    *,
    dataset_format: Annotated[str | None, option("Format of the rows. [default: by the first row]", WHAT)] = None,
    skip_bad_rows: Annotated[bool, flag("Leave out unusable rows, and say so.", WHAT)] = False,
    force: Annotated[bool, flag("Replace the file to write if it exists.", OUTPUT)] = False,
) -> int:
    """Convert a data set of tool calls into this tool's own JSON lines (formats: docs/datasets.md)."""
    done = convert_file(source, target, format=dataset_format, skip_bad=skip_bad_rows, force=force)
    _list("left out", [str(problem) for problem in done.skipped])
    _list("peculiar in the data set", done.defects)
    say(f"{done.rows} row{'' if done.rows == 1 else 's'} read as {done.format}, written to {target}")
    return EXIT_OK


def _list(what: str, found: list[str] | tuple[str, ...]) -> None:
    if not found:
        return
    say(f"{what} ({len(found)}):")
    for line in found[:_SHOWN]:
        say(f"  {line}")
    if len(found) > _SHOWN:
        say(f"  and {len(found) - _SHOWN} more")
