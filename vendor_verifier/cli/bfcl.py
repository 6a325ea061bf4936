"""The command ``bfcl``: runs the published evaluation's job file on the configured vendors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from vendor_verifier.console.options import WHAT, RunOptions, flag, option

_NO_OPTIONS = RunOptions()


def bfcl_command(
    options: RunOptions = _NO_OPTIONS,
    *,
    job: Annotated[Path, option("The job, a JSON file; see docs/bfcl.md.", WHAT)],
    infer_tools: Annotated[bool, flag("Custom rows without tools: make some from the expected calls.", WHAT)] = False,
    tools: Annotated[Path | None, option("Tools for custom rows that bring none, JSON.", WHAT)] = None,
) -> int:
    """Run a BFCL evaluation job: its tasks, each with its own data, on every configured vendor."""
    from vendor_verifier.cli.main_job import run_main_job

    words = [f"bfcl.job={job}"]
    words += ["bfcl.infer_tools=true"] if infer_tools else []
    words += [f"bfcl.tools={tools}"] if tools is not None else []
    return run_main_job(replace(options, suite=("bfcl",), suite_option=(*options.suite_option, *words)))
