"""The command ``bfcl``: runs the published evaluation's job file on the configured vendors."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.console.options import CommandOptions
from vendor_verifier.pipeline.options import WHAT, flag, option


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BfclRunOptions(CommandOptions):
    """The options of ``run`` without ``--suite``, which is refused because a job states its evaluation itself."""

    suite: Annotated[tuple[str, ...], Parameter(show=False, negative=(), consume_multiple=False)] = ()


_NO_OPTIONS = BfclRunOptions()


def bfcl_command(
    options: BfclRunOptions = _NO_OPTIONS,
    *,
    job: Annotated[Path, option("Run this job, a JSON file; see docs/bfcl.md.", WHAT)],
    infer_tools: Annotated[bool, flag("Make tools from the expected calls where rows bring none.", WHAT)] = False,
    tools: Annotated[Path | None, option("Offer the tools in this JSON file where rows bring none.", WHAT)] = None,
) -> int:
    """Run a BFCL evaluation job: its tasks, each with its own data, on every configured vendor."""
    from vendor_verifier.console.main_job import run_main_job

    words = [f"bfcl.job={job}"]
    words += ["bfcl.infer_tools=true"] if infer_tools else []
    words += [f"bfcl.tools={tools}"] if tools is not None else []
    return run_main_job(replace(options, suite=("bfcl",), suite_option=(*options.suite_option, *words)))
