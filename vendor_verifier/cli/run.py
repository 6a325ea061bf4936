"""The commands ``run`` and ``demo``. What they need is imported when they are called, so that help stays quick."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts.validators import Number

from vendor_verifier.cli.options import OUTPUT, RunOptions, flag, many, option
from vendor_verifier.models import SIMULATED_MODEL
from vendor_verifier.shipped import shipped

_NO_OPTIONS = RunOptions()


def run_command(options: RunOptions = _NO_OPTIONS) -> int:
    """Send every sample to every configured vendor, score the answers, rank the vendors."""
    from vendor_verifier.cli.main_job import run_main_job

    return run_main_job(options)


def demo_command(
    *,
    limit: Annotated[
        int | None, option("Only N samples, of all kinds.", OUTPUT, "--limit", "-n", check=Number(gte=1))
    ] = None,
    head: Annotated[bool, flag("With --limit: the first N.", OUTPUT)] = False,
    suite: Annotated[tuple[str, ...], many("Evaluation (repeatable). [default: trigger]", OUTPUT)] = (),
    suite_option: Annotated[tuple[str, ...], many("suite.key=value (repeatable).", OUTPUT)] = (),
    seed: Annotated[int, option("Another seed, other answers.", OUTPUT)] = 0,
    output_dir: Annotated[
        Path | None, option("Run folder. [default: runs/<timestamp>]", OUTPUT, "--output-dir", "-o")
    ] = None,
    quiet: Annotated[bool, flag("No progress on stderr.", OUTPUT, "--quiet", "-q")] = False,
    json: Annotated[bool, flag("Print scores.json instead of tables.", OUTPUT)] = False,
) -> int:
    """The main job on built-in simulated vendors: no key, no network, under half a minute."""
    options = replace(
        _NO_OPTIONS,
        config_file_path=shipped("config_example.yaml"),
        model=(SIMULATED_MODEL,),
        suite=suite,
        suite_option=suite_option,
        limit=limit,
        head=head,
        seed=seed,
        request_concurrency=8,
        output_dir=output_dir,
        quiet=quiet,
        json=json,
        no_history=True,
    )
    from vendor_verifier.cli.main_job import run_main_job

    # Bad enough to make a run of few samples incomplete, which the demonstration is not for that.
    return run_main_job(options, meant_to_fail=(f"{SIMULATED_MODEL}: cutter",))
